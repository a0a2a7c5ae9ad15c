"""The demonstration tells what its requests hold, and a fact that is not there is named."""

import asyncio
import time

import msgspec
import pytest

from sojourn.lab import demo as lab
from sojourn.lab.demo import Demo, InView, as_json, demonstrate
from sojourn.lab.sample import Fact, Sample, sample_session
from sojourn.lab.strategies import VIEWS, strategy_cost
from sojourn.wire import About, CallPart, ModelRequest, RequestSettings, ResultPart, SystemBlock, TextPart, WireMessage

pytestmark = pytest.mark.design("T-6")

SAMPLE = sample_session()


@pytest.fixture(scope="module")
def demo() -> Demo:
    started = time.process_time()
    made = asyncio.run(demonstrate(SAMPLE))
    assert time.process_time() - started < 20
    return made


def fact(name: str, seq: int, void_after: int | None = None) -> Fact:
    return Fact(name=name, text=f"text of {name}", seq=seq, kind="value", void_after=void_after)


def test_it_passes_through_windows_without_going_over(demo: Demo) -> None:
    assert len(demo.replay.windows) >= 4
    assert demo.replay.over_hard == 0
    assert [window.number for window in demo.replay.windows] == [seen.window for seen in demo.in_view]
    assert demo.replay.windows[0].kind == "start"
    assert all(window.hard == 38_000 for window in demo.replay.windows)


def test_what_is_asked_is_what_was_said_and_not_taken_back(demo: Demo) -> None:
    opened = {window.number: window.opened_at_seq for window in demo.replay.windows}
    for seen in demo.in_view:
        upto = opened[seen.window]
        held = [f for f in SAMPLE.facts if f.seq <= upto and (f.void_after is None or upto < f.void_after)]
        assert seen.asked == len(held)
        assert {f.name for f in seen.missing} <= {f.name for f in held}


def test_it_is_the_same_at_every_run(demo: Demo) -> None:
    again = asyncio.run(demonstrate(SAMPLE))
    assert as_json(again, 40_000) == as_json(demo, 40_000)


def test_kept_and_missing_are_counted_by_fact(demo: Demo) -> None:
    second, third = SAMPLE.facts[1:3]
    seen = (InView(2, 5, (second,)), InView(3, 9, (third, second)), InView(4, 9, ()))
    made = msgspec.structs.replace(demo, in_view=seen)
    assert made.missing == ((second, (2, 3)), (third, (3,)))
    assert made.kept == len(SAMPLE.facts) - 2
    assert msgspec.structs.replace(demo, in_view=(InView(1, 1, ()),)).kept == len(SAMPLE.facts)
    row = as_json(made, 40_000)
    assert row["facts"] == {"asked": 24, "visible": 22, "windows": len(demo.replay.windows)}
    assert [(one["fact"], one["windows"]) for one in row["missing"]] == [(second.text, [2, 3]), (third.text, [3])]
    assert row["in_view"][1] == {"window": 3, "asked": 9, "visible": 7}


def test_holding_at_its_boundaries() -> None:
    sample = Sample("t", (), (fact("a", 5), fact("b", 6), fact("c", 1, void_after=5), fact("d", 1, void_after=6)))
    assert [f.name for f in lab._holding(sample, 5)] == ["a", "d"]
    assert [f.name for f in lab._holding(sample, 4)] == ["c", "d"]
    assert [f.name for f in lab._holding(sample, 6)] == ["a", "b"]


def test_the_text_of_a_request_is_all_that_the_model_reads() -> None:
    about = About("user")
    request = ModelRequest(
        system=(SystemBlock("from system", about),),
        tools=(),
        messages=(
            WireMessage("user", (TextPart("from user", about),)),
            WireMessage("assistant", (CallPart("c1", "read", {"path": "from call", "n": 7}, about),)),
            WireMessage("user", (ResultPart("c1", "read", (TextPart("from result", about),), False, about),)),
        ),
        settings=RequestSettings(model="m"),
    )
    assert lab.request_text(request) == "from system\nfrom user\nfrom call\n7\nfrom result"


def test_a_fact_out_of_view_is_found_out(demo: Demo) -> None:
    """The check itself: what stands nowhere is missing in every window, what was said in the first message is asked."""
    false = Fact(name="false", text="never said by anyone", seq=1, kind="value")
    sample = msgspec.structs.replace(SAMPLE, facts=(*SAMPLE.facts, false))
    made = asyncio.run(demonstrate(sample))
    numbers = tuple(window.number for window in made.replay.windows)
    assert {f.name: where for f, where in made.missing}["false"] == numbers
    assert made.kept == demo.kept


@pytest.mark.design("N9")
def test_the_other_strategies_are_cut_at_the_same_places_to_the_same_size(demo: Demo) -> None:
    assert [other.name for other in demo.others] == ["drop_oldest", "keep_last"]
    cuts = demo.replay.windows[1:]
    for other in demo.others:
        lost = set()
        for cut in cuts:
            text = VIEWS[other.name](SAMPLE.messages, cut.opened_at_seq, cut.level_after).text
            lost |= {f.name for f in lab._holding(SAMPLE, cut.opened_at_seq) if f.text not in text}
        assert (other.visible, other.asked) == (len(SAMPLE.facts) - len(lost), len(SAMPLE.facts))
        share = sum(cut.level_after for cut in cuts) / len(cuts) / demo.replay.windows[0].trigger
        wanted = strategy_cost(SAMPLE.messages, other.name, demo.replay.windows[0].trigger, share, 0)  # type: ignore[arg-type]
        assert other.units == wanted.units
        assert other.visible < demo.kept


def test_a_window_that_holds_the_whole_day_needs_no_cut() -> None:
    made = asyncio.run(demonstrate(SAMPLE, window=1_000_000))
    row = as_json(made, 1_000_000)
    assert row["facts"] == {"asked": 24, "visible": 24, "windows": 1}
    assert row["missing"] == []
    assert row["continuity"]["sojourn"] == {"recall": None, "asked": 0, "visible": 0, "opening_tokens": 0}
    assert all(other.visible == 24 for other in made.others)
