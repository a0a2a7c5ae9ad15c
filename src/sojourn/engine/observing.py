"""What happens, taken into the record and the view (R-4, R-9)."""

from collections.abc import Sequence

import msgspec

from sojourn.engine.intake import finish_of, result_cap, take_in, title_of
from sojourn.engine.state import State
from sojourn.engine.view import in_view
from sojourn.record import AddMessage, Change, Message, SetSession, TakeInbox, Text
from sojourn.window import is_finished


async def observe(state: State, messages: Sequence[Message], inbox: tuple[str, ...] = ()) -> tuple[Message, ...]:
    """Messages in order, as stored. ``inbox``: the rows that they came from, taken in the same commit (R-9)."""
    cap = result_cap(state.lines().full_trigger)
    taken = [await take_in(_named(state, message), state.ports.store, cap) for message in messages]
    if not taken:
        return ()
    changes: list[Change] = [AddMessage(message) for message in taken]
    title = None if state.session.title else title_of(taken)
    if title:
        changes.append(SetSession(title=title))
    if inbox:
        changes.append(TakeInbox(inbox))
    done = await state.commit(*changes)
    if title:
        state.session = msgspec.structs.replace(state.session, title=title)
    stored = tuple(
        msgspec.structs.replace(message, seq=seq, session_id=state.session.id)
        for message, seq in zip(taken, done.seqs, strict=True)
    )
    if done.repeated:
        return stored  # the same ids again: they stand in the view already
    state.view.extend(message for message in stored if in_view(message))
    if any(message.origin == "user" and message.role == "user" for message in stored):
        state.window_steps.clear()
    if any(is_finished(message) for message in stored):
        answered_well(state)
    return stored


async def take_inbox(state: State) -> None:
    """Text that others sent while the session worked gets its seq at this safe point (R-9)."""
    rows = await state.ports.store.inbox(state.session.id)
    if rows:
        messages = [
            Message(id=f"msg_{row.id}", role="user", origin=row.origin, created=row.created, parts=(Text(row.text),))
            for row in rows
        ]
        present = state.ports.present
        shown = [one for message in messages for one in (present(message) if present else (message,))]
        await observe(state, shown, inbox=tuple(row.id for row in rows))


def answered_well(state: State) -> None:
    """The provider takes this session's requests: C-10's count begins anew."""
    state.recoveries = 0
    state.refused.clear()


def _named(state: State, message: Message) -> Message:
    ports = state.ports
    return msgspec.structs.replace(
        message,
        id=message.id or ports.ids.new("msg"),
        created=message.created or ports.clock.now(),
        finish=message.finish or finish_of(message),
    )
