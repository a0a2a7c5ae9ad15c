"""The thirteen rows of a prefix and its variants (P-1, P-3). Pure: the same sources and wishes, the same sections.

Rows 4 and 9 are marked stable: their words do not depend on folder, day or state, so they stand before what does, and a
new window finds them cached. Rows 5 to 8 and 10 are dynamic.
"""

from collections.abc import Iterable

from sojourn.base import UserMistake, escape_reminders
from sojourn.meter import fit_head
from sojourn.prefix.assemble import IDENTITY_LINE, SKILLS
from sojourn.prefix.foreign import harmless, shortened
from sojourn.prefix.gathering import Sources
from sojourn.prefix.listing import listing
from sojourn.prefix.section import Hint, PrefixSection, section
from sojourn.prefix.sources.environment import environment_section
from sojourn.prefix.sources.git import git_section
from sojourn.prefix.texts import text
from sojourn.prefix.wanted import Child, Wanted, Workflow

_INDEX_LINES = 200
_INDEX_TOKENS = 6_000

Row = PrefixSection | None


def sections(sources: Sources, wanted: Wanted) -> tuple[PrefixSection, ...]:
    """Every section that has something to say, in the order of the rows, a host's own last.

    Raises UserMistake for a custom prompt together with a sub-agent: one would silently win over the other.
    """
    if wanted.custom_prompt.strip() and wanted.actor is not None:
        raise UserMistake(
            "a custom system prompt and a sub-agent's identity exclude each other",
            next_step="Give the sub-agent its persona or prompt in `actor`, or leave `actor` out.",
        )
    rows: tuple[Row, ...]
    match wanted.actor:
        case Workflow() as workflow:
            rows = (_system(_workflow(workflow, wanted)), *_shared(sources, wanted))
        case Child() as child:
            rows = (_identity_line(), *_child(child, sources, wanted))
        case None if wanted.custom_prompt.strip():
            rows = (_identity_line(), section("identity", "host", "system", "stable", wanted.custom_prompt))
        case None:
            own = (_surface(wanted), _own("working", "working"), _guidance(sources, wanted))
            rows = (_identity_line(), _system(_identity(wanted)), *own, *_shared(sources, wanted))
    every = (*rows, *_context(sources, wanted), *wanted.sections)
    return tuple(one for one in every if one is not None and one.text.strip())


def _identity_line() -> PrefixSection:
    return _own(IDENTITY_LINE, IDENTITY_LINE)


def _identity(wanted: Wanted) -> list[str]:
    return [text("role_styled" if wanted.style else "role"), text("security"), text("place")]


def _surface(wanted: Wanted) -> Row:
    return None if wanted.surface == "terminal" else _own("surface", f"surface_{wanted.surface}")


def _guidance(sources: Sources, wanted: Wanted) -> Row:
    """Only what tools and skills make true."""
    tools = wanted.tools
    lines: list[str] = []
    hands = [f"`{name}`" for name in ("read", "edit", "grep", "glob") if name in tools]
    if "bash" in tools and hands:
        lines.append(f"- Use {', '.join(hands)} rather than their like in `bash`.")
    if _has_skills(sources, wanted):
        lines.append("- `/name` from the person may name a skill: load it first. Only listed skills exist.")
    if "question" in tools:
        lines.append("- Ask with `question` only what the code cannot answer and what changes your next step.")
    if "task" in tools:
        lines.append("- Keep work of three or more steps in `task`, its state true at every moment.")
    if "actor" in tools:
        lines.append("- Give `actor` what would fill your view with reading; check what comes back.")
    return _system(["\n".join(["# This session", *lines])], "guidance", "dynamic") if lines else None


def _shared(sources: Sources, wanted: Wanted) -> tuple[Row, ...]:
    """Rows 6 to 10: the main agent and a workflow's sub-agent have them alike."""
    return (
        _memory(wanted),
        environment_section(sources.environment, sources.repository, wanted.model),
        _style(wanted),
        _long_work(wanted),
        git_section(sources.git, trusted=wanted.trusted),
    )


