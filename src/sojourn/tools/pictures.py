"""Pictures, made fit for every provider before they are kept: a picture that is too large would be refused in every
later request (report 122)."""

import asyncio
from io import BytesIO
from typing import Any

import msgspec

from sojourn.base import UserMistake

SIDE_MOST = 1_568
"""Pixels of the longer side: providers scale larger ones down anyway, and bill for them."""
BYTES_MOST = 5_000_000
PIXELS_MOST = 80_000_000
"""Of the picture as it is on disk: unpacked it takes four bytes each."""
_QUALITIES = (85, 70, 50)


class Picture(msgspec.Struct, frozen=True):
    data: bytes
    media_type: str
    pixels: tuple[int, int]
    was: tuple[int, int]
    """Before it was scaled down."""


def picture_type(data: bytes) -> str | None:
    """The media type of PNG, JPEG, GIF or WebP by the first bytes; None = none of them."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


async def prepare(data: bytes, media_type: str, name: str) -> Picture:
    """The picture, at most 1,568 pixels on its longer side and 5 MB; one that fits keeps its bytes.

    Raises UserMistake for a damaged one, one of more than 80 M pixels, or one to scale where Pillow is not installed.
    """
    from sojourn.importers.pixels import pixels  # its room is large, and most sessions read no picture

    was = pixels(data)
    if was is None:
        raise UserMistake(f"{name} is a damaged picture.", next_step="Ask the user for another copy.")
    if was[0] * was[1] > PIXELS_MOST:
        raise UserMistake(f"{name} has {was[0]}x{was[1]} pixels: too many.", next_step="Scale it down with a program first.")
    if max(was) <= SIDE_MOST and len(data) <= BYTES_MOST:
        return Picture(data, media_type, was, was)
    return await asyncio.to_thread(_scaled, data, was, name)


def _scaled(data: bytes, was: tuple[int, int], name: str) -> Picture:
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise UserMistake(
            f"{name} has to be scaled down, and Pillow is not here.", next_step="Install it: pip install 'sojourn[tools]'"
        ) from None
    try:
        with Image.open(BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
            jpeg = opened.format == "JPEG"
            clear = opened.mode in ("RGBA", "LA", "PA") or "transparency" in opened.info
            image: Any = ImageOps.exif_transpose(opened).convert("RGBA" if clear else "RGB")
            image.thumbnail((SIDE_MOST, SIDE_MOST))
            return _encoded(image, was, jpeg=jpeg)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise UserMistake(f"{name} cannot be scaled down: {error}", next_step="Ask the user for another copy.") from error


def _encoded(image: Any, was: tuple[int, int], *, jpeg: bool) -> Picture:
    """PNG where it was none of JPEG's and is small enough (text stays sharp), else JPEG."""
    out = BytesIO()
    if not jpeg:
        image.save(out, "PNG")
        if out.tell() <= BYTES_MOST:
            return Picture(out.getvalue(), "image/png", image.size, was)
    for quality in _QUALITIES:
        out = BytesIO()
        image.convert("RGB").save(out, "JPEG", quality=quality)
        if out.tell() <= BYTES_MOST:
            break
    return Picture(out.getvalue(), "image/jpeg", image.size, was)
