"""Whether a word of a command that a shell would fill in (``cat .e*``) could mean what a path pattern means (Y-6). Pure.

Better once too often than once too seldom: a set (``[ab]``) counts as any character.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from sojourn.tools.globs import written_out

_TOKEN = re.compile(r"\\.|\[[!^]?\]?[^]]*\]|.", re.DOTALL)
_STAR = "*"
_ANY = "?"
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_BRACES_MOST = 100
_DEEP = "**"


def has_wildcard(word: str) -> bool:
    """Whether a shell would put names in place of the word."""
    return any(mark in word for mark in "*?[{")


def words_of_braces(word: str) -> list[str]:
    """``a{b,c}`` written out; where that are too many, with a star for each brace."""
    words = written_out(word, _BRACES, _BRACES_MOST)
    return [_BRACES.sub("*", word)] if words is None else list(dict.fromkeys(words))


def may_meet(word: str, pattern: str, *, dots: bool = True) -> bool:
    """Whether an absolute word can come to a path that the pattern means, or to one below. A pattern with a slash (not at
    its end) is an absolute path, one without a name anywhere. ``dots``: a star at the beginning of a name takes in
    names that begin with a dot."""
    wanted = pattern.strip("/").split("/")
    if "/" not in pattern.rstrip("/"):
        wanted = [_DEEP, *wanted]
    return _meet(tuple(name for name in word.split("/") if name), tuple(wanted), dots)


def _meet(word: tuple[str, ...], pattern: tuple[str, ...], dots: bool) -> bool:
    """Row by row: which rests of the pattern can begin at each name of the word."""
    open_at = set(_started(pattern, 0))
    for name in word:
        if len(pattern) in open_at:
            return True
        open_at = {
            then
            for at in open_at
            if pattern[at] == _DEEP or _names_meet(name, pattern[at], dots)
            for then in _started(pattern, at if pattern[at] == _DEEP else at + 1)
        }
    return any(all(one == _DEEP for one in pattern[at:]) for at in open_at)


def _started(pattern: Sequence[str], at: int) -> Iterator[int]:
    yield at
    while at < len(pattern) - 1 and pattern[at] == _DEEP:
        at += 1
        yield at


@lru_cache(maxsize=4096)
def _names_meet(one: str, other: str, dots: bool) -> bool:
    """Whether some name fits both patterns."""
    if not dots and has_wildcard(one[:1]) and other.removeprefix("\\").startswith("."):
        return False
    left, right = _tokens(one), _tokens(other)
    reached = {0}
    """Places in ``right`` that what was taken of ``left`` can stand at."""
    for token in left:
        if token == _STAR:
            reached = set(range(min(_passed(right, reached)), len(right) + 1)) if reached else set()
            continue
        reached = {
            at if right[at] == _STAR else at + 1
            for at in _passed(right, reached)
            if at < len(right) and (right[at] == _STAR or _ANY in (token, right[at]) or token == right[at])
        }
    return len(right) in _passed(right, reached)


def _passed(tokens: Sequence[str], places: set[int]) -> set[int]:
    """With the places behind stars, which may stand for nothing."""
    found = set(places)
    for at in range(len(tokens)):
        if at in found and tokens[at] == _STAR:
            found.add(at + 1)
    return found


def _tokens(pattern: str) -> list[str]:
    """Characters; stars in a row are one."""
    tokens: list[str] = []
    for token in _TOKEN.findall(pattern):
        if len(token) == 1:
            if token != _STAR or tokens[-1:] != [_STAR]:
                tokens.append(token)
        else:
            escaped = token[1:] if token[0] == "\\" else _ANY
            tokens.append(_ANY if escaped == _STAR else escaped)
    return tokens
