"""Rules of permission: what they say, how they are written, which texts they mean (Y-6). Pure."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

import msgspec

from sojourn.agent.places import check_pattern
from sojourn.base import UserMistake
from sojourn.config.settings import Permissions

SHELL = "bash"
"""The tool whose subject is a command."""
_RULE = re.compile(r"([A-Za-z0-9_.*-]+)(?:\((.*)\))?", re.DOTALL)
_ESCAPED = re.compile(r"(\\\*)|(\*)")

Test = Callable[[str], bool]


class Rule(msgspec.Struct, frozen=True):
    """``tool`` or ``tool(pattern)``; ``str(rule)`` is its text, ``parse_rule`` reads it again."""

    tool: str
    """``*`` stands for any letters."""
    pattern: str | None = None

    def __str__(self) -> str:
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


def check_tools(rules: "Rules", names: Iterable[str]) -> None:
    """Raises UserMistake for a rule that means no tool there is: a mistyped one would be kept without a word. Tools of
    servers (``mcp__...``) may come later."""
    known = sorted(names)
    for kind in ("deny", "ask", "allow"):
        for rule in getattr(rules, kind):
            if rule.tool.startswith("mcp__") or any(fnmatchcase(name, rule.tool) for name in known):
                continue
            near = get_close_matches(rule.tool.lower(), known, 1)
            guess = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
            raise UserMistake(f"permissions.{kind}: there is no tool {rule.tool!r} for the rule {rule}", next_step=guess)


class Rules(msgspec.Struct, frozen=True):
    """The rules in force, and the folders that are ours (config, data): no edit there without a question."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    own: tuple[str, ...] = ()


def parse_rule(text: str, key: str = "permissions") -> Rule:
    """The rule of a text such as ``bash(git status *)`` or ``edit(src/**)``. Raises UserMistake naming key and text.

    Patterns: of ``bash`` and tools without a path, ``*`` stands for anything and ``\\*`` for a star; a pattern that ends
    in `` *`` means the bare command too. Of tools with a path, see ``places.covers``.
    """
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise UserMistake(
            f"{key}: {text!r} is not a rule",
            next_step='Write tool or tool(pattern), such as "bash(git status *)" or "edit(src/**)".',
        )
    tool, pattern = found[1], found[2]
    if pattern is None:
        return Rule(tool)
    wrong = "" if pattern.strip() else "the pattern is empty"
    if not wrong and tool != SHELL and not tool.startswith("mcp__"):
        wrong = check_pattern(pattern)
    if wrong:
        raise UserMistake(f"{key}: {text!r}: {wrong}", next_step=f"Leave the pattern out to mean every call: {tool}.")
    return Rule(tool, pattern)


def rules_of(settings: Permissions, own: Sequence[Path] = ()) -> Rules:
    """The rules of the settings; ``own``: the config and data folders. Raises UserMistake for a bad rule."""
    kinds = {
        kind: tuple(parse_rule(text, f"permissions.{kind}") for text in getattr(settings, kind))
        for kind in ("allow", "ask", "deny")
    }
    return Rules(**kinds, own=tuple(str(folder.resolve()) for folder in own))


@lru_cache(maxsize=1024)
def like(pattern: str) -> Test:
    """A test for texts: ``*`` anything, ``\\*`` a star; `` *`` at the end also nothing at all."""
    bare = pattern.endswith(" *")
    body = pattern[:-2] if bare else pattern
    parts = ["\\*" if escaped else ".*" for escaped, _ in _ESCAPED.findall(body)]
    fixed = [re.escape(piece) for piece in _ESCAPED.sub("\0", body).split("\0")]
    expression = "".join(piece + part for piece, part in zip(fixed, [*parts, ""], strict=True))
    test = re.compile(expression + ("(?: .*)?" if bare else ""), re.DOTALL)
    return lambda text: test.fullmatch(text) is not None


def exactly(pattern: str) -> str | None:
    """The one text that a pattern without wildcards means."""
    if any(star for _, star in _ESCAPED.findall(pattern)):
        return None
    return pattern.replace("\\*", "*")


def verbatim(text: str) -> str:
    """The pattern that means this text only."""
    return text.replace("*", "\\*")


@lru_cache(maxsize=1024)
def tool_like(tool: str) -> Test:
    """A test for names of tools."""
    test = re.compile(".*".join(map(re.escape, tool.split("*"))))
    return lambda name: test.fullmatch(name) is not None
