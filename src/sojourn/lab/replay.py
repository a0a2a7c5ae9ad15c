"""A transcript through the engine: where windows would have opened, what they held, what it would have cost (N8).

Before every answer of the recorded model the engine projects the request that would have left. Writers are extractive,
no model is called and the clock stands at each message's own time, so the same file gives the same result.
"""

from collections.abc import Callable, Iterable

import msgspec

from sojourn.base import CountingIds, ManualClock, WorkFailed
from sojourn.checkpoint import Writer
from sojourn.config import Settings
from sojourn.engine import Engine, EngineEvent, Projected, WindowSummary, summarise
from sojourn.lab.continuity import SessionIndex, plain_text, recall
from sojourn.lab.journey import Mark, Point, Stay
from sojourn.lab.strategies import VIEWS
from sojourn.meter import CacheRule, Cost, message_tokens, total, units
from sojourn.record import Checkpoint, Message, Session, Window
from sojourn.wire import Traits

OnProgress = Callable[[int], None]
"""Told the number of messages replayed so far."""
OnRequest = Callable[[Projected], None]
"""Told every request that would have left."""


class Kept(msgspec.Struct, frozen=True):
    """Of one strategy over all boundaries: what later work needed, and how much of it was in view (T-6)."""

    recall: float | None
    """``visible / asked``; None where nothing was asked for."""
    asked: int
    visible: int
    opening_tokens: int
    """Tokens in view just after the boundaries, summed."""


class Replay(msgspec.Struct, frozen=True):
    """One session's journey."""

    windows: tuple[WindowSummary, ...]
    cost: Cost
    continuity: dict[str, Kept]
    """By strategy: ``sojourn``, ``drop_oldest``, ``keep_last``, ``clear_results``."""
    tokens: int
    """Of all messages, by the meter."""
    steps: int
    stops: int
    """Times the engine stopped against loops (C-11); a person would have been asked, the replay goes on."""
    over_hard: int
    """Requests that would have left above the hard line: always 0, or a budget is broken."""
    points: tuple[Point, ...]
    stays: tuple[Stay, ...]
    marks: tuple[Mark, ...]


class _Boundary(msgspec.Struct, frozen=True):
    seq: int
    view: str
    tokens: int


class _Journal:
    """What is noted while a session runs through the engine."""

    def __init__(self, rule: CacheRule, fixed: int) -> None:
        self._rule = rule
        self._fixed = fixed
        self.windows: list[Window] = []
        self.points: list[Point] = []
        self.stays: list[Stay] = []
        self.marks: list[Mark] = []
        self.cached = 0
        self.new = 0
        self.over_hard = 0
        self._sent = 0
        self._window_id = ""

    def note(self, event: EngineEvent) -> None:
        if event.kind == "window_opened":
            window: Window = event.detail["window"]
            self.windows.append(window)
            self.stays.append(_stay(window, step=len(self.points) + 1))
        elif event.kind == "checkpoint_written":
            checkpoint: Checkpoint = event.detail["checkpoint"]
            self.marks.append(Mark(step=len(self.points) + 1, covered_seq=checkpoint.covered_seq))

    def request(self, projected: Projected) -> None:
        """The provider's cache holds the request before; a new window shares only the fixed part with it."""
        level = projected.level.tokens
        shared = self._sent if projected.window.id == self._window_id else min(self._fixed, self._sent)
        self.cached += shared
        self.new += max(0, level - shared)
        self.over_hard += level > projected.lines.hard
        self._sent, self._window_id = level, projected.window.id
        self.points.append(Point(step=len(self.points) + 1, seq=projected.upto_seq, level=level))

    def cost(self) -> Cost:
        fresh, written = (self.new, 0) if self._rule == "automatic" else (0, self.new)
        return Cost(units(fresh, written, self.cached, self._rule), fresh, written, self.cached, self._rule)


