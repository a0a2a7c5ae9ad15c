"""In which script people and items are written, as far as it is clear (K-6, report 92)."""

import re
from collections.abc import Iterable
from typing import Literal

Script = Literal["cjk", "latin"]

_SCRIPTS: tuple[Script, ...] = ("cjk", "latin")
_LITERAL = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|https?://\S+", re.S)
_NAME = re.compile(
    r"(?<![A-Za-z0-9_./\\:@#=+-])(?=[\w./\\:@#=+-]*(?:[\d_./\\:@#=+]\w|[a-z][A-Z]|[A-Z]{2}))[A-Za-z0-9_./\\:@#=+-]+", re.A
)
"""Identifiers, paths, versions, abbreviations: the same in every language."""
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_CHARACTERS_A_WORD = 1.7
_FEW_CHARACTERS, _FEW_WORDS = 4, 3
"""From these on a text says in which language it is."""
_AMONG = 0.3
"""Words of the one script for each of the other from which a text is in the first: pasted output may stand beside it."""
_CLEAR = 0.6
"""Share of a person's messages."""
_ITEM_WORDS, _ITEM_CHARACTERS = 6, 8
"""Of an item, until which it may be in any language: a name, a number, a line of output."""


def script_of(texts: Iterable[str]) -> Script | None:
    """The script in which most of the messages are written; None where that is not clear."""
    kinds = [kind for text in texts if (kind := _kind(text))]
    for script in _SCRIPTS:
        if kinds and kinds.count(script) >= _CLEAR * len(kinds):
            return script
    return None


def is_foreign(text: str, script: Script | None) -> bool:
    """Whether an item is plainly written in another script; literals and identifiers in it do not count."""
    if script is None:
        return False
    characters, words = _count(text)
    if script == "cjk":
        return words >= _ITEM_WORDS and characters < _AMONG * words
    return characters >= _ITEM_CHARACTERS and characters / _CHARACTERS_A_WORD > words


def _kind(text: str) -> Script | None:
    characters, words = _count(text)
    if characters >= _FEW_CHARACTERS:
        return "cjk" if characters / _CHARACTERS_A_WORD >= _AMONG * words else None
    return "latin" if not characters and words >= _FEW_WORDS else None


def _count(text: str) -> tuple[int, int]:
    """Characters of Chinese, Japanese and Korean; plain words of Latin letters."""
    plain = _NAME.sub(" ", _LITERAL.sub(" ", text))
    return len(_CJK.findall(plain)), len(_WORD.findall(plain))
