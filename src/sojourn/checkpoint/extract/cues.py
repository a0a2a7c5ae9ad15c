"""Turns of phrase that make a sentence worth keeping whoever wrote it: values, bounds, reasons, contrasts (K-10)."""

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

_UNITS = (
    r"%|°|ms|µs|ns|s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|h|days?|weeks?|months?|years?|milliseconds?|[kMGT]i?B|[kMG]?b(?:it)?s?"
    r"|bytes?|chars?|characters?|tokens?|rows?|lines?|items?|entries|requests?|calls?|retries|attempts?|times|connections?"
    r"|workers?|threads?|files?|users?|m|mm|cm|km|met(?:er|re)s?|px|kg|[kM]?Hz|x"
)
_HAN_UNITS = (
    "毫秒|秒|分钟|小时|天|周|个月|月|年|次|个|条|行|列|字节|字符|兆|元|块|倍|度|米|毫米|厘米|公里|克|人|台|份|页|批|级|层|位"
)
_VALUE = re.compile(
    r"(?<![A-Za-z0-9_#./:-])[+-]?(?:"
    rf"\d[\d,_]*(?:\.\d+)*\s?(?:(?:{_UNITS})(?![A-Za-z0-9_])|(?:{_HAN_UNITS}))"
    r"|\d{4}-\d\d-\d\d|\d[\d,_]*(?:\.\d+)+|\d[\d,_]*\d)(?![A-Za-z0-9_/])"
    r"|(?<![\w./-])(?=[A-Za-z0-9-]*\d)[A-Za-z]{2,}(?:-[A-Za-z0-9]+)+(?![\w/-])"
    r"|(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?!\w)",
    re.A,
)
"""A number with a unit or of two digits and more, a date, a hash, a name with a number (``AB-12``)."""
_NAME = re.compile(
    r"`[^`]+`|\b[A-Za-z]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|(?<![\w/])/\w|\b[A-Za-z_]\w*(?:\.\w+)*\(\)", re.A
)

_LETTERS = bytes(byte if chr(byte).isalnum() or chr(byte) in "_\n" else ord(" ") for byte in range(128)) + b" " * 128
_ODD_LETTERS = str.maketrans("ıſİ", "isi")
"""Letters that are others in the other case: patterns that are blind to case take them for those."""
_asked_for: set[bytes] = set()
_DIGIT = re.compile(r"[0-9][^ ]*")
"""Every value has one."""
_NAME_SIGN = re.compile(r"[_/(A-Z](?:(?<=_)|(?<=/)\w|(?<=\()\)|(?<=[a-z][A-Z]))[^ ]*", re.A)
"""Every name has one that is not quoted."""


def values(text: str) -> list[str]:
    """Numbers with a unit or of two digits and more, dates, hashes, names with a number (``AB-12``), in order."""
    return found_near(_DIGIT, _VALUE, text)


def names(text: str) -> int:
    """How many names stand in a text: of things in code, of places, quoted ones."""
    return len(_NAME.findall(text)) if "`" in text else len(found_near(_NAME_SIGN, _NAME, text))


def found_near(sign: re.Pattern[str], pattern: re.Pattern[str], text: str) -> list[str]:
    """What a costly pattern finds, tried only in words (from space to space) with a sign and in the word after each.

    ``sign`` matches up to the end of its word. Nothing is missed where every match of ``pattern`` holds a sign in its first
    word and ends in the next one at the latest.
    """
    result: list[str] = []
    start, end = 0, -1
    for found in sign.finditer(text):
        if found.start() > end:
            if end >= 0:
                result += [one[0] for one in pattern.finditer(text, start, end)]
            start = text.rfind(" ", 0, found.start()) + 1
        end = text.find(" ", found.end() + 1)
        end = len(text) if end < 0 else end
    if end >= 0:
        result += [one[0] for one in pattern.finditer(text, start, end)]
    return result


class Sentence(NamedTuple):
    """A sentence, ready for many patterns to be looked for in it."""

    text: str
    low: str
    """In lower case, character for character."""
    words: Set[bytes]
    """Of its words in lower case (ASCII letters, digits and ``_``) those that ``asked_for`` was told of."""


def read_sentences(texts: Sequence[str]) -> tuple[Sentence, ...]:
    """The sentences that those texts (one line each) are."""
    if not texts:
        return ()
    whole = "\n".join(texts)
    low = whole.lower()
    if not whole.isascii() and (len(low) != len(whole) or "ı" in low or "ſ" in low):
        low = whole.translate(_ODD_LETTERS).lower()
    words = low.encode("ascii", "replace").translate(_LETTERS).split(b"\n")
    asked = _asked_for.intersection
    return tuple(
        Sentence(text, line, asked(found.split())) for text, line, found in zip(texts, low.split("\n"), words, strict=True)
    )


def asked_for(words: str) -> frozenset[bytes]:
    """Words (parted by spaces, in lower case) for ``Sentence.words`` to show from now on."""
    asked = frozenset(words.encode().split())
    _asked_for.update(asked)
    return asked


class Cues:
    """Turns of phrase, found at the speed of looking up words.

    ``words`` decide by themselves. A ``phrase`` (between bounds of words, in lower case) is tried only where one of its
    ``keys`` stands, words that it cannot do without, or one of its ``pairs`` of common words; ``han`` only beyond ASCII.
    Letters count in either case.
    """

    def __init__(self, words: str, phrases: str, keys: str, han: str, pairs: tuple[str, ...] = ()) -> None:
        self._words = asked_for(words)
        self._keys = asked_for(keys)
        self._either = self._words | self._keys
        self._pairs = pairs
        self._common = asked_for(" ".join(re.split(r"\W", pair)[0] for pair in pairs))
        self._english = re.compile(rf"\b(?:{'|'.join([*words.split(), phrases])})\b")
        self._han = re.compile(han)

    def stand_in(self, sentence: Sentence) -> bool:
        """Whether one of them stands in it."""
        text, low, words = sentence
        if not text.isascii():
            if self._han.search(text):
                return True
        elif not self._words.isdisjoint(words):
            return True
        if self._either.isdisjoint(words) and (self._common.isdisjoint(words) or not any(pair in low for pair in self._pairs)):
            return False
        return self._english.search(low) is not None


REASON = Cues(
    words="because since therefore thus hence otherwise",
    phrases=r"so that|which means|means that|due to|in order to|as (?:the|it|they|we)|or else"
    r"|would (?:have|need|be|break|bring|make|mean|lose)|too (?:slow|large|big|many|much|few|long|late|risky|costly)",
    keys="means due order else would too",
    pairs=("so that", "as the", "as it", "as we"),
    han=r"因为|所以|因此|由于|以便|意味着|否则|以免|免得|为了|这样才|太(?:慢|大|多|贵|长|复杂|晚|小)",
)
CONTRAST = Cues(
    words="instead only never",
    phrases=r"not(?:(?<=[,;(]not)|(?<=[,;(] not)|(?<=[,;(]and not)|(?<=[,;(] and not))|not\b[^.;]{1,50}\bbut|rather than"
    r"|no longer",
    keys="not rather longer",
    han=r"而不是|而非|不再|不是|不(?:(?<=[，,；]不)|(?<=[，,；] 不))(?!过|但|仅)|只(?!是|要|有)|另一(?:个|种)",
)
