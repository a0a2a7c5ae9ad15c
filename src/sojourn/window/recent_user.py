"""The user's own words, verbatim, each with its status and where to find the whole (W-3 row 4)."""

import re
from collections.abc import Sequence

import msgspec

from sojourn.meter import fit_line
from sojourn.record import File, Image, Message, Text
from sojourn.window.fit import WIDEST, cut_ends
from sojourn.window.texts import USER_ATTACHED, USER_ENTRY, USER_OMISSION
from sojourn.window.types import Count, TurnStatus, UserText

_BREAK = re.compile(r"(\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])")
_ATTACHED_CHARACTERS = 400
_SMALLEST = 12
"""Tokens under which no entry is worth trying."""


class Entry(msgspec.Struct, frozen=True):
    """One message as it stands in the opening."""

    seq: int
    text: str
    tokens: int
    """With one for the blank line behind it."""
    cut: bool = False


class Chosen(msgspec.Struct, frozen=True):
    """What of the user's messages is shown."""

    entries: tuple[Entry, ...]
    """Oldest first."""
    tokens: int
    left_out: int
    """Messages that are not shown."""
    left_out_tokens: int
    """About how many tokens they have."""


def quoted(text: str) -> str:
    """The text with ``> `` before every line: nothing in it can pass for a heading or a line of the engine's."""
    return "> " + _BREAK.sub(r"\1> ", text)


def user_text(message: Message, status: TurnStatus) -> UserText | None:
    """What a message of the user says, its attachments by name; None where it says nothing."""
    text = "\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text.strip())
    names = tuple(
        f"{part.name or part.media_type} (history read m{message.seq})"
        for part in message.parts
        if isinstance(part, Image | File)
    )
    return UserText(message.seq, text, status, names) if text or names else None


def entry(user: UserText, cap: int, count: Count) -> Entry | None:
    """The message within ``cap`` tokens, whole where it fits, else 60% head and 30% tail around a line that says how
    much is left out and how to fetch it; None where not even that line fits."""
    head = USER_ENTRY.format(seq=user.seq, status=user.status)
    names = USER_ATTACHED.format(seq=user.seq, names=fit_line("; ".join(user.attachments), _ATTACHED_CHARACTERS))
    last = [names] if user.attachments else []
    whole = "\n".join([head, *([quoted(user.text)] if user.text else []), *last])
    if len(whole) <= WIDEST * (cap + 1) and (tokens := count(whole)) <= cap:
        return Entry(user.seq, whole, tokens + 1)

    def compose(first: str, end: str, left: int) -> str:
        omission = USER_OMISSION.format(tokens=f"{left:,}", seq=user.seq)
        return "\n".join([head, *([quoted(first)] if first else []), omission, *([quoted(end)] if end else []), *last])

    text = cut_ends(user.text, cap, count, compose)
    return Entry(user.seq, text, count(text) + 1, cut=True) if text else None


class UserTexts:
    """The user's messages before the live tail, oldest first; renders each at most once a cap."""

    def __init__(self, texts: Sequence[UserText], per_message: int, count: Count, answered: int | None = None) -> None:
        """``per_message``: tokens of one message; ``answered``: of one that was answered and is not the newest."""
        self._texts = [text for text in texts if text.text.strip() or text.attachments]
        self._per_message = per_message
        self._answered = per_message if answered is None else min(answered, per_message)
        self._count = count
        self._rendered: dict[int, Entry | None] = {}

    def newest(self) -> int:
        """Tokens of the newest request at its cap; 0 without one."""
        found = self._at(len(self._texts) - 1) if self._texts else None
        return found.tokens if found else 0

    def choose(self, budget: int) -> Chosen:
        """Newest first; what does not fit is skipped and the next one tried. The newest request is always whole up to
        its cap; where the budget is smaller than that, it is cut to the budget."""
        entries: list[Entry] = []
        left, skipped, skipped_tokens = budget, 0, 0
        for index in range(len(self._texts) - 1, -1, -1):
            user = self._texts[index]
            least = min(self._cap(index), len(user.text) // WIDEST)
            found = self._at(index) if least <= left and left >= _SMALLEST else None
            if index == len(self._texts) - 1 and left > 0 and (found is None or found.tokens > left):
                found = entry(user, min(left - 1, self._per_message), self._count)
            if found is not None and found.tokens <= left:
                entries.append(found)
                left -= found.tokens
            else:
                skipped += 1
                skipped_tokens += found.tokens if found is not None else max(1, len(user.text) // 4)
        return Chosen(tuple(reversed(entries)), budget - left, skipped, skipped_tokens)

    def _at(self, index: int) -> Entry | None:
        if index not in self._rendered:
            self._rendered[index] = entry(self._texts[index], self._cap(index), self._count)
        return self._rendered[index]

    def _cap(self, index: int) -> int:
        old = index < len(self._texts) - 1 and self._texts[index].status == "answered"
        return self._answered if old else self._per_message


def recent_user(texts: Sequence[UserText], budget: int, per_message: int, count: Count) -> Chosen:
    """The newest of the user's messages (given oldest first) within ``budget`` tokens, each within ``per_message``."""
    return UserTexts(texts, per_message, count).choose(budget)