async def replay(  # noqa: PLR0913 (keyword-only settings of one run)
    messages: Iterable[Message],
    *,
    window: int,
    settings: Settings | None = None,
    fixed: int = 0,
    rule: CacheRule = "marked",
    title: str = "",
    continuity: bool = True,
    on_progress: OnProgress | None = None,
    on_request: OnRequest | None = None,
    writer: Writer | None = None,
) -> Replay:
    """Runs one session's messages through the engine in a window of so many tokens.

    ``writer``: who writes the checkpoints; None = extraction. ``fixed``: tokens of system and tools (C-1: 0 unless asked).
    Raises UserMistake for a window under the smallest.
    """
    clock = ManualClock(0)
    journal = _Journal(rule, fixed)
    boundaries: list[_Boundary] = []
    raw: list[Message] = []
    stops = tokens = 0
    engine = await Engine.open(
        session=Session(id="", title=title or "replay"),
        traits=Traits(limit=window, limit_source="asked for"),
        settings=settings,
        fixed=fixed,
        clock=clock,
        ids=CountingIds(),
        on_event=journal.note,
        writer=writer,
    )
    async with engine:
        for message in messages:
            clock.advance(max(0, message.created - clock.now()))
            if message.role == "assistant" and message.origin == "model":
                opened = len(journal.windows)
                projected, stopped = await _project(engine)
                stops += stopped
                if len(journal.windows) > opened and journal.windows[-1].kind != "start":
                    boundaries.append(_boundary(engine, projected))
                journal.request(projected)
                if on_request is not None:
                    on_request(projected)
            # Its id over there may repeat in one file: ours are given anew.
            stored = await engine.observe(msgspec.structs.replace(message, id="", seq=0))
            tokens += total(message_tokens(stored[0]))
            raw.append(msgspec.structs.replace(message, seq=stored[0].seq))
            if on_progress is not None:
                on_progress(len(raw))
    return Replay(
        windows=tuple(summarise(one) for one in journal.windows),
        cost=journal.cost(),
        continuity=measure(raw, boundaries) if continuity else {},
        tokens=tokens,
        steps=len(journal.points),
        stops=stops,
        over_hard=journal.over_hard,
        points=tuple(journal.points),
        stays=tuple(journal.stays),
        marks=tuple(journal.marks),
    )


def _stay(window: Window, step: int) -> Stay:
    return Stay(
        number=window.number,
        kind=window.kind,
        reason=window.reason,
        step=step,
        level_before=window.meter_before,
        level_after=window.meter_after,
        trigger=window.trigger,
        hard=window.hard,
    )


async def _project(engine: Engine) -> tuple[Projected, int]:
    try:
        return await engine.project(), 0
    except WorkFailed:
        engine.go_on()
        return await engine.project(), 1


def _boundary(engine: Engine, projected: Projected) -> _Boundary:
    opening = "".join(block.text for block in projected.window.opening)
    view = f"{opening}\n{plain_text(engine.in_view)}"
    return _Boundary(projected.window.opened_at_seq, view, projected.level.tokens)


def measure(messages: list[Message], boundaries: list[_Boundary]) -> dict[str, Kept]:
    """Continuity of ours and of the other strategies at the same boundaries and the same budget (T-6)."""
    if not boundaries:
        return {}
    index = SessionIndex(messages)
    ends = [boundary.seq for boundary in boundaries[1:]] + [messages[-1].seq]
    sums: dict[str, list[int]] = {name: [0, 0, 0] for name in ("sojourn", *VIEWS)}
    for boundary, end in zip(boundaries, ends, strict=True):
        asked = index.needed_after(boundary.seq, end)
        _add(sums["sojourn"], recall(asked, boundary.view), boundary.tokens)
        for name, view in VIEWS.items():
            kept = view(messages, boundary.seq, boundary.tokens)
            _add(sums[name], recall(asked, kept.text), kept.tokens)
    return {
        name: Kept(visible / asked if asked else None, asked, visible, tokens)
        for name, (visible, asked, tokens) in sums.items()
    }


def _add(sums: list[int], found: tuple[int, int], tokens: int) -> None:
    sums[0] += found[0]
    sums[1] += found[1]
    sums[2] += tokens
