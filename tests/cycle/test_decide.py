import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.config import Compaction, Settings
from sojourn.cycle import (
    Decision,
    Fire,
    Lines,
    Policy,
    Situation,
    decide,
    draw_lines,
    recovery_gate,
    tiers_at_or_below,
)

LINES = draw_lines(200_000, output_cap=None, settings=Settings())  # hard 190,000, trigger 180,000, tiers 36/72/108/144
ALL = LINES.tiers


def at(level: int, **more: object) -> Situation:
    """A situation in which every tier is consumed, so that only what is named can act."""
    return Situation(**{"level": level, "lines": LINES, "consumed": ALL, "since_mark": 50_000} | more)  # type: ignore[arg-type]


def thrifty(policy: Policy) -> Lines:
    return msgspec.structs.replace(LINES, policy=policy)


# C-8: the trigger


@pytest.mark.design("C-5", "C-8")
@pytest.mark.parametrize(
    ("level", "then"), [(0, "send"), (179_999, "send"), (180_000, "open"), (190_001, "open"), (500_000, "open")]
)
def test_the_trigger_switches_windows(level: int, then: str) -> None:
    assert decide(at(level)) == Decision(then, "usage" if then == "open" else "")  # type: ignore[arg-type]


@pytest.mark.design("C-8")
@pytest.mark.parametrize(("level", "then"), [(179_999, "send"), (180_000, "compact")])
def test_a_child_is_compacted(level: int, then: str) -> None:
    assert decide(at(level, child=True)).then == then


@pytest.mark.design("C-14")
@pytest.mark.report(20)
@pytest.mark.parametrize("child", [False, True])
@pytest.mark.parametrize("recovered", [False, True])
@pytest.mark.parametrize("level", [180_000, 190_001, 400_000])
def test_auto_off_is_off_on_every_path(child: bool, recovered: bool, level: int) -> None:
    assert decide(at(level, auto=False, child=child, recovered=recovered)).then == "send"


@pytest.mark.design("C-14")
def test_auto_off_leaves_the_tiers() -> None:
    assert decide(at(200_000, auto=False, consumed=())) == Decision("send", fire=Fire(200_000, ALL, True))
    assert decide(at(40_000, auto=False, consumed=(), writer_running=True)) == Decision("send")


@pytest.mark.design("W-12")
@pytest.mark.parametrize(("level", "then"), [(180_000, "send"), (189_999, "send"), (190_000, "open"), (250_000, "open")])
def test_after_an_undo_only_the_hard_line_switches(level: int, then: str) -> None:
    assert decide(at(level, window_undone=True)).then == then


# C-6: usage that was answered


@pytest.mark.design("C-6")
@pytest.mark.report(19, 15)
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (179_999, Decision("send")),
        (180_000, Decision("cut_incoming", "usage")),
        (190_000, Decision("cut_incoming", "usage")),
        (190_001, Decision("recover", "over_hard")),
    ],
)
def test_one_usage_record_opens_one_window(level: int, expected: Decision) -> None:
    assert decide(at(level, recovered=True, consumed=())) == expected
    assert decide(at(level, recovered=True, child=True)) == expected


@pytest.mark.design("C-6")
def test_recovered_skips_tiers() -> None:
    got = decide(at(150_000, recovered=True, consumed=(), writer_running=True))
    assert got.fire is None


@pytest.mark.design("C-6", "W-12")
def test_recovered_after_an_undo_cuts_at_the_hard_line() -> None:
    assert decide(at(189_999, recovered=True, window_undone=True)).then == "send"
    assert decide(at(190_000, recovered=True, window_undone=True)).then == "cut_incoming"


# C-7: tiers


@pytest.mark.design("C-7")
@pytest.mark.parametrize(
    ("level", "tiers"),
    [(35_999, ()), (36_000, ALL[:1]), (71_999, ALL[:1]), (72_000, ALL[:2]), (143_999, ALL[:3]), (144_000, ALL), (179_999, ALL)],
)
def test_several_tiers_make_one_writer(level: int, tiers: tuple[int, ...]) -> None:
    got = decide(at(level, consumed=()))
    assert got.fire == (Fire(level, tiers, tiers == ALL) if tiers else None)
    assert got.then == "send"


