"""Whatever the files are: what was taken is put back (W-12)."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.kept_files import picture, snapshots, take
from sojourn.agent.snapshot_types import Facts, decode_facts, encode_facts, shown

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


_PATHS = st.sampled_from(["a", "b", "c d", "d/a", "d/e/f", "d/e", "名/字", "名", "-x"])


_STATES = st.dictionaries(
    _PATHS,
    st.one_of(
        st.tuples(st.just("file"), st.binary(max_size=20), st.sampled_from([0o644, 0o755, 0o600])),
        st.tuples(st.just("link"), st.sampled_from([b"a", b"/etc/passwd", b"../x"]), st.just(0)),
    ),
    max_size=7,
)


def _make(work: Path, wanted: dict[str, tuple[str, bytes, int]]) -> None:
    for entry in work.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name, (kind, content, bits) in sorted(wanted.items()):
        path = work / name
        if any(parent.is_symlink() or parent.is_file() for parent in path.parents) or os.path.lexists(path):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)
            path.chmod(bits)


@pytest.mark.design("W-12")
@given(one=_STATES, two=_STATES)
@settings(max_examples=40, deadline=None)
def test_from_any_state_to_any_other_and_back(tmp_path_factory: pytest.TempPathFactory, one: dict, two: dict) -> None:
    work = tmp_path_factory.mktemp("any") / "work"
    work.mkdir()
    shots = snapshots(work.resolve())
    _make(work, one)
    first, before = take(shots), picture(work)
    _make(work, two)
    second, after = take(shots), picture(work)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert picture(work) == before
    asyncio.run(shots.restore(first.tree, second.tree))
    assert picture(work) == after


@pytest.mark.design("W-12")
@given(
    st.dictionaries(st.binary(min_size=1, max_size=8).filter(lambda b: b"\0" not in b), st.integers(0, 0o777)),
    st.dictionaries(
        st.binary(min_size=1, max_size=8).filter(lambda b: b"\0" not in b), st.tuples(st.integers(0), st.integers())
    ),
)
@settings(max_examples=100, deadline=None)
def test_facts_come_back_as_they_went(bits: dict[bytes, int], left: dict[bytes, tuple[int, int]]) -> None:
    facts = Facts(0o664, 0o775, bits, left)
    assert decode_facts(encode_facts(facts)) == facts


def test_a_path_is_shown_so_that_it_can_be_read() -> None:
    assert shown("名 字.txt".encode()) == "名 字.txt"
    assert shown(b"a\nb\x1b[31m\xff") == "a\\nb\\x1b[31m\\udcff"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_nothing_is_left_beside_the_files(work: Path) -> None:
    (work / "a").write_text("1")
    shots = snapshots(work)
    first = take(shots)
    (work / "a").write_text("2")
    second = take(shots)
    asyncio.run(shots.restore(second.tree, first.tree))
    assert [path.name for path in work.iterdir()] == ["a"]
