"""Pictures made fit at intake, and text of PDF files from a process of its own (Y-5)."""

import asyncio
import random
import struct
import sys
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from sojourn.record import Image, Text
from sojourn.tools import pdf, pictures
from sojourn.tools.pictures import picture_type
from tools.desks import Blobs, hands, touched

pytestmark = pytest.mark.design("Y-5")


def picture(kind: str, size: tuple[int, int], mode: str = "RGB", **more: Any) -> bytes:
    pillow = pytest.importorskip("PIL.Image")
    out = BytesIO()
    pillow.new(mode, size, more.pop("color", 0)).save(out, kind, **more)
    return out.getvalue()


def look(data: bytes) -> tuple[int, int]:
    pillow = pytest.importorskip("PIL.Image")
    with pillow.open(BytesIO(data)) as opened:
        return opened.size  # type: ignore[no-any-return]


@pytest.mark.report(122)
@pytest.mark.parametrize(
    ("kind", "media"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")]
)
def test_a_picture_that_fits_keeps_its_bytes(tmp_path: Path, kind: str, media: str) -> None:
    async def main() -> None:
        data = picture(kind, (1568, 20))
        (tmp_path / "a picture").write_bytes(data)
        blobs = Blobs()
        async with hands(tmp_path, put_blob=blobs.put) as do:
            outcome = await do("read", path="a picture")
            text, image = outcome.parts
            assert text == Text("[a picture: picture, 1568x20]")
            assert isinstance(image, Image)
            assert (image.media_type, image.size, image.pixels, image.name) == (media, len(data), (1568, 20), "a picture")
            assert blobs[image.blob] == data
            assert outcome.touches == touched(tmp_path / "a picture", "read")
            assert do.desk.seen.knows(tmp_path / "a picture")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\x89PNG\n", None),
        (b"\xff\xd8\xff\xe1", "image/jpeg"),
        (b"\xff\xd8", None),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"GIF88a", None),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"XXXX\0\0\0\0WEBP", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(data: bytes, media: str | None) -> None:
    assert picture_type(data) == media


@pytest.mark.parametrize(("mode", "more", "after"), [("P", {"transparency": 0}, "RGBA"), ("P", {}, "RGB"), ("LA", {}, "RGBA")])
def test_what_is_clear_stays_clear(tmp_path: Path, mode: str, more: dict[str, int], after: str) -> None:
    async def main() -> None:
        pillow = pytest.importorskip("PIL.Image")
        (tmp_path / "p.png").write_bytes(picture("PNG", (1600, 4), mode, **more))
        blobs = Blobs()
        async with hands(tmp_path, put_blob=blobs.put) as do:
            image = (await do("read", path="p.png")).parts[1]
            assert isinstance(image, Image)
            with pillow.open(BytesIO(blobs[image.blob])) as opened:
                assert opened.mode == after

    asyncio.run(main())


@pytest.mark.report(122)
@pytest.mark.parametrize(
    ("kind", "size", "mode", "media", "after"),
    [
        ("PNG", (1569, 10), "RGB", "image/png", (1568, 10)),
        ("PNG", (2100, 1050), "P", "image/png", (1568, 784)),
        ("PNG", (100, 3136), "RGBA", "image/png", (50, 1568)),
        ("JPEG", (3136, 1568), "RGB", "image/jpeg", (1568, 784)),
        ("GIF", (3136, 2), "P", "image/png", (1568, 1)),
        ("WEBP", (2000, 1000), "RGB", "image/png", (1568, 784)),
    ],
)
def test_a_large_picture_is_scaled_down(
    tmp_path: Path, kind: str, size: tuple[int, int], mode: str, media: str, after: tuple[int, int]
) -> None:
    async def main() -> None:
        (tmp_path / "p").write_bytes(picture(kind, size, mode))
        blobs = Blobs()
        async with hands(tmp_path, put_blob=blobs.put) as do:
            text, image = (await do("read", path="p")).parts
            assert isinstance(image, Image)
            assert (image.media_type, image.pixels) == (media, after)
            assert text == Text(f"[p: picture, {after[0]}x{after[1]}, scaled down from {size[0]}x{size[1]}]")
            assert look(blobs[image.blob]) == after
            assert image.size == len(blobs[image.blob])
            assert picture_type(blobs[image.blob]) == media

    asyncio.run(main())


