"""Which format a file is of, and what a person is told where it is of none."""

from pathlib import Path

import pytest

from importers.small import as_bytes, user
from importers.test_accounting import SEEDS
from sojourn.base import UserMistake
from sojourn.importers import IMPORTERS, Done, detect, read


@pytest.mark.design("R-14")
@pytest.mark.parametrize("format", sorted(SEEDS))
def test_each_format_is_told_also_behind_damage(format: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    lines = [as_bytes(line) for line in SEEDS[format]]
    bodies = [b"\n".join(lines), b"\n".join(lines)[:-3]]
    if not format.endswith("messages"):  # a message list is told by its beginning
        bodies.append(b"\0\0\n\n" + bodies[0] if format == "sojourn-jsonl" else b"garbage\n\0\0\n" + bodies[0])
    for body in bodies:
        path.write_bytes(body)
        assert detect(str(path)).name == format
        assert isinstance(list(read(str(path)))[-1], Done)


@pytest.mark.design("R-14")
@pytest.mark.report(69)
def test_a_first_line_longer_than_the_sample_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(as_bytes(user('a \\" book ' * 40_000)))
    assert detect(str(path)).name == "claude-code"


@pytest.mark.design("R-14")
@pytest.mark.parametrize(
    "body", [b"hello\nworld\n", b'{"a": 1}\n', b"[1, 2]", b'{"messages": []}', b"\x89PNG\r\n\x1a\n" + bytes(range(256))]
)
def test_an_unknown_file_is_refused_with_all_that_was_looked_for(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(body)
    with pytest.raises(UserMistake) as caught:
        detect(str(path))
    assert str(path) in str(caught.value)
    for importer in IMPORTERS:
        assert f"{importer.name}: {importer.looks_for}" in str(caught.value)
    assert caught.value.next_step


@pytest.mark.design("R-14")
def test_missing_empty_and_folder(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"\0\0\n \n")
    for path, words in ((tmp_path / "gone", "No such file"), (empty, "is empty"), (tmp_path, "directory")):
        with pytest.raises(UserMistake, match=words) as caught:
            list(read(str(path)))
        assert str(path) in str(caught.value)
        assert caught.value.next_step


@pytest.mark.design("R-14")
def test_names_are_unique() -> None:
    names = [importer.name for importer in IMPORTERS]
    assert len(set(names)) == len(names) == 7
