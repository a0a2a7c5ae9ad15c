"""Pins as a person counts them: by the engine's measure, so that a list and a refusal agree (W-3, M-2)."""

from collections.abc import Callable, Sequence

from sojourn.base import UserMistake
from sojourn.engine.looking import last_traits
from sojourn.meter import Calibration, calibrated, estimate_text, learn
from sojourn.record import PinRow, Session, Store
from sojourn.surfaces.catalogue import say

_CALLS_LEARNED = 5
"""The newest calls of a window, of which an opened session learns how its model counts."""


async def counter(store: Store, session: Session) -> Callable[[str], int]:
    """Tokens of a text, as the session's model counts them."""
    window = await store.newest_window(session.id)
    traits = await last_traits(store, session.id)
    learned = Calibration()
    for call in (await store.calls(session.id, window_id=window.id) if window else ())[-_CALLS_LEARNED:]:
        if call.usage is not None and call.purpose == "main":
            learned = learn(learned, call.model, call.estimate, call.usage.input)
    name = traits.name if traits else session.model
    return lambda text: calibrated(learned, name, estimate_text(text))


async def standing_pins(store: Store, session: Session) -> list[PinRow]:
    """The pins that the next window will show."""
    return [pin for pin in await store.pins(session.id) if not pin.removed]


def check_room(text: str, pins: Sequence[PinRow], count: Callable[[str], int], limit: int) -> None:
    """Raises UserMistake where the text does not fit beside the pins that are there."""
    used, wanted = sum(count(pin.text) for pin in pins), count(text)
    if used + wanted > limit:
        free = max(0, limit - used)
        told = say("pin_no_room", tokens=wanted, free=free, limit=limit, used=used, over=wanted - free)
        raise UserMistake(told, next_step=say("pin_no_room_next"))
