"""What changed between two texts, in a few lines."""

import difflib

import msgspec

_COMPARED_MOST = 2_000
"""Lines between the first and the last change that are compared one by one."""
_SHOWN_MOST = 12
"""Lines of the excerpt."""
_WIDTH = 160
"""Characters of a shown line."""


class Change(msgspec.Struct, frozen=True):
    added: int
    """Lines."""
    removed: int
    lines: tuple[int, int] | None
    """First and last changed line of the new text, from 1 (where lines only went: the one that stands there now)."""
    excerpt: str
    """Hunks of a unified diff without context, at most 12 lines; "" = nothing changed."""


def change(before: str, after: str) -> Change:
    """Texts with ``\\n`` line ends. Whether the last line has one does not count."""
    old, new = _lines(before), _lines(after)
    start = 0
    most = min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old_part, new_part = old[start : len(old) - end], new[start : len(new) - end]
    if not old_part and not new_part:
        return Change(0, 0, None, "")
    if max(len(old_part), len(new_part)) <= _COMPARED_MOST:
        matcher = difflib.SequenceMatcher(None, old_part, new_part)
        hunks = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    else:
        hunks = [(0, len(old_part), 0, len(new_part))]
    first = max(1, min(len(new), start + hunks[0][2] + 1))
    last = max(first, start + hunks[-1][3])
    lines: list[str] = []
    for old_from, old_to, new_from, new_to in hunks:
        lines.append(f"@@ line {start + new_from + 1} @@")
        lines += [f"-{line[:_WIDTH]}" for line in old_part[old_from:old_to][:_SHOWN_MOST]]
        lines += [f"+{line[:_WIDTH]}" for line in new_part[new_from:new_to][:_SHOWN_MOST]]
    total = sum(hunk[1] - hunk[0] + hunk[3] - hunk[2] for hunk in hunks) + len(hunks)
    kept = lines[:_SHOWN_MOST]
    if total > len(kept):
        kept.append(f"[... {total - len(kept)} more lines of the diff]")
    added = sum(hunk[3] - hunk[2] for hunk in hunks)
    removed = sum(hunk[1] - hunk[0] for hunk in hunks)
    return Change(added, removed, (first, last), "\n".join(kept))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
