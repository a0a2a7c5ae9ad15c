"""What an economic window is computed from, measured in this session (C-18), and what the session has spent (K-11)."""

from collections.abc import Sequence

import msgspec

from sojourn.base import Usage
from sojourn.cycle import Economics
from sojourn.engine.view import STEPS_MEASURED, STEPS_NEEDED, View
from sojourn.meter import Prices, part_tokens, total
from sojourn.record import Call, Message, ToolCall, Touch, Window

_FILES_KNOWN, _EARLY_STEPS = 8, 5
"""Files that were read last before a window opened, and its steps in which reading one of them again counts as owed to the
boundary: later, and of other files, it is as likely the work itself."""
_LEAST_OPENING = 15
"""Percent of the trigger (W-4)."""
_SMOOTHING = 0.5
"""Weight of the newest window in what reading again has cost."""


class Spent(msgspec.Struct, frozen=True):
    """Input and output of a session's calls, in tokens of fresh input."""

    main: float = 0.0
    writer: float = 0.0
    """Writers of checkpoints and summaries."""
    window_writer: float = 0.0
    """The part of it that the present window's writers cost."""
    unit_price: float | None = None
    """US dollars that a token of fresh input costs, by the newest call of the session's model whose price is known."""

    def plus(self, purpose: str, usage: Usage, prices: Prices, price: float | None) -> "Spent":
        """With one call more. ``prices`` are those of the session's model; a writer may be another one, so that its ``price``
        (US dollars; None = unknown) counts where both are known."""
        cost = prices.of(usage)
        if purpose == "main":
            unit = price / cost if price and cost else self.unit_price
            return msgspec.structs.replace(self, main=self.main + cost, unit_price=unit)
        if price is not None and self.unit_price:
            cost = price / self.unit_price
        return msgspec.structs.replace(self, writer=self.writer + cost, window_writer=self.window_writer + cost)

    def next_window(self) -> "Spent":
        return msgspec.structs.replace(self, window_writer=0.0)

    @property
    def writer_share(self) -> float:
        """0 to 1."""
        return self.writer / whole if (whole := self.main + self.writer) else 0.0


def spent_until(window: Window, calls: Sequence[Call], prices: Prices) -> Spent:
    """By a session whose newest window is this one, from the window's row and its calls: nothing older is read (R-10)."""
    known = window.measured
    spent = Spent(known.get("spent_main", 0.0), known.get("spent_writer", 0.0), unit_price=known.get("unit_price"))
    for call in sorted(calls, key=lambda call: call.purpose != "main"):  # writers are weighed by what the others cost
        if call.usage is not None:
            spent = spent.plus(call.purpose, call.usage, prices, call.price)
    return spent


def economics(view: View, spent: Spent, prices: Prices, *, level: int, written: int, ratio: float = 1.0) -> Economics:
    """For the window that is about to open with ``level`` tokens, ``written`` of them new to the cache. ``ratio``: calibrated
    tokens for each estimated one; the view counts estimated ones."""
    before = view.window.measured
    steps = len(view.growth)
    # Steps of earlier windows are known one by one as far as this process has seen them, the others by their mean.
    seen = max(0, steps - view.steps)
    earlier = max(0, min(int(before.get("steps", 0)) - seen, STEPS_MEASURED - steps))
    grown = sum(view.growth) * ratio + earlier * before.get("growth", 0.0)
    reread, earlier_reread = read_again(view) * ratio, before.get("reread")
    return Economics(
        growth=grown / (steps + earlier) if steps + earlier else 0.0,
        steps=steps + earlier,
        opening_level=level,
        opening_written=written,
        writer_cost=spent.window_writer or before.get("writer", 0.0),
        reread_cost=reread if earlier_reread is None else _SMOOTHING * reread + (1 - _SMOOTHING) * earlier_reread,
        cached_price=prices.cached,
        written_price=prices.written,
    )


def first_economics(view: View, full_trigger: int, fixed: int, prices: Prices, ratio: float) -> Economics | None:
    """For a session's first window, from its own first steps: nothing was known when it opened. The opening to come is taken
    to be the smallest that W-4 allows. None before five steps, and for any other window."""
    if view.window.kind != "start" or len(view.first_steps) < STEPS_NEEDED:
        return None
    shown = sum(block.tokens for block in view.window.opening)
    return Economics(
        growth=sum(view.first_steps) * ratio / STEPS_NEEDED,
        steps=STEPS_NEEDED,
        opening_level=fixed + shown,
        opening_written=full_trigger * _LEAST_OPENING // 100,
        cached_price=prices.cached,
        written_price=prices.written,
    )


def as_measured(found: Economics, spent: Spent) -> dict[str, float]:
    """What is stored with the window: what its trigger was computed from."""
    return {
        "growth": round(found.growth, 1),
        "steps": found.steps,
        "opening": found.opening_written,
        "writer": round(found.writer_cost, 1),
        "reread": round(found.reread_cost, 1),
        "cached_price": found.cached_price,
        "written_price": found.written_price,
        "spent_main": round(spent.main, 1),
        "spent_writer": round(spent.writer, 1),
    } | ({"unit_price": spent.unit_price} if spent.unit_price is not None else {})


def files_read(view: View) -> tuple[str, ...]:
    """Files that the model has read in this window and before it, newest first."""
    here = [touch.path for message in reversed(_since_opening(view)) for touch in reversed(_reads(message))]
    return tuple(dict.fromkeys([*here, *view.window.files]))[:_FILES_KNOWN]


def read_again(view: View) -> int:
    """Tokens of results of this window's first steps that show a file which the model had read just before it opened."""
    known = set(view.window.files)
    cost = 0
    for message in [message for message in _since_opening(view) if message.role == "assistant"][:_EARLY_STEPS]:
        for part in message.parts:
            if isinstance(part, ToolCall) and known.intersection(touch.path for touch in part.touches if touch.kind == "read"):
                cost += sum(total(part_tokens(result)) for result in part.result)
    return cost


def _since_opening(view: View) -> list[Message]:
    return view.after(view.window.opened_at_seq)


def _reads(message: Message) -> list[Touch]:
    return [t for part in message.parts if isinstance(part, ToolCall) for t in part.touches if t.kind == "read"]
