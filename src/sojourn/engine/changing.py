"""A prefix that changes inside a window: only for a named reason, recorded with part and price (P-7)."""

from sojourn.engine.looking import PREFIX_CHANGED
from sojourn.engine.state import State, prefix_tokens
from sojourn.meter import total
from sojourn.record import AddMessage, Message, Notice, PrefixSnapshot, PutPrefix
from sojourn.request import changed_part, project
from sojourn.wire import RequestSettings


async def change_prefix(state: State, prefix: PrefixSnapshot, reason: str) -> bool:
    """Puts it into force; False where its bytes are those in force already."""
    before = state.prefix
    state.offered, state.next_fixed = prefix, prefix_tokens(prefix)
    if before is not None and before.id == prefix.id:
        return False
    if state.view.window.number == 0:
        state.prefix, state.fixed = prefix, state.next_fixed  # nothing was sent yet: it costs nothing
        state.view = await state.view_of(state.view.window)
        return True
    empty = RequestSettings()
    old, new = (project(one, state.view.window, (), state.traits, empty) for one in (before, prefix))
    changed = changed_part(old, new)
    shared = changed.shared if changed else total(prefix_tokens(before))
    afresh = max(0, state.level().tokens - shared)
    text = f"prefix changed ({reason}): {changed.part if changed else 'something was added at its end'}"
    detail = {
        "reason": reason,
        "part": changed.part if changed else "",
        "before": before.id if before else "",
        "after": prefix.id,
        "tokens_afresh": afresh,
    }
    notice = Notice(PREFIX_CHANGED, text, detail)
    message = Message(
        id=state.ports.ids.new("msg"),
        role="user",
        origin="engine",
        source=PREFIX_CHANGED,
        created=state.ports.clock.now(),
        parts=(notice,),
    )
    await state.commit(PutPrefix(prefix), AddMessage(message))
    state.prefix_since = state.head
    state.prefix, state.fixed = prefix, state.next_fixed
    state.view = await state.view_of(state.view.window)
    state.emit("prefix_changed", **detail)
    return True
