"""What counts as an identifier in a text, and what a line of text is about (T-6). Pure, by regular expressions."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

Kind = Literal["path", "symbol", "number", "hash", "url", "error", "sentence"]

_RUN_WORDS = 5
"""Content words in a row that make a repeated user sentence; Chinese: ``_RUN_CHARACTERS``."""
_RUN_CHARACTERS = 8

_TOKEN = re.compile(
    r"""https?://[^\s<>"'`()\[\]{}\\]+ | \d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*Z?
    | \d{1,3}(?:,\d{3})+(?:\.\d+)? | \d{1,2}:\d\d(?::\d\d)?(?![\w:])
    | (?<!\w)(?![A-Za-z]?[a-z]+(?![\w./@+%~-])) [~\w./@+%-]{2,}""",
    re.ASCII | re.VERBOSE,
)
_EXTENSIONS = """
    py pyi js mjs cjs ts tsx jsx json jsonl yaml yml toml md rst txt log cfg ini conf sh sql html css rs go java kt c h cc
    cpp hpp rb php proto csv tsv lock env xml svg png jpg ipynb service diff patch vue swift cs lua zig ex exs scala
"""
_FILE = re.compile(rf"[\w.@+~-]*[\w-]\.(?:{'|'.join(_EXTENSIONS.split())})", re.ASCII)
_HASH = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]")
_UNIT = r"%|[mun]?s|min|[hdx]|[kKMGT]i?[bB]?|B|[kM]?Hz|px|r?em|pt|[cmk]?m|kg"
_NUMBER = re.compile(
    rf"\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d{{4}}-\d\d-\d\d|\d+(?:_\d{{3}})*(?:[.:]\d+)*(?:[eE][+-]?\d+)?({_UNIT})?", re.ASCII
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+", re.ASCII)
_HUMP = re.compile(r"[a-z0-9][A-Z]")
_SPLIT = re.compile(r"[^\w.]+|\.{2,}", re.ASCII)
_BACKTICKED = re.compile(r"`([^`\s]{3,80})`")
_ERROR = re.compile(r"Error|Exception|error:|ERROR|FAILED|fatal:|panic:")
_ERROR_SAYS = re.compile(r"(?:\w*(?:Error|Exception)|error|ERROR|fatal|panic):\s*(\S.{7,199})")
_QUOTED = re.compile(r"""'([^'\n]{4,160})'|"([^"\n]{4,160})"|`([^`\n]{4,160})`""")
_SENTENCE_END = re.compile(r"\n+|(?<=[.!?])\s+|(?<=[。！？；])")
_WORD = re.compile(r"[A-Za-z0-9_]{3,}")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_COMMON = """
    the and for are was were has have had not but you your our its this that these those with from into then than them
    they there here will would can could should may must does did done let lets any all also just now what when where
    which who why how out about after before over under only same some such too very per via one two use used using get
    got see new
"""
_STOP = frozenset(_COMMON.split())


@lru_cache(maxsize=65536)
def _classify(token: str) -> tuple[tuple[str, Kind], ...]:
    """The identifiers in one run of characters, with their kinds."""
    token = token.rstrip(".,:;!?-+@")
    if token.startswith(("http://", "https://")):
        return ((token, "url"),)
    token = token.lstrip("-+@%")
    if len(token) < 2:
        return ()
    if "/" in token and _is_path(token):
        return ((token, "path"),)
    if _STAMP.match(token):
        return ((token[:10], "number"),)
    if _HASH.fullmatch(token):
        return ((token, "hash"),)
    if number := _NUMBER.fullmatch(token):
        return ((_plain_number(token), "number"),) if _is_telling(token, number[1]) else ()
    if _FILE.fullmatch(token):
        return ((token, "path"),)
    bare = token.removeprefix("self.").removeprefix("cls.")
    if _is_symbol(bare):
        return ((bare, "symbol"),)
    pieces = [piece for piece in _SPLIT.split(token) if piece]
    return tuple(found for piece in pieces for found in _classify(piece)) if pieces != [token] else ()


