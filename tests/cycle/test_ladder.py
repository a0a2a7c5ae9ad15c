import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.cycle import LadderState, Step, next_step

READY = LadderState(trigger=180_000, has_checkpoint=True, usable_checkpoint=True, has_model=True)
NONE = LadderState(trigger=180_000, has_model=True)
REBUILD = Step("rebuild", "rebuilt")
EXTRACT = Step("extract", "extracted")


def but(state: LadderState, **changes: object) -> LadderState:
    return msgspec.structs.replace(state, **changes)


@pytest.mark.design("C-9")
@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("model", [False, True])
@pytest.mark.parametrize("trigger", [7_000, 180_000])
def test_a_usable_checkpoint_is_taken_without_waiting(manual: bool, running: bool, model: bool, trigger: int) -> None:
    assert next_step(but(READY, manual=manual, writer_running=running, has_model=model, trigger=trigger)) == REBUILD


@pytest.mark.design("C-9", "C-13")
@pytest.mark.parametrize(("manual", "wait"), [(False, 180_000), (True, 300_000)])
def test_without_one_it_is_written_or_waited_for(manual: bool, wait: int) -> None:
    assert next_step(but(NONE, manual=manual)) == Step("write", "started", wait=wait)
    assert next_step(but(NONE, manual=manual, writer_running=True)) == Step("wait", "started", wait=wait)
    assert next_step(but(NONE, manual=manual, has_checkpoint=True)) == Step("write", "started", wait=wait)


@pytest.mark.design("C-9")
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("changes", [{"trigger": 24_999}, {"has_model": False}, {"writer_fits": False}])
def test_small_windows_and_no_model_are_extracted_at_once(changes: dict[str, object], running: bool) -> None:
    assert next_step(but(NONE, writer_running=running, **changes)) == EXTRACT
    assert next_step(but(NONE, writer_running=running, manual=True, **changes)) == EXTRACT


@pytest.mark.design("C-9")
def test_from_25_000_a_writer_is_worth_it() -> None:
    assert next_step(but(NONE, trigger=25_000)).rung == "write"


@pytest.mark.design("C-9")
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("usable", [False, True])
def test_what_comes_of_a_writer(running: bool, usable: bool) -> None:
    after = but(NONE, writer_running=running, has_checkpoint=usable, usable_checkpoint=usable)
    assert next_step(but(after, tried=("written",))) == REBUILD
    failed, late = next_step(but(after, tried=("write_failed",))), next_step(but(after, tried=("wait_expired",)))
    if usable:  # another process's writer, or one that settled just after the wait
        assert failed == late == REBUILD
    else:
        assert failed == Step("extract", "extracted", notice="write_failed")
        assert late == Step("extract", "extracted", notice="wait_expired")


@pytest.mark.design("C-9")
def test_a_second_result_counts_as_well() -> None:
    assert next_step(but(NONE, tried=("wait_expired", "written"))) == REBUILD
    assert next_step(but(NONE, tried=("wait_expired", "write_failed"))).notice == "write_failed"


@pytest.mark.design("C-8", "C-9", "C-14")
@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("base", [READY, NONE])
def test_children_are_compacted(base: LadderState, manual: bool) -> None:
    for off in ({}, {"checkpoint_enabled": False}, {"memory_writable": False}):
        assert next_step(but(base, child=True, manual=manual, **off)) == Step("compact", "compacted")


@pytest.mark.design("C-14")
@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize(
    "base", [READY, NONE, but(NONE, has_model=False), but(NONE, trigger=9_000), but(NONE, tried=("written",))]
)
def test_checkpoints_off_means_no_writer_and_no_rebuild(base: LadderState, manual: bool, writable: bool, running: bool) -> None:
    state = but(base, checkpoint_enabled=False, manual=manual, memory_writable=writable, writer_running=running)
    assert next_step(state) == Step("compact", "checkpoint_off", notice="checkpoint_off")


@pytest.mark.design("C-14")
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize(
    "base", [READY, NONE, but(NONE, has_model=False), but(NONE, trigger=9_000), but(NONE, tried=("written",))]
)
def test_memory_writing_off_compacts_past_the_trigger(base: LadderState, running: bool) -> None:
    state = but(base, memory_writable=False, writer_running=running)
    assert next_step(state) == Step("compact", "writing_off", notice="writing_off")


@pytest.mark.design("C-14")
def test_by_hand_an_old_checkpoint_is_rebuilt_from_and_marked_stale() -> None:
    stale = Step("rebuild", "rebuilt", notice="checkpoint_stale")
    assert next_step(but(READY, memory_writable=False, manual=True)) == stale
    assert next_step(but(NONE, memory_writable=False, manual=True, has_checkpoint=True)) == stale
    assert next_step(but(NONE, memory_writable=False, manual=True)) == Step("compact", "writing_off", notice="writing_off")


@pytest.mark.design("C-9")
@pytest.mark.report(15, 17)
@settings(max_examples=100, deadline=None)
@given(
    st.builds(
        LadderState,
        trigger=st.integers(0, 2_000_000),
        child=st.booleans(),
        manual=st.booleans(),
        checkpoint_enabled=st.booleans(),
        memory_writable=st.booleans(),
        has_checkpoint=st.booleans(),
        usable_checkpoint=st.booleans(),
        has_model=st.booleans(),
        writer_fits=st.booleans(),
        writer_running=st.booleans(),
        tried=st.lists(st.sampled_from(["written", "write_failed", "wait_expired"]), max_size=2).map(tuple),
    ),
    st.lists(st.tuples(st.sampled_from(["written", "write_failed", "wait_expired"]), st.booleans()), min_size=3, max_size=3),
)
def test_the_ladder_always_ends(state: LadderState, results: list[tuple[str, bool]]) -> None:
    for result, running in results:
        step = next_step(state)
        if step.rung in ("rebuild", "extract", "compact"):
            assert step.wait == 0
            assert step.outcome in ("rebuilt", "extracted", "compacted", "checkpoint_off", "writing_off")
            return
        assert step.outcome == "started"
        assert step.wait > 0
        assert (step.rung == "wait") == state.writer_running
        state = but(state, tried=(*state.tried, result), writer_running=running)
    pytest.fail(f"no end within 3 steps: {state}")
