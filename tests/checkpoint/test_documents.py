"""The rendering for people, and putting it in place."""

import os
import stat
from pathlib import Path

import pytest

from sojourn.base import CountingIds, Item, ItemStatus, ManualClock, Section, Usage, WorkFailed
from sojourn.checkpoint import (
    Written,
    checkpoint_row,
    items_sha,
    render_checkpoint,
    write_checkpoint_file,
)
from sojourn.checkpoint.writer import WriterInput
from sojourn.memory import layout, path_of
from sojourn.record import Checkpoint

ITEMS = (
    Item(id="in-1", section=Section.INTENT, text="m3: Fix the login", sources=(3,), written_seq=12),
    Item(id="di-1", section=Section.DIRECTIVES, text="Never push.\nReally.", sources=(3, 9), written_seq=12),
    Item(id="fi-1", section=Section.FILES, text="`a.py` Read(path) m4", written_seq=12, status=ItemStatus.SUPERSEDED),
)


def _row(**more: object) -> Checkpoint:
    base = Checkpoint(id="ckp_1", covered_seq=12, items=ITEMS, items_sha="x", writer="extractive", range=(4, 12))
    return base if not more else type(base)(**{name: more.get(name, getattr(base, name)) for name in base.__struct_fields__})


@pytest.mark.design("K-7", "R-6")
@pytest.mark.report(73, 96)
def test_rendering_for_people_and_grep() -> None:
    assert render_checkpoint(_row(created=1_700_000_000_000, previous_id="ckp_0", refused=("+ x: bad",)), "Login\nwork") == (
        "# Checkpoint: Login work\n"
        "\n"
        "- id: ckp_1\n"
        "- covers: messages up to m12\n"
        "- read: m5 to m12\n"
        "- writer: extractive\n"
        "- written: 2023-11-14 22:13:20 UTC\n"
        "- previous: ckp_0\n"
        "\n"
        "## intent\n"
        "\n"
        "- [in-1] m3: Fix the login (m3)\n"
        "\n"
        "## directives\n"
        "\n"
        "- [di-1] Never push. Really. (m3, m9)\n"
        "\n"
        "## left\n"
        "\n"
        "- [fi-1] `a.py` Read(path) m4 - files, superseded\n"
        "\n"
        "## refused\n"
        "\n"
        "- + x: bad\n"
    )


@pytest.mark.design("K-7")
def test_an_empty_checkpoint_is_only_its_head() -> None:
    text = render_checkpoint(_row(items=()))
    assert text == "# Checkpoint\n\n- id: ckp_1\n- covers: messages up to m12\n- read: m5 to m12\n- writer: extractive\n"


@pytest.mark.design("K-7", "R-6", "T-9")
def test_file_is_read_only_in_private_folders(tmp_path: Path) -> None:
    path = path_of(tmp_path / "memory", layout.checkpoint("ses_1"))
    write_checkpoint_file(path, "eins\n")
    write_checkpoint_file(path, "zwei 你好\n")
    assert path.read_bytes() == "zwei 你好\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    for folder in (path.parent, path.parent.parent, tmp_path / "memory"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["checkpoint.md"]


@pytest.mark.design("K-7", "T-9")
def test_a_link_in_its_place_is_replaced_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    path = tmp_path / "checkpoint.md"
    path.symlink_to(target)
    write_checkpoint_file(path, "new")
    assert target.read_text() == "mine"
    assert not path.is_symlink()
    assert path.read_text() == "new"


@pytest.mark.design("K-7", "K-8")
def test_a_failed_write_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "checkpoint.md"
    write_checkpoint_file(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkFailed, match="No space left on device") as error:
        write_checkpoint_file(path, "new")
    assert str(path) in str(error.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["checkpoint.md"]


@pytest.mark.design("K-7")
def test_text_and_folder_are_on_disk_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(handle: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_sync(handle)

    def replace(self: Path, target: Path) -> Path:
        order.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    write_checkpoint_file(tmp_path / "checkpoint.md", "x")
    assert order == ["file", "rename", "folder"]


@pytest.mark.design("K-7", "R-6")
def test_the_row_of_a_run() -> None:
    run = WriterInput(items=(), messages=(), range=(4, 12), trigger=50_000)
    written = Written(items=ITEMS, refused=("no",), usage=Usage(fresh=5))
    row = checkpoint_row(run, written, "model", ids=CountingIds(), clock=ManualClock(77), previous_id="ckp_0")
    assert row == Checkpoint(
        id="ckp_1",
        covered_seq=12,
        items=ITEMS,
        items_sha=items_sha(ITEMS),
        writer="model",
        range=(4, 12),
        usage=Usage(fresh=5),
        previous_id="ckp_0",
        refused=("no",),
        created=77,
    )


@pytest.mark.design("R-6")
def test_the_hash_tells_lists_apart() -> None:
    assert items_sha(ITEMS) == items_sha(tuple(ITEMS))
    assert len({items_sha(()), items_sha(ITEMS), items_sha(ITEMS[:2]), items_sha(ITEMS[::-1])}) == 4
    assert len(items_sha(())) == 64
