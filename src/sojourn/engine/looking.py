"""A request that was sent, made again from the record exactly as it was (N6, R-15)."""

from collections.abc import Sequence
from typing import Any

import msgspec

from sojourn.base import UserMistake
from sojourn.engine.view import in_view
from sojourn.record import Call, Notice, PrefixSnapshot, Store, Undo, standing_undos
from sojourn.request import Projection
from sojourn.window import apply_trims
from sojourn.wire import ModelRequest, RequestSettings, Traits

PREFIX_CHANGED = "prefix_changed"
"""Source of the notice that another prefix came into force inside a window (P-7)."""


def settings_row(traits: Traits, request: ModelRequest, previous_seq: int, prefix_since: int) -> dict[str, Any]:
    """What a call's row keeps beside the messages, so that the request can be made again."""
    sent = msgspec.to_builtins(request.settings)
    return {"traits": msgspec.to_builtins(traits), "sent": sent, "previous": previous_seq, "since": prefix_since}


async def main_calls(store: Store, session_id: str) -> Sequence[Call]:
    """The session's model calls of the conversation itself, oldest first."""
    return [call for call in await store.calls(session_id) if call.purpose == "main"]


async def last_traits(store: Store, session_id: str) -> Traits | None:
    """Of the model that the session's newest call went to, as they were known then; None = no call was recorded."""
    window = await store.newest_window(session_id)
    call = await store.newest_call(session_id, window_id=window.id) if window else None
    traits = call.settings.get("traits") if call else None
    return msgspec.convert(traits, Traits) if traits else None


async def prefix_in_force(store: Store, session_id: str) -> PrefixSnapshot | None:
    """What replaced another last in the present window, if nothing was sent since; else what its newest request was sent with,
    else what it opened with (P-7). A new fork has no calls of its own, but sees where its parent changed it."""
    window = await store.newest_window(session_id)
    if window is None:
        return None
    sent = await store.newest_call(session_id, window_id=window.id)
    since = max(window.opened_at_seq, sent.upto_seq if sent else 0)
    name = await _changed_to(store, session_id, since) or (sent.prefix_id if sent else None) or window.prefix_id
    return await store.prefix(name) if name else None


async def _changed_to(store: Store, session_id: str, since: int) -> str:
    """The prefix that came into force last behind that message; "" = none did."""
    name = ""
    async for message in store.stream(session_id, after=since):
        if message.source == PREFIX_CHANGED and message.origin == "engine":
            name = next((str(part.detail["after"]) for part in message.parts if isinstance(part, Notice)), name)
    return name


async def numbered_request(store: Store, session_id: str, number: int) -> tuple[Call, ModelRequest]:
    """The main call of that number (from 1) and its request. Raises UserMistake where there is none."""
    calls = await main_calls(store, session_id)
    if not 1 <= number <= len(calls):
        raise UserMistake(
            f"there is no request {number}: the session has {len(calls)}",
            next_step="sojourn cost lists them." if calls else "Requests are recorded from the first model call on.",
        )
    call = calls[number - 1]
    return call, await request_of(store, session_id, call)


async def request_of(store: Store, session_id: str, call: Call) -> ModelRequest:
    """The request of a call, exactly as it was."""
    window = await store.window(call.window_id) if call.window_id else None
    prefix = await store.prefix(call.prefix_id) if call.prefix_id else None
    traits = msgspec.convert(call.settings.get("traits", {}), Traits)
    sent = msgspec.convert(call.settings.get("sent", {"model": call.model}), RequestSettings)
    after = window.digest_seq if window else 0
    messages = await store.messages(session_id, after=after, upto=call.upto_seq, include_undone=True)
    undone = _undone_by(call, await store.undos(session_id))
    projection = Projection(prefix, window, traits, prefix_since=call.settings.get("since", 0))
    for message in messages:
        if in_view(message) and not any(turn.after_seq < message.seq <= turn.upto_seq for turn in undone):
            projection.extend([apply_trims(message, window.trims) if window else message])
    return projection.request(sent, call.settings.get("previous") or None)


def _undone_by(call: Call, undos: Sequence[Undo]) -> tuple[Undo, ...]:
    """The turns that were out of view when the call was made: a turn ends at the head of its undo, and later requests
    hold at least that."""
    known = [undo for undo in undos if not undo.closes or undo.created <= call.started]
    return tuple(undo for undo in standing_undos(known) if undo.kind == "turn" and undo.upto_seq <= call.upto_seq)
