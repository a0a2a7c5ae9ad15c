"""Row 2b of an opening: what holds in the session whatever a summary says of it: mode, skills, accepted plan (W-3, W-9)."""

from collections.abc import Mapping, Sequence

from sojourn.meter import fit_line
from sojourn.window.fit import ends_of
from sojourn.window.texts import (
    MODE_ACCEPT_EDITS,
    MODE_ASK,
    MODE_FULL,
    MODE_OTHER,
    MODE_PLAN,
    PLAN_DECIDED,
    PLAN_OMISSION,
    PLAN_STEPS,
    SKILLS_ACTIVE,
)
from sojourn.window.types import OpeningSection

_PLAN_CHARACTERS = 6_000
_HEAD_CHARACTERS, _TAIL_CHARACTERS = 3_800, 1_900
_STEP_CHARACTERS, _NAME_CHARACTERS = 200, 80
_MODES: Mapping[str, str] = {"ask": MODE_ASK, "accept-edits": MODE_ACCEPT_EDITS, "plan": MODE_PLAN, "full": MODE_FULL}


def state_section(
    mode: str, plan: str, plan_seq: int, steps: Sequence[str] = (), skills: Sequence[str] = ()
) -> OpeningSection | None:
    """The section ``state``: the mode with what it means, the active skills with how to load them again, how far the steps
    of the plan are, the accepted plan last (what does not fit is cut from the end); None where there is nothing to say.

    ``plan``: the text that the person accepted, "" = none; it was said in message ``plan_seq`` (0 = not known). One of over
    6,000 characters is cut in its middle, at line ends where there are any. ``steps``: a line each, with its status.
    """
    paragraphs = []
    if mode:
        paragraphs.append(_MODES.get(mode, MODE_OTHER.format(mode=fit_line(mode, _NAME_CHARACTERS))))
    if skills:
        names = ", ".join(fit_line(name, _NAME_CHARACTERS) for name in skills)
        paragraphs.append(SKILLS_ACTIVE.format(names=names))
    if plan.strip():
        said = f" (m{plan_seq})" if plan_seq else ""
        done = [PLAN_STEPS, *(f"- {fit_line(step, _STEP_CHARACTERS)}" for step in steps)] if steps else []
        paragraphs.append("\n".join([PLAN_DECIDED.format(said=said), *done]))
        paragraphs.append(_shortened(plan.strip("\n"), plan_seq))
    return OpeningSection("state", "\n\n".join(paragraphs)) if paragraphs else None


def skills_shown(text: str) -> tuple[str, ...]:
    """The active skills that a section ``state`` names."""
    before, after = SKILLS_ACTIVE.split("{names}")
    lines = (line for line in text.splitlines() if line.startswith(before) and line.endswith(after))
    names = next(lines, "")[len(before) : -len(after)]
    return tuple(names.split(", ")) if names else ()


def _shortened(plan: str, plan_seq: int) -> str:
    if len(plan) <= _PLAN_CHARACTERS:
        return plan
    head, tail = ends_of(plan, _HEAD_CHARACTERS, _TAIL_CHARACTERS)
    head = head[: head.rfind("\n") + 1 or len(head)].rstrip("\n")
    tail = tail[tail.find("\n") + 1 :].lstrip("\n")
    where = f"history read m{plan_seq}" if plan_seq else "history search <words>"
    return f"{head}\n{PLAN_OMISSION.format(characters=f'{len(plan) - len(head) - len(tail):,}', where=where)}\n{tail}"
