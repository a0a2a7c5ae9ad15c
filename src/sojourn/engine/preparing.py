"""What stands before each model call, in the order of C-6 to C-10: writers fire, a window opens, what came in is cut."""

from sojourn.cycle import decide
from sojourn.engine.cutting import cut_incoming
from sojourn.engine.firing import fire
from sojourn.engine.observing import take_inbox
from sojourn.engine.recovery import make_room
from sojourn.engine.situation import situation
from sojourn.engine.state import State
from sojourn.engine.switching import draw_first_trigger, open_first, switch

_ROUNDS = 4


async def prepare(state: State) -> None:
    """Leaves the view as the next request will show it. Raises WorkFailed for a clear stop (C-11)."""
    if state.stale:
        await state.restore_prefix(state.offered, state.next_fixed)
        await state.load()
    if state.lease is not None:
        await take_inbox(state)
    if state.view.window.number == 0:
        await open_first(state)
    if state.lease is not None:
        await draw_first_trigger(state)
    for _ in range(_ROUNDS):
        decision = decide(situation(state))
        if decision.fire is not None:
            await fire(state, decision.fire)
            decision = decide(situation(state))  # a writer runs now, or has written already
        match decision.then:
            case "open" | "compact":
                if (await switch(state, decision.reason)).outcome == "insert_failed":
                    # W-10: nothing stands before what came in. It is cut if need be, else goes as it is.
                    if state.level().tokens > state.lines().hard:
                        await make_room(state)
                    return
            case "cut_incoming":
                await cut_incoming(state, state.lines().trigger)
                return
            case "recover":
                await make_room(state)
                return
            case _:
                return
