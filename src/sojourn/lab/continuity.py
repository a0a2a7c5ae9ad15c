"""What later work needs, and whether it is still in view after a rebuild (T-6, N9). Pure.

At each boundary: the identifiers that occurred before it and that the assistant uses after it before a result or a user
message shows them again. Recall is the share of them that still stands in the view, in its context.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from sojourn.lab.identifiers import Kind, content_words, quoted, runs, scan, scan_errors, sentences, whole
from sojourn.record import File, Message, Text, ToolCall

_CONTEXT = 2
"""Other content words of the original line that a line of the view must share."""
_LINES_KEPT = 64
"""Original lines that are looked at: the first and the newest."""
_LINE_REACH = 300
"""Characters each side of an identifier that count as its line: minified JSON is one line."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """An identifier that the assistant needed after a boundary (T-6)."""

    identifier: str
    kind: Kind
    first_seq: int
    """Where it first occurred."""
    line: str
    """The line in which it first occurred; of a call's argument ``name(arg=value)``."""
    used_seq: int = 0
    """Where it was first used after the boundary."""
    lines: tuple[str, ...] = ()
    """Lines in which it occurred before the boundary: the first and the newest 63."""
    run: str = ""
    """Sentences: the words in a row (Chinese: the characters) that were repeated."""


class _Segment(NamedTuple):
    """A text and how one of its lines reads."""

    text: str
    prefix: str = ""
    suffix: str = ""

    def raw(self, at: int) -> str:
        start = max(self.text.rfind("\n", 0, at) + 1, at - _LINE_REACH)
        end = self.text.find("\n", at)
        return self.text[start : min(len(self.text) if end < 0 else end, at + _LINE_REACH)].strip()

    def line(self, at: int) -> str:
        return f"{self.prefix}{self.raw(at)}{self.suffix}"


class _Place(NamedTuple):
    seq: int
    segment: _Segment
    at: int


class _Use(NamedTuple):
    identifier: str
    kind: Kind
    place: _Place
    run: str = ""


class _Seen(NamedTuple):
    """What one message uses and shows, in this order: a model writes its calls before it sees their results."""

    seq: int
    uses: tuple[_Use, ...]
    shows: frozenset[str]
    shown: tuple[_Segment, ...]


def plain_text(messages: Sequence[Message]) -> str:
    """The messages as lines of text, as this measure reads them: texts, ``name(arg=line)`` for each line of an argument,
    results. Thinking and notices are left out."""
    segments = [segment for message in messages for segment in (*_said(message), *_shown(message))]
    return "\n".join(f"{one.prefix}{line}{one.suffix}" for one in segments for line in one.text.split("\n"))


def _said(message: Message) -> list[_Segment]:
    """What the assistant wrote: its texts and its calls' arguments."""
    if message.role != "assistant":
        return []
    segments = []
    for part in message.parts:
        if isinstance(part, Text):
            segments.append(_Segment(part.text))
        elif isinstance(part, ToolCall):
            if part.raw_arguments or not part.arguments:
                segments.append(_Segment(part.raw_arguments, f"{part.name}(", ")"))
            for key, value in part.arguments.items():
                text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
                segments.append(_Segment(text, f"{part.name}({key}=", ")"))
    return segments


def _shown(message: Message) -> list[_Segment]:
    """What was put before the assistant: user texts and results."""
    if message.role == "user":
        return [_Segment(part.text) for part in message.parts if isinstance(part, Text)]
    parts = (one for part in message.parts if isinstance(part, ToolCall) for one in part.result)
    return [_Segment(one.text if isinstance(one, Text) else one.excerpt) for one in parts if isinstance(one, Text | File)]


# --- what is asked for --------------------------------------------------------------------------------------------


