"""Pins: text that must survive, as rows of the session, within a budget (W-3 row 0, R-15)."""

import msgspec

from sojourn.base import UserMistake
from sojourn.engine.state import State
from sojourn.record import Pin, PinRow
from sojourn.window import OpeningSection

PINS_CAP = 2_000
"""Tokens of all pins together."""


async def pin_text(state: State, text: str, source: str = "user") -> PinRow:
    """Adds a pin; it stands in every window from the next on. Raises UserMistake for empty text or a full budget."""
    if not text.strip():
        raise UserMistake("there is nothing to pin: the text is empty")
    pinned = sum(state.count(pin.text) for pin in state.pins)
    wanted = state.count(text)
    if pinned + wanted > PINS_CAP:
        raise UserMistake(
            f"the pin takes {wanted:,} tokens; {max(0, PINS_CAP - pinned):,} of {PINS_CAP:,} are free",
            next_step="Pin a shorter text, or take another pin away first.",
        )
    row = PinRow(id=state.ports.ids.new("pin"), text=text, source=source, created=state.ports.clock.now())
    await state.commit(Pin(row))
    state.pins = (*state.pins, row)
    return row


async def unpin(state: State, pin_id: str) -> None:
    """Removes a pin. Raises UserMistake for an id that is none."""
    found = next((pin for pin in state.pins if pin.id == pin_id), None)
    if found is None:
        raise UserMistake(f"there is no pin {pin_id} in session {state.session.id}")
    await state.commit(Pin(msgspec.structs.replace(found, removed=True)))
    state.pins = tuple(pin for pin in state.pins if pin.id != pin_id)


def pins_section(state: State) -> tuple[OpeningSection, ...]:
    """Row 0 of the opening, one line or paragraph a pin; empty without pins."""
    if not state.pins:
        return ()
    return (OpeningSection("pins", "\n".join(f"- {pin.text}" for pin in state.pins)),)
