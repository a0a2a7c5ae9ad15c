"""What the full-text index holds and how it is asked (R-13). Pure; memory's index uses the same two functions.

The tokenizer knows words between spaces, so text is prepared: a run of Chinese, Japanese or Korean becomes overlapping
pairs of characters, and each identifier also gives its pieces (``read_file`` and ``readFile``: read, file).
"""

import re
from collections.abc import Iterator, Sequence
from operator import add
from typing import Any

from sojourn.record.codec import plain
from sojourn.record.types import Part, Text, ToolCall

_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\u1100-\u11ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0002fa1f"
)
_RUN = re.compile(f"[{_CJK}]+")
_SPLIT = re.compile(f"([{_CJK}]+)")
_WORD = re.compile(r"[^\W\d_]|\d")
_NAME = re.compile(r"\w+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


def searchable(parts: Sequence[Part]) -> str:
    """What a message can be found by: its text, and its tool calls' names and arguments. Not results, not reasoning."""
    found: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            found.append(part.text)
        elif isinstance(part, ToolCall):
            found.append(part.name)
            found.extend(_strings(part.arguments))
            if part.raw_arguments:
                found.append(part.raw_arguments)
    return "\n".join(text for text in found if text)


def index_text(text: str) -> str:
    """The text as the index wants it: pairs for CJK runs, then the pieces of identifiers."""
    if not text.isascii():
        text = _RUN.sub(_pairs, plain(text))
    pieces: dict[str, None] = {}
    suspects = [word for word in set(text.split()) if "_" in word or not (word.islower() or word[1:] == word[1:].lower())]
    for name in set(_NAME.findall(" ".join(suspects))):
        if "_" in name or (name[1:] != name[1:].lower() and not name.isupper()):
            pieces.update(dict.fromkeys(piece.lower() for piece in _PIECE.findall(name)))
    return f"{text}\n{' '.join(sorted(pieces))}" if pieces else text


def match_query(query: str, column: str = "text") -> str | None:
    """An FTS5 query for any text a person types: every term must occur. None = nothing to look for.

    A term between spaces is a phrase (``config.load``: config followed by load); a CJK run is the phrase of its pairs; a
    single CJK character is found wherever it stands.
    """
    wanted = list(dict.fromkeys(_phrases(query)))
    return f"{{{column}}} : ({' AND '.join(wanted)})" if wanted else None


def snippet(text: str, query: str, width: int = 200) -> str:
    """About ``width`` characters of the text around the first place that the query's terms hit, as one line."""
    terms = sorted(
        {term for chunk in query.split() for term in _SPLIT.split(chunk) if _WORD.search(term)}, key=len, reverse=True
    )
    words = sorted({word for term in terms for word in _NAME.findall(term)}, key=len, reverse=True)
    at = 0
    for choice in (terms, words):
        hit = re.search("|".join(map(re.escape, choice)), text, re.IGNORECASE) if choice else None
        if hit:
            at = hit.start()
            break
    start = max(0, min(at - width // 3, len(text) - width))
    end = min(len(text), start + width)
    line = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"


def _phrases(query: str) -> Iterator[str]:
    for chunk in plain(query).replace("\x00", " ").split():
        for piece in _SPLIT.split(chunk):
            if not piece or not _WORD.search(piece):
                continue
            if not _RUN.match(piece):
                yield '"{}"'.format(piece.replace('"', " "))
            elif len(piece) == 1:
                yield f'"{piece}" *'
            else:
                yield '"{}"'.format(" ".join(map(add, piece, piece[1:])))


def _pairs(run: re.Match[str]) -> str:
    """Overlapping pairs, then the last character alone: so that each character begins a token."""
    text = run[0]
    return f" {' '.join(map(add, text, text[1:]))} {text[-1]} "


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner)