class SessionIndex:
    """Every occurrence in a session, found once; then any boundary is cheap."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._places: dict[str, list[_Place]] = {}
        self._errors: set[str] = set()
        self._sentences: dict[str, tuple[str, _Place]] = {}
        """By run: the sentence that holds it first."""
        self._seen = [self._read(message) for message in messages]
        self._seqs = [seen.seq for seen in self._seen]

    def needed_after(self, boundary_seq: int, upto_seq: int) -> tuple[Asked, ...]:
        """What the assistant needed in (boundary_seq, upto_seq] from what it had seen up to boundary_seq (T-6).

        In the order of first use, each identifier once.
        """
        asked: dict[str, Asked] = {}
        shown: set[str] = set()
        texts: list[_Segment] = []
        for i in range(bisect_right(self._seqs, boundary_seq), bisect_right(self._seqs, upto_seq)):
            seen = self._seen[i]
            for use in seen.uses:
                if use.identifier in shown or use.identifier in asked:
                    continue
                found = self._ask(use, boundary_seq)
                if found is None:
                    continue
                if any(_shows(text, use) for text in texts):
                    shown.add(use.identifier)
                else:
                    asked[use.identifier] = found
            shown |= seen.shows
            texts += seen.shown
        return tuple(asked.values())

    def _ask(self, use: _Use, boundary_seq: int) -> Asked | None:
        if use.run:
            first = self._sentences[use.run][1]
            if first.seq > boundary_seq:
                return None
            return Asked(use.identifier, "sentence", first.seq, use.identifier, use.place.seq, (use.identifier,), use.run)
        places = self._places.get(use.identifier, [])
        before = bisect_right(places, boundary_seq, key=lambda place: place.seq)
        if not before:
            return None
        kept = places[:1] + places[max(1, before - _LINES_KEPT + 1) : before]
        # A bare number proves nothing (``offset=400``): it must stand with a word that it stood with before.
        if use.kind == "number":
            words = _others(use.place.segment.raw(use.place.at), use.identifier)
            if not any(words & _others(place.segment.raw(place.at), use.identifier) for place in kept):
                return None
        lines = tuple(dict.fromkeys(place.segment.line(place.at) for place in kept))
        return Asked(use.identifier, use.kind, places[0].seq, lines[0], use.place.seq, lines)

    def _read(self, message: Message) -> _Seen:
        """Takes in one message. What it uses is looked up in what came before it."""
        uses: list[_Use] = []
        shows: set[str] = set()
        for segment in _said(message):
            for identifier, kind, at in scan(segment.text):
                place = self._add(identifier, message.seq, segment, at)
                uses.append(_Use(identifier, kind, place))
            uses += self._repeats(message.seq, segment)
        shown = _shown(message)
        for segment in shown:
            for identifier, _, at in scan(segment.text):
                self._add(identifier, message.seq, segment, at)
                shows.add(identifier)
            for phrase, at in scan_errors(segment.text):
                self._errors.add(phrase)
                self._add(phrase, message.seq, segment, at)
                shows.add(phrase)
            if message.role == "user" and message.origin == "user":
                self._add_sentences(message.seq, segment)
        return _Seen(message.seq, tuple(uses), frozenset(shows), tuple(shown))

    def _repeats(self, seq: int, segment: _Segment) -> Iterator[_Use]:
        """Errors that are quoted and user sentences that are said again."""
        if self._errors:
            for phrase in quoted(segment.text):
                for identifier in (phrase, phrase.rsplit(": ", 1)[-1]):
                    if identifier in self._errors:
                        yield _Use(identifier, "error", _Place(seq, segment, max(0, segment.text.find(phrase))))
                        break
        for run in runs(segment.text) if self._sentences else ():
            if run in self._sentences:
                yield _Use(self._sentences[run][0], "sentence", _Place(seq, segment, 0), run)

    def _add(self, identifier: str, seq: int, segment: _Segment, at: int) -> _Place:
        place = _Place(seq, segment, at)
        self._places.setdefault(identifier, []).append(place)
        return place

    def _add_sentences(self, seq: int, segment: _Segment) -> None:
        for sentence in sentences(segment.text):
            for run in runs(sentence):
                self._sentences.setdefault(run, (sentence, _Place(seq, segment, 0)))


def needed_after(messages: Sequence[Message], boundary_seq: int, upto_seq: int) -> tuple[Asked, ...]:
    """One boundary of a session; for several build one SessionIndex. ``upto_seq``: the next boundary, or the head (T-6)."""
    return SessionIndex(messages).needed_after(boundary_seq, upto_seq)


# --- whether it is in view ----------------------------------------------------------------------------------------


class ViewIndex:
    """The text in view after a rebuild (opening and live tail), ready to be asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known_runs: frozenset[str] | None = None

    def lines_with(self, identifier: str) -> Iterator[str]:
        """Each line in which the identifier stands as a whole, once."""
        forms = {identifier}
        if identifier.isdigit():
            forms |= {f"{int(identifier):,}", f"{int(identifier):_}"}
        for form in sorted(forms):
            after = 0
            for at in whole(self._text, form):
                if at < after:
                    continue
                start = self._text.rfind("\n", 0, at) + 1
                end = self._text.find("\n", at + len(form))
                after = len(self._text) if end < 0 else end
                yield self._text[start:after]

    def repeats(self, run: str) -> bool:
        """Whether these words stand in a row on one line."""
        if self._known_runs is None:
            self._known_runs = frozenset(run for line in self._text.split("\n") for run in runs(line))
        return run in self._known_runs


def visible(asked: Asked, view_lines: ViewIndex) -> bool:
    """Whether it stands in a line of the view with at least two other content words of a line that it came from (T-6).

    Original lines with fewer than two other words count only where it has no better one, and then need all they have.
    A sentence is in view where the words that were repeated stand in a row on one line.
    """
    if asked.run:
        return view_lines.repeats(asked.run)
    contexts = [_others(line, asked.identifier) for line in asked.lines or (asked.line,)]
    rich = [words for words in contexts if len(words) >= _CONTEXT] or contexts
    for line in view_lines.lines_with(asked.identifier):
        words = content_words(line)
        if any(len(context & words) >= min(_CONTEXT, len(context)) for context in rich):
            return True
    return False


def recall(asked: Sequence[Asked], view_text: str) -> tuple[int, int]:
    """(how many of them are in view, how many were asked for) (T-6)."""
    view = ViewIndex(view_text)
    return sum(visible(one, view) for one in asked), len(asked)


def _others(line: str, identifier: str) -> frozenset[str]:
    return content_words(line) - content_words(identifier)


def _shows(segment: _Segment, use: _Use) -> bool:
    """Whether a text shows it again: also as a part of a longer path or dotted name, which the index holds apart."""
    if not use.run:
        return next(whole(segment.text, use.identifier), None) is not None
    lower = segment.text.lower()
    return all(word in lower for word in use.run.split()) and use.run in runs(segment.text)
