"""Who may write what (Y-2, reports 81, 85, 86)."""

from typing import get_args

import pytest

from memory.shelf import CHECKPOINT, GLOBAL, MEMORY, NOTES, OTHER_PROJECT, OTHER_SESSION, OWN, PROGRESS, PROJECT, SESSION
from sojourn.memory import Belonging, Locator, Who, layout
from sojourn.memory.gate import Act, not_its_own, refusal

ACTS: tuple[Act, ...] = get_args(Act)
FACT = layout.fact("project", PROJECT, "x")
GLOBAL_FACT = layout.fact("global", "", "x")
OWN_DOCUMENTS = (NOTES, PROGRESS, MEMORY, FACT, GLOBAL, GLOBAL_FACT)
FOREIGN = (
    layout.notes(OTHER_SESSION),
    layout.progress(OTHER_SESSION, "T1"),
    layout.project_memory(OTHER_PROJECT),
    layout.fact("project", OTHER_PROJECT, "x"),
)


def allowed(who: Who, locator: Locator, task_id: str = "") -> set[str]:
    return {act for act in ACTS if not refusal(who, act, locator, OWN, task_id)}


@pytest.mark.design("Y-2")
def test_a_person_may_write_everything_but_the_rendering() -> None:
    assert [one for one in OWN_DOCUMENTS if allowed("user", one) != set(ACTS)] == []
    assert allowed("user", CHECKPOINT) == set()
    assert all(not refusal("user", act, one, None) for act in ACTS for one in (*OWN_DOCUMENTS, *FOREIGN))
    assert "rendering" in refusal("user", "write", CHECKPOINT, None)


@pytest.mark.design("Y-2")
def test_an_agent_writes_notes_and_memory() -> None:
    assert [one for one in (NOTES, MEMORY, FACT, GLOBAL, GLOBAL_FACT) if allowed("agent", one) != set(ACTS)] == []
    assert allowed("agent", PROGRESS) == allowed("agent", CHECKPOINT) == set()
    assert "actor" in refusal("agent", "append", PROGRESS, OWN)


@pytest.mark.design("Y-2", "K-12", "K-13")
@pytest.mark.report(81, 86)
def test_a_writer_never_writes_the_whole() -> None:
    assert allowed("writer", NOTES) == {"take_out"}
    assert allowed("writer", MEMORY) == allowed("writer", FACT) == {"append", "edit"}
    assert [one for one in (PROGRESS, CHECKPOINT, GLOBAL, GLOBAL_FACT) if allowed("writer", one)] == []


@pytest.mark.design("Y-2")
def test_a_sub_agent_writes_the_progress_of_its_task() -> None:
    assert allowed("subagent", PROGRESS, "T1") == {"append", "edit", "write"}
    assert allowed("subagent", layout.progress(SESSION, "T1.1"), "T1") == set()
    assert allowed("subagent", PROGRESS, "T2") == allowed("subagent", PROGRESS) == set()
    assert [one for one in (NOTES, MEMORY, FACT, GLOBAL, CHECKPOINT) if allowed("subagent", one, "T1")] == []


@pytest.mark.design("Y-2")
@pytest.mark.report(85)
@pytest.mark.parametrize("who", get_args(Who))
def test_nobody_writes_into_another_session_or_project(who: Who) -> None:
    for locator in FOREIGN:
        assert allowed(who, locator, "T1") == set()
        assert "belongs to another" in refusal(who, "append", locator, OWN, "T1")
    if who != "user":
        assert all(refusal(who, act, one, None, "T1") for act in ACTS for one in OWN_DOCUMENTS)


@pytest.mark.design("Y-1", "Y-2")
@pytest.mark.report(85)
def test_what_a_session_may_look_at() -> None:
    assert [one for one in (*OWN_DOCUMENTS, CHECKPOINT) if not_its_own(one, OWN)] == []
    assert "another session" in not_its_own(FOREIGN[0], OWN)
    assert "another project" in not_its_own(FOREIGN[2], OWN)
    assert not_its_own(layout.project_memory(f"{PROJECT}/"), OWN) == ""  # the same folder
    assert not_its_own(MEMORY, Belonging(SESSION, "")) == "it belongs to another project"