@pytest.mark.design("C-7")
def test_consumed_tiers_do_not_fire_again() -> None:
    assert decide(at(110_000, consumed=ALL[:3])).fire is None
    assert decide(at(110_000, consumed=ALL[:1])).fire == Fire(110_000, ALL[1:3], False)
    assert decide(at(150_000, consumed=ALL[:3])).fire == Fire(150_000, ALL[3:], True)


@pytest.mark.design("C-7")
@pytest.mark.parametrize(("switch", "value"), [("child", True), ("checkpoints", False)])
def test_no_writer_for_children_and_with_writing_off(switch: str, value: bool) -> None:
    for running in (False, True):
        got = decide(at(150_000, consumed=(), gate=150_000, writer_running=running, **{switch: value}))
        assert got == Decision("send")


@pytest.mark.design("C-7")
def test_while_a_writer_runs_no_other_one_starts() -> None:
    assert decide(at(40_000, consumed=(), writer_running=True)) == Decision("send")
    assert decide(at(40_000, consumed=())) == Decision("send", fire=Fire(40_000, ALL[:1], False))


@pytest.mark.design("C-7")
@pytest.mark.parametrize(
    ("trigger", "since_mark", "fires"),
    [
        (180_000, 17_999, False),
        (180_000, 18_000, True),
        (40_000, 4_000, True),
        (40_000, 3_999, False),
        (30_000, 3_999, False),
        (30_000, 4_000, True),
    ],
)
def test_a_writer_needs_something_to_write_about(trigger: int, since_mark: int, fires: bool) -> None:
    lines = msgspec.structs.replace(LINES, trigger=trigger, tiers=(20_000,))
    got = decide(Situation(level=25_000, lines=lines, since_mark=since_mark))
    assert (got.fire is not None) == fires


@pytest.mark.design("C-7", "C-8")
def test_a_jump_over_everything_starts_a_writer_and_opens() -> None:
    assert decide(at(185_000, consumed=())) == Decision("open", "usage", fire=Fire(185_000, ALL, True))
    assert decide(at(185_000, consumed=(), writer_running=True)) == Decision("open", "usage")


@pytest.mark.design("C-7")
def test_no_tiers_no_writer() -> None:
    none = msgspec.structs.replace(LINES, tiers=())
    assert decide(at(150_000, lines=none, consumed=(), gate=100_000)) == Decision("send")


# C-7: the gate


@pytest.mark.design("C-7")
@pytest.mark.parametrize(("level", "fires"), [(164_999, False), (165_000, True), (170_000, True)])
def test_at_the_gate_the_last_tier_fires_again(level: int, fires: bool) -> None:
    assert decide(at(level, gate=165_000)).fire == (Fire(level, ALL[-1:], True) if fires else None)
    assert decide(at(level)).fire is None


@pytest.mark.design("C-7", "C-17")
@pytest.mark.parametrize(("consumed", "again"), [(1, 0), (2, 1), (3, 2), (4, 3)])
def test_at_the_gate_of_a_run_that_was_stopped_its_own_tier_fires_again(consumed: int, again: int) -> None:
    level = ALL[consumed - 1] + 100
    got = decide(at(level, consumed=ALL[:consumed], gate=level)).fire
    assert got == Fire(level, (ALL[again],), again == 3), "no later tier is used up by it"


@pytest.mark.design("C-7")
def test_the_gate_waits_for_a_running_writer_and_for_something_new() -> None:
    assert decide(at(165_000, gate=165_000, writer_running=True)) == Decision("send")
    assert decide(at(165_000, gate=165_000, since_mark=17_999)) == Decision("send")


@pytest.mark.design("C-7")
def test_gate_and_fresh_tiers_name_the_last_one_once() -> None:
    assert decide(at(165_000, gate=150_000, consumed=ALL[:2])).fire == Fire(165_000, ALL[2:], True)


@pytest.mark.design("C-7")
@pytest.mark.parametrize(
    ("level", "gate"),
    [
        (100_000, 136_000),
        (130_999, 166_999),
        (131_000, 167_000),
        (131_001, 167_000),
        (166_999, 167_000),
        (167_000, None),
        (170_000, None),
    ],
)
def test_the_gate_lies_one_tier_further_below_the_cap(level: int, gate: int | None) -> None:
    assert recovery_gate(level, LINES) == gate


@pytest.mark.design("C-7")
def test_the_gate_heeds_the_reserve() -> None:
    assert recovery_gate(150_000, LINES, reserved="20K") == 160_000
    assert recovery_gate(150_000, LINES, reserved=0) == 180_000


