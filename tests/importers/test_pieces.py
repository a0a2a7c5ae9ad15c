"""Sizes of pictures, files of calls, times and titles."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importers.small import png
from sojourn.importers.drive import Distinct
from sojourn.importers.fields import count, millis, title_of
from sojourn.importers.pixels import pixels
from sojourn.importers.touches import touches
from sojourn.record import Touch

PATCH = "*** Begin Patch\n*** Update File: x y.py \n*** End Patch"


def jpeg(width: int, height: int, *, marker: int = 0xC0) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9
    frame = b"\xff" + bytes([marker]) + struct.pack(">HBHH", 11, 8, height, width) + b"\1\1\x11\0"
    return b"\xff\xd8" + app + b"\xff" + frame + b"\xff\xd9"


def webp(kind: bytes, payload: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + 8 + len(payload)) + b"WEBP" + kind + struct.pack("<I", len(payload)) + payload


@pytest.mark.design("R-3")
@pytest.mark.report(40)
@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(640, 480), (640, 480)),
        (b"GIF89a" + struct.pack("<HH", 7, 9) + b"\0\0\0", (7, 9)),
        (jpeg(300, 200), (300, 200)),
        (jpeg(300, 200, marker=0xC2), (300, 200)),
        (jpeg(300, 200, marker=0xC4), None),
        (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 50 | 0x4000, 60)), (50, 60)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 49 | 59 << 14)), (50, 60)),
        (webp(b"VP8X", b"\0\0\0\0" + (49).to_bytes(3, "little") + (59).to_bytes(3, "little")), (50, 60)),
        (png(640, 480)[:20], None),
        (b"", None),
        (b"\xff\xd8", None),
        (b"no picture", None),
        (b"GIF89a\0\0\0\0", None),
    ],
)
def test_pixels(data: bytes, size: tuple[int, int] | None) -> None:
    assert pixels(data) == size


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"\xff\xd8", b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WEBPVP8L", b"GIF87a"]))
def test_pixels_of_any_bytes_never_raise(tail: bytes, head: bytes) -> None:
    size = pixels(head + tail)
    assert size is None or (size[0] > 0 and size[1] > 0)


@pytest.mark.design("R-3")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"file_path": "a"}, Touch("a", "read")),
        ("Read", {"file_path": "a", "limit": 5}, Touch("a", "read", (1, 5))),
        ("Read", {"file_path": "a", "offset": 3, "limit": 1}, Touch("a", "read", (3, 3))),
        ("Read", {"file_path": "a", "offset": 0, "limit": 2}, Touch("a", "read", (1, 2))),
        ("Read", {"file_path": "a", "limit": 0}, Touch("a", "read")),
        ("Edit", {"file_path": "a", "limit": 5}, Touch("a", "edit")),
        ("MultiEdit", {"file_path": "a"}, Touch("a", "edit")),
        ("NotebookEdit", {"notebook_path": "n"}, Touch("n", "edit")),
        ("Write", {"file_path": "a"}, Touch("a", "write")),
        ("write_file", {"file_path": "a"}, Touch("a", "write")),
        ("read_file", {"absolute_path": "a"}, Touch("a", "read")),
        ("str_replace_editor", {"command": "view", "path": "a", "view_range": [2, 4]}, Touch("a", "read", (2, 4))),
        ("str_replace_editor", {"command": "view", "path": "a", "view_range": [4, 2]}, Touch("a", "read")),
        ("str_replace_editor", {"command": "create", "path": "a"}, Touch("a", "write")),
        ("str_replace_editor", {"command": "insert", "path": "a"}, Touch("a", "edit")),
        ("str_replace_editor", {"path": "a"}, None),
        ("Bash", {"command": "cat a", "path": "a"}, None),
        ("Read", {"file_path": 5}, None),
        (
            "shell",
            {"command": ["apply_patch", "*** Begin Patch\n*** Update File: x y.py \n*** End Patch"]},
            Touch("x y.py", "edit"),
        ),
    ],
)
def test_touches(name: str, arguments: dict[str, object], expected: Touch | None) -> None:
    assert touches(name, arguments) == (() if expected is None else (expected,))


@pytest.mark.design("R-14")
def test_times_counts_and_titles() -> None:
    assert millis("2026-01-02T03:04:05.678Z") == 1767323045678
    assert millis("2026-01-02T03:04:05") == 1767323045000
    assert millis("2026-01-02T04:04:05+01:00") == 1767323045000
    assert millis(1767323045678) == 1767323045678
    assert millis(1767323045.5) in (1767323045000, 1767323045500)
    assert [millis(odd) for odd in ("", "soon", None, True, -5, {}, "0001-01-01T00:00:00")] == [0] * 7
    assert [count(odd) for odd in (3, 3.9, -1, True, "3", None, 2**60)] == [3, 3, 0, 0, 0, 0, 0]
    assert title_of("\n\n  a\tb  c \r\nsecond") == "a b c"
    assert (title_of(""), title_of(" \n"), len(title_of("x" * 200))) == ("", "", 80)


def test_distinct_counts_each_id_once_and_forgets_far_ones() -> None:
    distinct = Distinct()
    for name in ("a", "b", "a", "", ""):
        distinct.add(name)
    assert distinct.count == 3
    for number in range(10_000):
        distinct.add(str(number))
        distinct.add(str(max(0, number - 2_000)))
    assert distinct.count == 10_003