def _is_path(token: str) -> bool:
    """A slash alone is not enough: ``and/or``, ``MB/s`` and ``3/4`` are no paths."""
    parts = [part for part in token.split("/") if part]
    if not parts or not any(character.isalpha() for character in token):
        return False
    rooted = token.startswith(("/", "./", "../", "~/")) and len(token) > 3
    return rooted or len(parts) > 2 or (len(parts) == 2 and _FILE.fullmatch(parts[-1]) is not None) or token.endswith("/")


def _is_telling(token: str, unit: str | None) -> bool:
    """Numbers of three digits or more, with decimals, or with a unit; never zero."""
    digits = sum(character.isdigit() for character in token)
    return any(character in "123456789" for character in token) and (digits >= 3 or bool(unit) or "." in token or ":" in token)


def _plain_number(token: str) -> str:
    return token.replace(",", "").replace("_", "")


def _is_symbol(token: str) -> bool:
    if _NAME.fullmatch(token):
        return len(token) > 3 and ("_" in token.strip("_") or _HUMP.search(token) is not None)
    return _DOTTED.fullmatch(token) is not None


def scan(text: str) -> Iterator[tuple[str, Kind, int]]:
    """Every identifier in a text with its place, errors and sentences apart."""
    for match in _TOKEN.finditer(text):
        for identifier, kind in _classify(match[0]):
            yield identifier, kind, match.start()
    if "`" in text:
        for match in _BACKTICKED.finditer(text):
            if _NAME.fullmatch(match[1]) and not _classify(match[1]):
                yield match[1], "symbol", match.start()


def scan_errors(text: str) -> Iterator[tuple[str, int]]:
    """What lines with an error quote, and what they say: three words or more after the error's name."""
    after = 0
    for match in _ERROR.finditer(text):
        if match.start() < after:
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        after = text.find("\n", start)
        after = len(text) if after < 0 else after
        line = text[start:after]
        for phrase in quoted(line):
            if not _classify(phrase):
                yield phrase, start
        if (says := _ERROR_SAYS.search(line)) and says[1].count(" ") >= 2:
            yield says[1].strip(), start


def quoted(line: str) -> Iterator[str]:
    for match in _QUOTED.finditer(line):
        yield (match[1] or match[2] or match[3]).strip()


def runs(text: str) -> list[str]:
    """Every five content words in a row, every eight Chinese characters in a row."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _STOP]
    runs = [" ".join(words[i : i + _RUN_WORDS]) for i in range(len(words) - _RUN_WORDS + 1)]
    for han in _HAN.findall(text):
        runs += [han[i : i + _RUN_CHARACTERS] for i in range(len(han) - _RUN_CHARACTERS + 1)]
    return runs


def sentences(text: str) -> list[str]:
    """Its sentences, each on one line of the text."""
    return [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]


@lru_cache(maxsize=32768)
def content_words(line: str) -> frozenset[str]:
    """Words of three characters or more without the commonest, lower case; Chinese as pairs of characters."""
    words = {word for word in _WORD.findall(line.lower()) if word not in _STOP}
    words.update(han[i : i + 2] for han in _HAN.findall(line) for i in range(len(han) - 1))
    return frozenset(words)


def whole(text: str, form: str) -> Iterator[int]:
    """Places where it stands by itself: not inside a longer word or number."""
    if not form:
        return
    numeric = form[0].isdigit()
    at = text.find(form)
    while at >= 0:
        end = at + len(form)
        left = text[at - 1 : at]
        right = text[end : end + 1]
        inside = (_wordy(form[0]) and _wordy(left)) or (_wordy(form[-1]) and _wordy(right))
        if numeric and not inside:
            inside = (left in (".", ",") and text[max(0, at - 2) : at - 1].isdigit()) or (
                right in (".", ",") and text[end + 1 : end + 2].isdigit()
            )
        if not inside:
            yield at
        at = text.find(form, at + 1)


def _wordy(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
