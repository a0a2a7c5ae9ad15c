"""Where a reminder stands and in which form: decided once, before it is stored (M-R2, M-R4 to M-R6)."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from sojourn.record import Message, Reminder, ToolCall
from sojourn.reminders import bodies
from sojourn.reminders.table import source
from sojourn.reminders.types import Due

GROUP = "reminders"
"""The source of a message that holds several kinds: they were placed as one system message."""


class Placed(msgspec.Struct, frozen=True):
    """What is to be stored, in order, and what has to wait."""

    messages: tuple[Message, ...]
    """The user's own among them; the engine's have no id and no seq yet."""
    user_at: int | None
    """Where the user's message stands among them."""
    waiting: tuple[Due, ...] = ()


def place(
    due: Sequence[Due], view_tail: Sequence[Message], user: Message | None = None, *, mid_system: bool, mid_turn: bool = False
) -> Placed:
    """The order and the form of what is due, around the user's message if one comes with it.

    While a tool run is incomplete reminders wait; the user's message does not. Wrapped: reminders that bubble, and those
    that keep the place where they came about, stand before the user's message; the others behind it. With ``mid_system``
    (Q-6) those that the engine alone wrote become one system message behind the user's message, or behind complete tool
    results; where neither stands last they are wrapped. ``mid_turn``: the user's message was sent while the agent
    worked; a mark stands right before it (M-R6). ``view_tail``: the newest messages of the view, from the last answer on
    at least. Raises ValueError for a kind that is not placed.
    """
    marked = [user] if user is not None else []
    if user is not None and mid_turn:
        marked.insert(0, _message("incoming_message", (Reminder("incoming_message", bodies.sent_by_user()),)))
    if _runs(view_tail):
        return Placed(tuple(marked), len(marked) - 1 if marked else None, tuple(due))
    system: list[Reminder] = []
    before: list[Message] = []
    behind: list[Message] = []
    takes_system = mid_system and (user is not None or _may_follow(view_tail))
    for one in due:
        kind = source(one.source)
        if not one.body.strip():
            continue
        if takes_system and kind.may_be_mid_system and not one.quoted:
            system.append(Reminder(one.source, one.body, "system"))
            continue
        first = kind.bubbles or kind.channel == "history_continuity"
        (before if first else behind).append(_message(one.source, (Reminder(one.source, one.body),)))
    last = [_message(system[0].source if len(system) == 1 else GROUP, tuple(system))] if system else []
    at = len(before) + len(marked) - 1 if marked else None
    return Placed((*before, *marked, *behind, *last), at)


def incoming(sender: Literal["coordinator", "peer", "background"], text: str, name: str = "") -> Due:
    """A message of somebody who is not the user, as a reminder: never as the user's speech, never with system authority
    (M-R5, Y-11). ``name``: who a peer is."""
    kind = "queued_system_notification" if sender == "background" else "incoming_message"
    return Due(kind, bodies.incoming(sender, text, name), quoted=True)


def _message(name: str, parts: tuple[Reminder, ...]) -> Message:
    return Message(id="", role="user", origin="engine", parts=parts, source=name)


def _runs(tail: Sequence[Message]) -> bool:
    """Whether the newest answer still waits for a result."""
    answer = next((message for message in reversed(tail) if message.role == "assistant"), None)
    return answer is not None and any(
        isinstance(part, ToolCall) and part.state in ("pending", "running") for part in answer.parts
    )


def _may_follow(tail: Sequence[Message]) -> bool:
    """Whether a system message may stand behind the tail: its last speaker is not the model, or made calls (their results
    stand last). Reminders are looked through."""
    for message in reversed(tail):
        if message.role == "assistant" and message.parts:
            return any(isinstance(part, ToolCall) for part in message.parts)
        if message.role == "user" and message.origin != "engine" and message.parts:
            return True
    return False
