"""What the provider reads of a picture, beside a library that knows them all."""

import base64
import io

import pytest
from PIL import Image

from provider import pictures
from provider.tokens import count_picture


@pytest.mark.parametrize(
    ("kind", "options"),
    [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("GIF", {}), ("WEBP", {}), ("WEBP", {"lossless": True})],
)
@pytest.mark.parametrize("size", [(1, 1), (640, 480), (3, 2_001)])
def test_kind_and_size(kind: str, options: dict[str, bool], size: tuple[int, int]) -> None:
    kept = io.BytesIO()
    Image.new("RGB", size, "navy").save(kept, kind, **options)
    assert pictures.media_type(kept.getvalue()) == f"image/{kind.lower()}"
    assert pictures.size(kept.getvalue()) == size


def test_webp_with_transparency() -> None:
    kept = io.BytesIO()
    Image.new("RGBA", (33, 44), (0, 0, 0, 0)).save(kept, "WEBP", exif=b"Exif")
    assert kept.getvalue()[12:16] == b"VP8X"
    assert pictures.size(kept.getvalue()) == (33, 44)


def test_what_is_none() -> None:
    assert pictures.media_type(b"BM") == ""
    assert pictures.size(b"BM") is None
    assert pictures.size(b"\x89PNG\r\n\x1a\n\0\0") is None
    assert pictures.size(b"\xff\xd8\xff") is None
    assert pictures.decode("A") is None
    assert pictures.decode("-_") is None
    assert pictures.decode(pictures.plain("-_8")) == base64.b64decode("+/8=")


def test_tokens() -> None:
    assert [count_picture(size) for size in ((1, 1), (750, 1), (751, 1), (1_200, 1_000), (1_201, 1_000), None)] == [
        1,
        1,
        2,
        1_600,
        1_600,
        1_600,
    ]