def test_a_turned_photo_comes_upright(tmp_path: Path) -> None:
    async def main() -> None:
        pillow = pytest.importorskip("PIL.Image")
        exif = pillow.Exif()
        exif[0x0112] = 6
        (tmp_path / "p").write_bytes(picture("JPEG", (3136, 1568), exif=exif))
        async with hands(tmp_path, put_blob=Blobs().put) as do:
            image = (await do("read", path="p")).parts[1]
            assert isinstance(image, Image)
            assert image.pixels == (784, 1568)

    asyncio.run(main())


def test_noise_too_heavy_for_png_becomes_jpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        pillow = pytest.importorskip("PIL.Image")
        noise = pillow.frombytes("RGB", (300, 300), random.Random(1).randbytes(270_000))
        out = BytesIO()
        noise.save(out, "PNG")
        data = out.getvalue()
        (tmp_path / "p").write_bytes(data)
        blobs = Blobs()
        async with hands(tmp_path, put_blob=blobs.put) as do:
            monkeypatch.setattr(pictures, "BYTES_MOST", len(data))
            image = (await do("read", path="p")).parts[1]
            assert isinstance(image, Image)
            assert image.media_type == "image/png"
            assert image.size == len(data)
            monkeypatch.setattr(pictures, "BYTES_MOST", len(data) - 1)
            image = (await do("read", path="p")).parts[1]
            assert isinstance(image, Image)
            assert image.size < len(data)
            monkeypatch.setattr(pictures, "BYTES_MOST", 100_000)
            image = (await do("read", path="p")).parts[1]
            assert isinstance(image, Image)
            assert (image.media_type, image.pixels) == ("image/jpeg", (300, 300))
            assert image.size <= 100_000

    asyncio.run(main())


