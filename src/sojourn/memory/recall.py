"""Finding documents by words (Y-1): any of the words, the best first, nothing far below the best."""

import re
from collections.abc import Iterable, Sequence

from sojourn.base import SojournError
from sojourn.memory import layout
from sojourn.memory.files import as_text, guarded, read
from sojourn.memory.index import Index
from sojourn.memory.types import Belonging, MemoryHit, Scope
from sojourn.record.search import index_text, match_query, snippet

FLOOR = 0.15
"""Hits under this share of the best one's score are left out."""
_MOST_TERMS = 64
_SNIPPET_CHARACTERS = 240
_WORD = re.compile(r"\w+")


def search(index: Index, query: str, belonging: Belonging, scope: Scope | None, limit: int) -> Sequence[MemoryHit]:
    """Best first, at most ``limit``; an empty query, or one of signs alone, finds nothing."""
    wanted = words(query)
    if limit < 1 or not wanted:
        return ()
    terms = [match for word in wanted if (match := match_query(word))]
    found = index.ranked(layout.tops(belonging, scope), terms, limit)
    hits = []
    for path, score in found:
        if score >= FLOOR * found[0][1] and (hit := _hit(index, path, score, query, wanted, (belonging.project_id,))):
            hits.append(hit)
    return tuple(hits)


def words(query: str) -> tuple[str, ...]:
    """What is looked for: the words that the index would hold for this text, identifiers in their pieces too, each CJK run as
    its pairs. At most 64."""
    found: dict[str, str] = {}
    for one in _WORD.findall(index_text(query)):
        if match_query(one):
            found.setdefault(one.lower(), one)
    pairs = {character for word in found for character in word if len(word) > 1 and not word.isascii()}
    # the index ends each CJK run with its last character alone; asked for, it would find half the language
    kept = [one for one in found.values() if len(one) > 1 or one.isascii() or one not in pairs]
    return tuple(kept[:_MOST_TERMS])


def _hit(index: Index, path: str, score: float, query: str, wanted: Sequence[str], known: Iterable[str]) -> MemoryHit | None:
    """None where the document has gone since."""
    locator = layout.locator_of(index.root, path, known)
    try:
        content = read(guarded(index.root, index.root / path))
    except SojournError:
        return None
    if locator is None or content is None:
        return None
    lines = as_text(content.data).split("\n")
    best = _best_line(lines, wanted)
    shown = snippet("\n".join(lines[best : best + 3]), query, _SNIPPET_CHARACTERS)
    return MemoryHit(locator, str(index.root / path), best + 1, shown, score)


def _best_line(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """The first line with the most of the words; the first with text where none has any (the name was found)."""
    folded = [word.lower() for word in wanted]
    counts = [sum(word in line for word in folded) for line in (line.lower() for line in lines)]
    most = max(counts)
    if not most:
        return next((number for number, line in enumerate(lines) if line.strip()), 0)
    return counts.index(most)
