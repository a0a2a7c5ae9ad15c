"""The demonstration: the sample day in a 40K window, its planted facts looked for in every window's request."""

from typing import Any

import msgspec

from sojourn.config import Settings
from sojourn.engine import Projected
from sojourn.lab.replay import OnProgress, Replay, replay
from sojourn.lab.report import continuity_of
from sojourn.lab.sample import Fact, Sample, sample_session
from sojourn.lab.strategies import VIEWS, Strategy, strategy_cost
from sojourn.models.scripted import request_text as request_text

WINDOW = 40_000

_OTHERS: tuple[Strategy, ...] = ("drop_oldest", "keep_last")


class InView(msgspec.Struct, frozen=True):
    """The facts in one window's first request."""

    window: int
    asked: int
    """Facts said before it opened and not taken back by then."""
    missing: tuple[Fact, ...]


class Other(msgspec.Struct, frozen=True):
    """The same day by another strategy, cut where ours opened windows, to the size that ours opened with."""

    name: str
    units: float
    visible: int
    """Facts in view after every cut, counted as ours are."""
    asked: int


class Demo(msgspec.Struct, frozen=True):
    """What the demonstration shows."""

    sample: Sample
    replay: Replay
    in_view: tuple[InView, ...]
    others: tuple[Other, ...]

    @property
    def kept(self) -> int:
        """Facts that stood in the first request of every window after they were said, until they were taken back."""
        return len(self.sample.facts) - len(self.missing)

    @property
    def missing(self) -> tuple[tuple[Fact, tuple[int, ...]], ...]:
        """Each fact that was out of view, with the numbers of the windows that opened without it; in the day's order."""
        return tuple(
            (fact, where)
            for fact in self.sample.facts
            if (where := tuple(seen.window for seen in self.in_view if fact in seen.missing))
        )


async def demonstrate(
    sample: Sample | None = None,
    *,
    window: int = WINDOW,
    settings: Settings | None = None,
    on_progress: OnProgress | None = None,
) -> Demo:
    """Runs the sample day in a window of so many tokens. Deterministic; no network, no model.

    Raises UserMistake for a window under the smallest.
    """
    sample = sample or sample_session()
    seen: list[InView] = []

    def look(projected: Projected) -> None:
        if not seen or seen[-1].window != projected.window.number:
            held = _holding(sample, projected.upto_seq)
            missing = _missing(held, request_text(projected.request))
            seen.append(InView(projected.window.number, len(held), missing))

    done = await replay(sample.messages, window=window, settings=settings, on_progress=on_progress, on_request=look)
    return Demo(sample, done, tuple(seen), tuple(_other(sample, done, name) for name in _OTHERS))


def _holding(sample: Sample, upto: int) -> tuple[Fact, ...]:
    """What has been said by then and not been taken back."""
    return tuple(fact for fact in sample.facts if fact.seq <= upto and (fact.void_after is None or upto < fact.void_after))


def _missing(held: tuple[Fact, ...], text: str) -> tuple[Fact, ...]:
    return tuple(fact for fact in held if fact.text not in text)


def _other(sample: Sample, done: Replay, name: Strategy) -> Other:
    cuts = [one for one in done.windows if one.kind != "start"]
    lost: set[str] = set()
    for one in cuts:
        text = VIEWS[name](sample.messages, one.opened_at_seq, one.level_after).text
        lost |= {fact.name for fact in _missing(_holding(sample, one.opened_at_seq), text)}
    trigger = done.windows[0].trigger
    share = sum(one.level_after for one in cuts) / len(cuts) / trigger if cuts else 1.0
    cost = strategy_cost(sample.messages, name, trigger, share, 0, done.cost.rule)
    return Other(name, cost.units, len(sample.facts) - len(lost), len(sample.facts))


def as_json(demo: Demo, window: int) -> dict[str, Any]:
    """The documented JSON of the demonstration."""
    done = demo.replay
    return {
        "tokens": done.tokens,
        "steps": done.steps,
        "window": window,
        "windows": [msgspec.to_builtins(one) for one in done.windows],
        "facts": {"asked": len(demo.sample.facts), "visible": demo.kept, "windows": len(done.windows)},
        "in_view": [
            {"window": seen.window, "asked": seen.asked, "visible": seen.asked - len(seen.missing)} for seen in demo.in_view
        ],
        "missing": [{"fact": fact.text, "kind": fact.kind, "windows": list(where)} for fact, where in demo.missing],
        "cost": msgspec.to_builtins(done.cost),
        "continuity": continuity_of(done),
        "others": [msgspec.to_builtins(other) for other in demo.others],
    }
