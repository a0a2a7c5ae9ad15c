"""Text of a PDF file, taken out in a process of its own: a malicious or broken file can cost that process, not us."""

import asyncio
import sys
from pathlib import Path

import msgspec

from sojourn.record import Touch
from sojourn.tools.types import Outcome, failed, said

SECONDS = 30.0
PAGES_MOST = 50
"""In one call, where none are asked for."""
FILE_MOST = 100 << 20
OUT_MOST = 4 << 20
"""Bytes that the worker may answer."""
_WORKER = Path(__file__).with_name("pdf_worker.py")


class _Answer(msgspec.Struct):
    pages: int = 0
    texts: list[str] = []
    error: str = ""
    missing: bool = False
    """pypdf is not installed."""


async def pdf_text(path: Path, size: int, name: str, part: tuple[int, int | None], seconds: float = SECONDS) -> Outcome:
    """Pages of the file of ``size`` bytes, each under its number; ``part`` = the first, and how many (None: 50, as at most).

    An Outcome of what was wrong where there is nothing to show.
    """
    if size > FILE_MOST:
        return failed(f"{name} is a PDF of {size:,} bytes: too large.", "Split it with a program first (qpdf, pdftk).")
    first, limit = part
    count = min(limit or PAGES_MOST, PAGES_MOST)
    try:
        answer = await asyncio.wait_for(_ask(path, first, count), seconds)
    except TimeoutError:
        return failed(f"{name}: its text could not be read in {seconds:g} seconds.", "Ask for fewer pages: set limit to 1.")
    if answer.missing:
        return failed(f"{name} is a PDF, and pypdf is not here.", "Try pdftotext in bash, or ask for sojourn[tools].")
    if answer.error:
        return failed(f"{name} cannot be read as PDF: {answer.error}", "Try pdftotext in bash.")
    if not answer.texts:
        return failed(f"{name} has {answer.pages} pages: {first} is behind its end.", "Take a smaller offset.")
    last = first + len(answer.texts) - 1
    head = f"{name}: PDF, pages {first}-{last} of {answer.pages}"
    if last < answer.pages:
        head += f"; read on with offset {last + 1}"
    if not any(text.strip() for text in answer.texts):
        head += "; no text in them: they may be scanned pictures"
    pages = [f"--- page {number} ---\n{text.rstrip()}" for number, text in enumerate(answer.texts, first)]
    return said("\n".join([f"[{head}]", *pages]), Touch(str(path), "read"))


async def _ask(path: Path, first: int, count: int) -> _Answer:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", str(_WORKER), str(path), str(first), str(count), str(OUT_MOST)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return msgspec.json.decode(out, type=_Answer)
    except msgspec.MsgspecError:
        return _Answer(error=f"the reader ended with code {process.returncode}")
