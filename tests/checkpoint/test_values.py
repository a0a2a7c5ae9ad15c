"""Values that the assistant set, and commits that it made."""

from typing import Any

import pytest

from checkpoint.telling import calls, edits, found, reads, record, runs, texts, user
from sojourn.base import ItemStatus, Section
from sojourn.checkpoint import MARK
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.extract.values import values
from sojourn.record import Message, Touch


def _set(*messages: Message) -> list[tuple[str, float]]:
    return [(one.text, one.weight) for one in values(gather(record(*messages)))]


def _call(name: str, path: str, **arguments: Any) -> Message:
    return calls(name, "ok", touches=(Touch(path, "edit"),), **arguments)


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("path", "new", "line"),
    [
        ("lib/pool.py", "POOL_SIZE = 22", "POOL_SIZE = 22"),
        ("lib/pool.py", "x\n  POOL_SIZE: Final[int] = 22  # workers\ny", "POOL_SIZE: Final[int] = 22 # workers"),
        ("lib/pool.go", "const POOL_SIZE = 22", "const POOL_SIZE = 22"),
        ("lib/pool.go", "\tPOOL_SIZE := 22", "POOL_SIZE := 22"),
        ("lib/pool.ts", "export const MODE = 'fast';", "export const MODE = 'fast';"),
        ("app.yaml", "  shardCount: 12", "shardCount: 12"),
        ("app.yaml", "image: web:v12", "image: web:v12"),
        ("app.toml", "new_ranker = true", "new_ranker = true"),
        ("app.json", '  "limit": 40,', '"limit": 40'),
        (".env", "REGION=eu-2", "REGION=eu-2"),
        ("配置.yaml", "上限说明: x\nlimit: 30", "limit: 30"),
    ],
)
def test_a_changed_value_is_kept_with_its_file(path: str, new: str, line: str) -> None:
    assert _set(edits(path, new=new)) == [(f"`{path}`: {line}", 1.6)]
    assert f"`{path}`: {line}" in texts(found(user("go"), edits(path, new=new)), Section.KNOWLEDGE)


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("a.py", "count = 22"),
        ("a.py", "POOL_SIZE = compute(22)"),
        ("a.py", "AB = 22"),
        ("a.yaml", "pool:"),
        ("a.yaml", "text: several words here"),
    ],
)
def test_other_lines_set_no_value(path: str, new: str) -> None:
    assert _set(edits(path, new=new)) == []


@pytest.mark.design("K-10")
def test_only_what_changed_counts_and_only_where_it_worked() -> None:
    assert _set(edits("a.py", old="LIMIT = 4\nOTHER = 5", new="LIMIT = 4\nOTHER = 6")) == [("`a.py`: OTHER = 6", 1.6)]
    assert _set(reads("a.py", "LIMIT = 4")) == []
    failed = calls("Edit", "no", failed=True, file_path="a.py", old_string="x", new_string="LIMIT = 4")
    assert _set(failed) == []


@pytest.mark.design("K-10")
def test_the_newest_value_of_a_name_in_a_file_stands() -> None:
    changes = [edits("a.py", new="LIMIT = 4"), edits("b.py", new="LIMIT = 5"), edits("a.py", new="LIMIT = 6")]
    assert [text for text, _ in _set(*changes)] == ["`b.py`: LIMIT = 5", "`a.py`: LIMIT = 6"]


@pytest.mark.design("K-2", "K-10")
def test_a_newer_value_supersedes_the_present_item_of_the_same_name_and_file() -> None:
    first = found(
        user("go"), edits("a.py", new="LIMIT = 4"), edits("a.yaml", new="limit: 4"), edits("b.py", new="export LIMIT = 7")
    )
    second = found(
        edits("a.py", new="LIMIT = 6"),
        edits("b.py", new="LIMIT: int = 9"),
        edits("c.yaml", new="limit: 5"),
        items=first,
        after=4,
    )
    now = texts(second, Section.KNOWLEDGE)
    gone = texts(second, Section.KNOWLEDGE, ItemStatus.SUPERSEDED)
    assert {"`a.py`: LIMIT = 6", "`a.yaml`: limit: 4", "`b.py`: LIMIT: int = 9", "`c.yaml`: limit: 5"} <= set(now)
    assert {"`a.py`: LIMIT = 4", "`b.py`: export LIMIT = 7"} <= set(gone)


@pytest.mark.design("K-10")
def test_a_list_of_values_is_data_and_a_whole_file_weighs_less() -> None:
    def rows(count: int) -> str:
        return "\n".join(f"KEY_{i} = {i}" for i in range(count))

    assert [weight for _, weight in _set(edits("a.py", new=rows(4)))] == [1.6] * 4
    assert [weight for _, weight in _set(edits("a.py", new=rows(8)))] == [0.8] * 8
    whole = calls("Write", "ok", touches=(Touch("a.py", "write"),), file_path="a.py", content="LIMIT = 4")
    assert _set(whole) == [("`a.py`: LIMIT = 4", 0.25)]


@pytest.mark.design("K-10")
def test_edits_in_a_list_and_patches() -> None:
    many = _call("MultiEdit", "a.py", edits=[{"old_string": "A", "new_string": "LIMIT = 4"}, {"newText": "DEPTH = 5"}])
    assert [text for text, _ in _set(many)] == ["`a.py`: LIMIT = 4", "`a.py`: DEPTH = 5"]
    patch = "*** Update File: a.py\n@@\n-LIMIT = 4\n-DEPTH = 5\n+LIMIT = 6\n+DEPTH = 5\n"
    for key in ("patch", "input"):
        assert [text for text, _ in _set(_call("apply_patch", "a.py", **{key: patch}))] == ["`a.py`: LIMIT = 6"]


@pytest.mark.design("K-6")
def test_a_secret_that_was_set_does_not_pass() -> None:
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    ((text, _),) = _set(edits("a.py", new=f'KEY_NAME = "{secret}"'))
    assert secret not in text
    assert MARK in text


@pytest.mark.design("K-10")
def test_a_commit_is_something_done() -> None:
    made = runs('git commit -m "lanes: one lock"', "[topic/lanes 7be91d0] lanes: one lock\n 2 files changed")
    assert texts(found(user("go"), made), Section.FRONTIER) == ["done: [topic/lanes 7be91d0] lanes: one lock"]
    first = runs("git commit -am x", "[main (root-commit) 7be91d0c] 初始版本")
    assert texts(found(user("go"), first), Section.FRONTIER) == ["done: [main (root-commit) 7be91d0c] 初始版本"]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    "message",
    [
        runs("cat log", "[main 7be91d0] lanes"),
        runs("git commit -m x", "[main 7be91d0] lanes\nExit code 1", failed=True),
        runs("git commit -m x", "see [main 7be91d0] lanes"),
        runs("git commit -m x", "[main 7be91] lanes"),
    ],
)
def test_other_output_is_no_commit(message: Message) -> None:
    assert texts(found(user("go"), message), Section.FRONTIER) == []
