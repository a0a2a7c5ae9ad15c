"""What a new window is told from the session's own state: the accepted plan, the skills in use (W-3 row 2b, W-9).

Both are read off the record, never off a summary: they stand there word for word after any number of windows.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from sojourn.record import Message, Reminder, Session, Store, Text, ToolCall, Window
from sojourn.tools.skill import SKILL
from sojourn.window import OpeningSection, is_finished, skills_shown, state_section
from sojourn.window.boundary import makes_calls

SKILLS_MOST = 10
LOOKED_BACK = 400
"""Messages in which the plan is looked for when plan mode is left."""
_STEPS_LEAST = 2
_STEP = re.compile(r"^[ \t]*(?:(?:[-*+•]|\d+[.)]|#+)[ \t]+\S|\d+、)", re.MULTILINE)


class Plan(msgspec.Struct, frozen=True):
    """The plan that the person accepted."""

    text: str = ""
    seq: int = 0
    """Of the message that holds it; 0 = there is none."""


def active_skills(messages: Iterable[Message], before: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the skills that were loaded, newest first, each once, at most 10.

    ``messages`` in order of seq; ``before``: what an earlier reading answered. A call counts when it went well.
    """
    found = list(reversed(before))
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall) and part.name == SKILL and part.state == "completed":
                name = str(part.arguments.get("name", "")).strip().removeprefix("/")
                if name:
                    found.append(name)
    return tuple(dict.fromkeys(reversed(found)))[:SKILLS_MOST]


async def skills_in_use(store: Store, session_id: str, window: Window | None) -> tuple[str, ...]:
    """Those that the opening of the present window names and those loaded in view, newest first: what is read is bounded by
    the window, whatever the session's age (R-10)."""
    opening = window.opening if window is not None else ()
    known = next((skills_shown(block.text) for block in opening if block.section == "state"), ())
    async for message in store.stream(session_id, after=window.digest_seq if window is not None else 0):
        if message.role == "assistant":
            known = active_skills((message,), known)
    return known


def plan_in(messages: Sequence[Message]) -> int:
    """The seq of the plan that is accepted by leaving plan mode now; 0 = none was made.

    ``messages``: the newest of the record, in order. A finished answer without calls is one; it must have been given
    since plan mode was entered (the first reminder of it with no end of the mode behind it), where reminders tell: then
    the newest that has steps is taken, since questions about a plan may follow it. Else the newest.
    """
    answers: list[tuple[int, str]] = []
    planning = False
    for message in messages:
        told = {part.source for part in message.parts if isinstance(part, Reminder)} if message.origin == "engine" else set()
        if "plan_mode_exit" in told:
            answers, planning = [], False
        elif "runtime_mode" in told and not planning:
            answers, planning = [], True
        elif is_finished(message) and not makes_calls(message) and (text := message_text(message)):
            answers.append((message.seq, text))
    stepped = [seq for seq, text in answers if planning and len(_STEP.findall(text)) >= _STEPS_LEAST]
    return stepped[-1] if stepped else answers[-1][0] if answers else 0


async def plan_to_accept(store: Store, session_id: str) -> int:
    """``plan_in`` of the newest messages of the record, which reach back further than the view may."""
    newest = await store.messages(session_id, limit=LOOKED_BACK, newest_first=True)
    return plan_in(newest[::-1])


async def standing(store: Store, session: Session, mode: str, window: Window | None) -> tuple[OpeningSection, ...]:
    """Row 2b of the window that opens after ``window``: mode, skills and the accepted plan as the record has them, never a
    summary; () where there is nothing to say."""
    plan, skills = await accepted_plan(store, session), await skills_in_use(store, session.id, window)
    shown = state_section(mode, plan.text, plan.seq, skills=skills)
    return () if shown is None else (shown,)


async def accepted_plan(store: Store, session: Session) -> Plan:
    """The plan in force, word for word; an empty one where none was accepted or an undo took it back."""
    found = await store.messages(session.id, after=session.plan_seq - 1, upto=session.plan_seq)
    text = message_text(found[0]) if found else ""
    return Plan(text, session.plan_seq) if text else Plan()


def message_text(message: Message) -> str:
    """The words of a message, without thinking and calls."""
    return "\n".join(part.text for part in message.parts if isinstance(part, Text)).strip()
