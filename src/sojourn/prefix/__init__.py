"""System blocks and context blocks: sections, sources, frozen snapshots (P-1 to P-9)."""

from sojourn.prefix.assemble import build
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.gathering import Sources, gather
from sojourn.prefix.rows import sections
from sojourn.prefix.section import PrefixSection, section
from sojourn.prefix.sources.changed import Change, changed_rules
from sojourn.prefix.sources.elsewhere import USER_RULES, copy_rules, found_elsewhere
from sojourn.prefix.sources.rule_file import RuleFile, RuleStamp
from sojourn.prefix.sources.skills import Skill, SkillText, find_skills, load_skill
from sojourn.prefix.sources.touched import nested_rules
from sojourn.prefix.styles import Style, load_style
from sojourn.prefix.wanted import Child, Surface, Wanted, Workflow

__all__ = [
    "USER_RULES",
    "Change",
    "Child",
    "Diagnostic",
    "PrefixSection",
    "RuleFile",
    "RuleStamp",
    "Skill",
    "SkillText",
    "Sources",
    "Style",
    "Surface",
    "Wanted",
    "Workflow",
    "build",
    "changed_rules",
    "copy_rules",
    "find_skills",
    "found_elsewhere",
    "gather",
    "load_skill",
    "load_style",
    "nested_rules",
    "section",
    "sections",
]