@pytest.mark.design("C-7")
def test_the_gate_of_a_single_tier_and_of_none() -> None:
    single = msgspec.structs.replace(LINES, tiers=(60_000,))
    assert recovery_gate(70_000, single) == 130_000
    assert recovery_gate(70_000, msgspec.structs.replace(LINES, tiers=(20_000, 60_000))) == 110_000
    assert recovery_gate(70_000, msgspec.structs.replace(LINES, tiers=())) is None


@pytest.mark.design("C-7", "C-12")
@pytest.mark.report(70)
@pytest.mark.parametrize(("level", "tiers"), [(0, ()), (35_999, ()), (36_000, ALL[:1]), (108_000, ALL[:3]), (200_000, ALL)])
def test_an_opening_consumes_what_lies_below_it(level: int, tiers: tuple[int, ...]) -> None:
    assert tiers_at_or_below(level, LINES) == tiers


# C-15: the cold cache


def cold(level: int, policy: Policy = "economy", **more: object) -> Decision:
    return decide(at(level, **{"lines": thrifty(policy), "usable_checkpoint": True, "cache_expired": True} | more))


@pytest.mark.design("C-15", "N7")
@pytest.mark.parametrize("policy", ["balanced", "economy"])
def test_a_cold_cache_opens_a_window_above_half(policy: Policy) -> None:
    assert cold(90_001, policy) == Decision("open", "cold_cache")
    assert cold(90_000, policy) == Decision("send")
    assert cold(180_000, policy) == Decision("open", "usage")


@pytest.mark.design("C-15")
@pytest.mark.parametrize(
    "missing",
    [
        {"usable_checkpoint": False},
        {"cache_expired": False},
        {"policy": "full"},
        {"child": True},
        {"checkpoints": False},
        {"auto": False},
        {"recovered": True},
        {"window_undone": True},
    ],
)
def test_a_cold_cache_needs_everything(missing: dict[str, object]) -> None:
    assert cold(150_000, **missing) == Decision("send")  # type: ignore[arg-type]


@pytest.mark.design("C-15", "C-7")
def test_a_cold_cache_starts_no_writer_of_its_own() -> None:
    assert cold(100_000).fire is None
    assert cold(150_000, consumed=ALL[:3]) == Decision("open", "cold_cache", fire=Fire(150_000, ALL[3:], True))


# Whatever happens


def situations() -> st.SearchStrategy[Situation]:
    def build(effective: int, policy: Policy, share: float, consumed: int, gate: int | None, flags: list[bool]) -> Situation:
        lines = draw_lines(effective, output_cap=None, settings=Settings(compaction=Compaction(policy=policy)))
        return Situation(
            level=int(effective * share),
            lines=lines,
            consumed=lines.tiers[:consumed],
            gate=gate,
            since_mark=int(effective * share / 2),
            recovered=flags[0],
            child=flags[1],
            writer_running=flags[2],
            checkpoints=flags[3],
            auto=flags[4],
            window_undone=flags[5],
            usable_checkpoint=flags[6],
            cache_expired=flags[7],
        )

    return st.builds(
        build,
        st.integers(8_000, 2_000_000),
        st.sampled_from(["full", "balanced", "economy"]),
        st.floats(0, 1.5),
        st.integers(0, 18),
        st.none() | st.integers(0, 2_000_000),
        st.lists(st.booleans(), min_size=8, max_size=8),
    )


@pytest.mark.design("C-2", "C-6", "C-7", "C-14")
@pytest.mark.report(19, 20)
@settings(max_examples=100, deadline=None)
@given(situations())
def test_what_always_holds(s: Situation) -> None:
    got = decide(s)
    if s.auto and s.level > s.lines.hard:
        assert got.then in ("open", "compact", "recover")  # above hard no request is sent
    if not s.auto:
        assert got.then == "send"
    if s.recovered:
        assert got.then in ("send", "cut_incoming", "recover")
        assert got.fire is None
    if s.child:
        assert got.then != "open"
    if s.child or not s.checkpoints:
        assert got.fire is None
    if got.fire is not None:
        assert not s.writer_running
        assert got.fire.tiers == tuple(sorted(set(got.fire.tiers)))
        assert set(got.fire.tiers) <= set(s.lines.tiers)
    assert bool(got.reason) == (got.then != "send")
