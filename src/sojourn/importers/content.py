"""Foreign content to parts: texts, pictures as blobs, payloads too large for a row (R-3, R-8)."""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from sojourn.importers.fields import listing, mapping, string
from sojourn.importers.pixels import pixels
from sojourn.record import File, Image, ResultPart, Text

MAX_RESULT_TEXT = 1024 * 1024
"""UTF-8 bytes; a longer result text becomes a File part with the text as its blob."""
_HEAD = 4_000
_TAIL = 2_000

Blobs = dict[str, bytes]


def address(data: bytes, blobs: Blobs) -> str:
    """Puts the payload among the blobs; answers its content address."""
    sha = hashlib.sha256(data).hexdigest()
    blobs[sha] = data
    return sha


def result_text(text: str, blobs: Blobs) -> ResultPart:
    """A result's text as Text; over 1 MiB as a File with the full text as blob and both ends as excerpt."""
    if len(text) <= MAX_RESULT_TEXT // 4:
        return Text(text)
    data = text.encode(errors="replace")
    if len(data) <= MAX_RESULT_TEXT:
        return Text(text)
    left_out = len(text) - _HEAD - _TAIL
    excerpt = f"{text[:_HEAD]}\n[... {left_out:,} characters left out, in the record ...]\n{text[-_TAIL:]}"
    return File(address(data, blobs), "text/plain", len(data), excerpt=excerpt)


def payload_of(data: Any) -> bytes:
    """The bytes of a base64 text; empty where it is not one."""
    try:
        return base64.b64decode("".join(string(data).split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


def picture(data: Any, media_type: Any, blobs: Blobs, name: str = "") -> Image | None:
    """A base64 picture as a blob; None where it is not base64 or empty."""
    payload = payload_of(data)
    if not payload:
        return None
    kind = string(media_type) or "application/octet-stream"
    return Image(address(payload, blobs), kind, len(payload), pixels(payload), name)


def picture_url(url: Any, blobs: Blobs) -> Image | None:
    """A ``data:`` URL's picture; None for any other address."""
    head, comma, data = string(url).partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return picture(data, head[5:-7].split(";")[0], blobs)


def anthropic_image(block: dict[str, Any], blobs: Blobs) -> Image | None:
    """``{"source": {"type": "base64", "media_type", "data"}}``."""
    source = mapping(block.get("source"))
    return picture(source.get("data"), source.get("media_type"), blobs)


def anthropic_document(block: dict[str, Any], blobs: Blobs) -> File | None:
    """A ``document`` block (a PDF): its bytes as a blob."""
    source = mapping(block.get("source"))
    payload = payload_of(source.get("data"))
    if not payload:
        return None
    kind = string(source.get("media_type")) or "application/octet-stream"
    return File(address(payload, blobs), kind, len(payload), name=string(block.get("title")))


def missing_picture(block: Any) -> str:
    """What stands where a picture could not be kept."""
    source = mapping(mapping(block).get("source"))
    url = source.get("url") or mapping(block).get("image_url") or ""
    url = string(mapping(url).get("url")) or string(url)
    return f"[picture not in the file: {url[:200]}]" if url and not url.startswith("data:") else "[picture not readable]"


def result_parts(content: Any, blobs: Blobs) -> tuple[ResultPart, ...]:
    """A result as the formats write it: a string, one block, or a list of strings and blocks."""
    if content is None:
        return ()
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return _texts([content if isinstance(content, str) else plain_json(content)], blobs)
    parts: list[ResultPart] = []
    for block in content:
        parts.extend(_result_block(block, blobs))
    return tuple(parts)


def _result_block(block: Any, blobs: Blobs) -> Iterable[ResultPart]:
    if not isinstance(block, dict):
        return _texts([block if isinstance(block, str) else plain_json(block)], blobs)
    kind = string(block.get("type"))
    if kind in ("image", "input_image", "image_url"):
        image = any_image(block, blobs)
        return [image if image else Text(missing_picture(block))]
    text = block.get("text")
    return _texts([text if isinstance(text, str) else plain_json(block)], blobs)


def any_image(block: dict[str, Any], blobs: Blobs) -> Image | None:
    """A picture block of any of the known shapes."""
    if "source" in block:
        return anthropic_image(block, blobs)
    if "data" in block:
        return picture(block.get("data"), block.get("mimeType") or block.get("media_type"), blobs)
    url = block.get("image_url")
    return picture_url(mapping(url).get("url") if isinstance(url, dict) else url, blobs)


def _texts(texts: Iterable[str], blobs: Blobs) -> tuple[ResultPart, ...]:
    return tuple(result_text(text, blobs) for text in texts if text)


def plain_json(value: Any) -> str:
    """A foreign value as text."""
    return json.dumps(value, ensure_ascii=False)


def joined_text(content: Any) -> str:
    """All text of a string or of a list of blocks, with line ends between."""
    if isinstance(content, str):
        return content
    texts = (block if isinstance(block, str) else string(mapping(block).get("text")) for block in listing(content))
    return "\n".join(text for text in texts if text)