@pytest.mark.report(122)
def test_bombs_and_damaged_pictures_are_refused_by_name(tmp_path: Path) -> None:
    def png(width: int, height: int) -> bytes:
        body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))

    async def main() -> None:
        (tmp_path / "bomb.png").write_bytes(png(80_001, 1_000))
        (tmp_path / "cut.png").write_bytes(png(80_000, 1_000))
        (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0")
        async with hands(tmp_path, put_blob=Blobs().put) as do:
            assert await do.bad("read", path="bomb.png") == (
                "bomb.png has 80001x1000 pixels: too many.\nScale it down with a program first."
            )
            pytest.importorskip("PIL.Image")
            assert (await do.bad("read", path="cut.png")).startswith("cut.png cannot be scaled down: ")
            assert await do.bad("read", path="bad.jpg") == "bad.jpg is a damaged picture.\nAsk the user for another copy."
            with (tmp_path / "huge.png").open("wb") as file:
                file.write(png(10, 10))
                file.truncate((64 << 20) + 1)
            assert (await do.bad("read", path="huge.png")).startswith("huge.png is a picture of 67,108,865 bytes: too large.")
        async with hands(tmp_path) as do:
            assert (await do.bad("read", path="bomb.png")).startswith(
                "bomb.png is a picture, and pictures cannot be kept here."
            )

    asyncio.run(main())


def test_without_pillow_a_small_picture_still_goes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = picture("PNG", (4, 4)), picture("PNG", (2000, 4))
    monkeypatch.setitem(sys.modules, "PIL", None)

    async def main() -> None:
        (tmp_path / "s.png").write_bytes(small)
        (tmp_path / "l.png").write_bytes(large)
        async with hands(tmp_path, put_blob=Blobs().put) as do:
            assert await do.good("read", path="s.png") == "[s.png: picture, 4x4]"
            assert await do.bad("read", path="l.png") == (
                "l.png has to be scaled down, and Pillow is not here.\nInstall it: pip install 'sojourn[tools]'"
            )

    asyncio.run(main())


# --- PDF ----------------------------------------------------------------------------------------------------------


def document(*pages: str) -> bytes:
    """A PDF by hand: one line of text a page."""
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for number, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 20 100 Td ({text}) Tj ET" if text else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources {font} /Contents {4 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    out = "%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    return (out + f"startxref\n{start}\n%%EOF\n").encode()


def test_pages_stand_under_their_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")

    async def main() -> None:
        (tmp_path / "d.pdf").write_bytes(document("First words", "Second", "Third"))
        async with hands(tmp_path) as do:
            outcome = await do("read", path="d.pdf")
            assert outcome.text == (
                "[d.pdf: PDF, pages 1-3 of 3]\n--- page 1 ---\nFirst words\n--- page 2 ---\nSecond\n--- page 3 ---\nThird"
            )
            assert outcome.touches == touched(tmp_path / "d.pdf", "read")
            assert await do.good("read", path="d.pdf", offset=2, limit=1) == (
                "[d.pdf: PDF, pages 2-2 of 3; read on with offset 3]\n--- page 2 ---\nSecond"
            )
            assert await do.bad("read", path="d.pdf", offset=4) == (
                "d.pdf has 3 pages: 4 is behind its end.\nTake a smaller offset."
            )
            (tmp_path / "s.pdf").write_bytes(document(""))
            assert (await do.good("read", path="s.pdf")).startswith(
                "[s.pdf: PDF, pages 1-1 of 1; no text in them: they may be scanned pictures]\n"
            )
            (tmp_path / "many.pdf").write_bytes(document(*map(str, range(51))))
            assert (await do.good("read", path="many.pdf")).startswith(
                "[many.pdf: PDF, pages 1-50 of 51; read on with offset 51]\n"
            )

    asyncio.run(main())


def test_a_broken_or_endless_pdf_costs_its_process_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdf")

    async def main() -> None:
        (tmp_path / "d.pdf").write_bytes(document("x"))
        (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4\nnothing of the kind")
        async with hands(tmp_path) as do:
            assert (await do.bad("read", path="bad.pdf")).startswith("bad.pdf cannot be read as PDF: ")
            late = await pdf.pdf_text(tmp_path / "d.pdf", 1, "d.pdf", (1, None), seconds=0.0)
            assert late.error
            assert late.text == "d.pdf: its text could not be read in 0 seconds.\nAsk for fewer pages: set limit to 1."
            big = await pdf.pdf_text(tmp_path / "d.pdf", pdf.FILE_MOST + 1, "d.pdf", (1, None))
            assert big.text.startswith("d.pdf is a PDF of 104,857,601 bytes: too large.")
            assert not (await pdf.pdf_text(tmp_path / "d.pdf", pdf.FILE_MOST, "d.pdf", (1, None))).error
            worker = tmp_path / "worker.py"
            monkeypatch.setattr(pdf, "_WORKER", worker)
            worker.write_text("import os; os._exit(9)")
            assert await do.bad("read", path="d.pdf") == (
                "d.pdf cannot be read as PDF: the reader ended with code 9\nTry pdftotext in bash."
            )
            worker.write_text("print('{\"missing\": true}')")
            assert await do.bad("read", path="d.pdf") == (
                "d.pdf is a PDF, and pypdf is not here.\nTry pdftotext in bash, or ask for sojourn[tools]."
            )

    asyncio.run(main())


def test_the_worker_answers_within_its_bytes(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    from sojourn.tools.pdf_worker import _answer

    (tmp_path / "d.pdf").write_bytes(document("a" * 50, "b" * 50, "c" * 50))
    whole = _answer(str(tmp_path / "d.pdf"), 1, 3, 156)
    assert whole == {"pages": 3, "texts": ["a" * 50, "b" * 50, "c" * 50]}
    assert _answer(str(tmp_path / "d.pdf"), 1, 3, 155) == {"pages": 3, "texts": ["a" * 50, "b" * 50]}
    assert _answer(str(tmp_path / "d.pdf"), 1, 3, 48) == {"pages": 3, "texts": ["a" * 4]}