def _memory(wanted: Wanted) -> Row:
    if wanted.memory_root is None:
        return None
    form = _form(wanted)
    lines = [
        text("memory_place").replace("{root}", f"`{harmless(str(wanted.memory_root))}`"),
        text("memory_documents"),
        text(f"memory_session_{form}"),
        text("memory_writing" if wanted.memory_writing else "memory_read_only"),
        text(f"memory_recall_{form}"),
    ]
    if "memory" in wanted.tools:
        lines[-1] += f" {text('memory_tool' if wanted.memory_writing else 'memory_tool_read_only')}"
    return _system(["\n".join(lines)], "memory", "dynamic")


def _style(wanted: Wanted) -> Row:
    if wanted.style is None:
        return None
    heading = f"# Output style: {shortened(wanted.style.name, 80)}"
    body = f"{heading}\n{escape_reminders(wanted.style.text)}"
    return section("output_style", wanted.style.source, "system", "dynamic", body)


def _long_work(wanted: Wanted) -> PrefixSection:
    sentences = [text(f"long_work_{_form(wanted)}"), text("long_work")]
    if "history" in wanted.tools:
        sentences.insert(1, text("long_work_history"))
    return _system([" ".join(sentences)], "context_management")


def _form(wanted: Wanted) -> str:
    """C-14, C-8: a sub-agent's view is never rebuilt from checkpoints."""
    return "with_checkpoints" if wanted.checkpoints and wanted.actor is None else "without_checkpoints"


def _workflow(actor: Workflow, wanted: Wanted) -> list[str]:
    name = f" named {shortened(actor.name, 80)}" if actor.name.strip() else ""
    contract = [text("workflow_contract")]
    contract += [text(f"workflow_{key}") for key, tool in _WORKFLOW_TOOLS if tool in wanted.tools]
    persona = escape_reminders(actor.persona.strip("\r\n"))
    parts = [text("workflow_opening").replace("{name}", name), persona, text("security"), text("place"), "\n".join(contract)]
    return [part for part in parts if part.strip()]


_WORKFLOW_TOOLS = (("submit", "submit_result"), ("escalate", "escalate"))


def _child(child: Child, sources: Sources, wanted: Wanted) -> tuple[Row, ...]:
    role = escape_reminders(child.prompt.strip("\r\n")) or text("role")
    return (
        _system([role, text("security"), text("place")]),
        _own("notes", "child_notes"),
        environment_section(sources.environment, sources.repository, wanted.model),
    )


def _context(sources: Sources, wanted: Wanted) -> tuple[Row, ...]:
    """Rows 11 to 13."""
    skills = listing(sources.skills, sources.skills_room) if _has_skills(sources, wanted) else ""
    inherits = not isinstance(wanted.actor, Child) or wanted.actor.inject_instructions
    user = [sources.rules if inherits else "", _index(wanted) if inherits else ""]
    date = f"# Date\nToday is {sources.day.isoformat()}."
    return (
        section(SKILLS, "skills", "context", "dynamic", skills),
        section("instructions", "instructions", "context", "dynamic", "\n\n".join(part for part in user if part)),
        section("date", "environment", "context", "dynamic", date),
    )


def _index(wanted: Wanted) -> str:
    lines = escape_reminders(wanted.memory_index).strip("\r\n").split("\n")
    kept = fit_head("\n".join(lines[:_INDEX_LINES]), _INDEX_TOKENS)
    if not kept.strip():
        return ""
    left = len(lines) - kept.count("\n") - 1
    return "\n".join(["# Memory index", kept, *([f"[Cut here: {left} more lines in the file.]"] if left else [])])


def _has_skills(sources: Sources, wanted: Wanted) -> bool:
    return wanted.skills and "skill" in wanted.tools and bool(sources.skills)


def _own(name: str, file: str) -> PrefixSection:
    return _system([text(file)], name)


def _system(parts: Iterable[str], name: str = "identity", hint: Hint = "stable") -> PrefixSection:
    return section(name, "sojourn", "system", hint, "\n\n".join(parts))
