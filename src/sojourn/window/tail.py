"""The cut of a live tail that is too large to stand in a window (W-2): results are shortened, never dropped."""

from collections.abc import Iterable, Sequence

import msgspec

from sojourn.meter import estimate_text, part_tokens, total
from sojourn.record import File, Message, Part, ResultPart, Text, ToolCall, Trim
from sojourn.window.fit import ends_of
from sojourn.window.texts import TAIL_OMISSION
from sojourn.window.types import Count

_HEAD, _TAIL = 0.6, 0.3
_LEASTS = (1_000, 200, 40)
"""Tokens that a result keeps at least; the next one counts only when all are at the one before."""
_MOST_RATIO = 3
"""Calibration never goes above this (M-2): a tail that fits at it needs no count."""


class _Piece(msgspec.Struct):
    """A text that may be cut."""

    seq: int
    part: int
    text: str
    whole: int
    """Its calibrated tokens."""
    tokens: int
    """As it will be sent."""
    trim: Trim | None = None


def trim_tail(messages: Sequence[Message], budget: int, count: Count) -> tuple[Trim, ...]:
    """The cuts that bring the messages to ``budget`` calibrated tokens, in the order of the messages (W-2).

    Tool results first, the largest first, each no further than needed and to 1,000 tokens at least (then 200, then 40),
    then attachments in the same way, then what people wrote: only where it alone is larger than what may be sent
    (report 22). Head and tail are kept. What the model wrote is never cut, so a tail of such text may stay above the budget.
    """
    parts = [part for message in messages for part in message.parts]
    estimated = sum(total(part_tokens(part)) for part in parts)
    if estimated * _MOST_RATIO <= budget:
        return ()
    results = [
        _piece(message.seq, index, part, count)
        for message in messages
        for index, part in enumerate(message.parts)
        if isinstance(part, ToolCall)
    ]
    attachments = [
        _piece(message.seq, index, part, count)
        for message in messages
        for index, part in enumerate(message.parts)
        if isinstance(part, File)
    ]
    speech = [
        _piece(message.seq, index, part, count)
        for message in messages
        for index, part in enumerate(message.parts)
        if isinstance(part, Text) and _is_speech(part, message)
    ]
    rest = sum(_uncut(part, count) for message in messages for part in message.parts if not _is_speech(part, message))
    over = rest + sum(piece.whole for piece in (*results, *attachments, *speech)) - budget
    for pieces in (results, attachments, speech):
        for least in _LEASTS:
            for piece in sorted(pieces, key=lambda one: -one.tokens):
                if over > 0:
                    over -= _shorten(piece, max(least, piece.tokens - over), count)
    cuts = {(piece.seq, piece.part): piece.trim for piece in (*results, *attachments, *speech) if piece.trim is not None}
    return tuple(
        cuts[key]
        for message in messages
        for key in ((message.seq, index) for index in range(len(message.parts)))
        if key in cuts
    )


def _is_speech(part: Part, message: Message) -> bool:
    return isinstance(part, Text) and message.role == "user"


def _piece(seq: int, index: int, part: ToolCall | File | Text, count: Count) -> _Piece:
    text = "".join(_texts(part))
    tokens = count(text) if text else 0
    return _Piece(seq, index, text, tokens, tokens)


def _uncut(part: Part, count: Count) -> int:
    """Tokens of what of the part is never cut."""
    if isinstance(part, File):
        return 0
    if isinstance(part, Text):
        return count(part.text)
    tokens = total(part_tokens(part))
    if isinstance(part, ToolCall):
        tokens -= sum(total(part_tokens(one)) for one in part.result if isinstance(one, Text | File))
    return tokens


def _shorten(piece: _Piece, to: int, count: Count) -> int:
    """Cuts the piece to at most ``to`` tokens, its omission line included; returns how many tokens that saved."""
    if to >= piece.tokens:
        return 0
    scale = 1.0
    for _ in range(12):
        characters = len(piece.text) * to * scale / piece.whole
        first, last = ends_of(piece.text, int(characters * _HEAD), int(characters * _TAIL))
        tokens = count(first + _omission(piece.whole, piece.seq) + last)
        if tokens <= to:
            saved = piece.tokens - tokens
            piece.trim = Trim(piece.seq, piece.part, len(first), len(last))
            piece.tokens = tokens
            return saved
        scale *= 0.85
    return 0


def _omission(tokens: int, seq: int) -> str:
    return f"\n{TAIL_OMISSION.format(tokens=f'{tokens:,}', seq=seq)}\n"


def _texts(part: ToolCall | File | Text) -> list[str]:
    """What of the part may be cut: the texts of its results in order, the excerpt of an attachment, a text."""
    if isinstance(part, Text):
        return [part.text]
    if isinstance(part, File):
        return [part.excerpt]
    return [one.text if isinstance(one, Text) else one.excerpt for one in part.result if isinstance(one, Text | File)]


def apply_trims(message: Message, trims: Iterable[Trim]) -> Message:
    """The message as it is sent: of each trimmed part the first ``head`` and the last ``tail`` characters around a line
    that says how much is left out and how to fetch it; tokens of what changed are counted anew (W-2).

    Characters are counted over the texts of a call's results one after the other. Same message and trims, same bytes.
    """
    mine = {trim.part: trim for trim in trims if trim.seq == message.seq}
    if not mine:
        return message
    parts = tuple(_cut_part(part, mine[index]) if index in mine else part for index, part in enumerate(message.parts))
    return msgspec.structs.replace(message, parts=parts)


def _cut_part(part: Part, trim: Trim) -> Part:
    if isinstance(part, File | Text):
        return _cut_results((part,), trim)[0]
    if isinstance(part, ToolCall):
        return msgspec.structs.replace(part, result=_cut_results(part.result, trim))
    return part


def _cut_results(results: Sequence[ResultPart], trim: Trim) -> tuple[ResultPart, ...]:
    texts = [one.text if isinstance(one, Text) else one.excerpt if isinstance(one, File) else None for one in results]
    length = sum(len(text) for text in texts if text is not None)
    if trim.head + trim.tail >= length:
        return tuple(results)
    joined = "".join(text for text in texts if text is not None)
    before = sum(total(part_tokens(one)) for one, text in zip(results, texts, strict=True) if text is not None)
    left = before - total(estimate_text(joined[: trim.head])) - total(estimate_text(joined[length - trim.tail :]))
    kept: list[ResultPart] = []
    position, omitted = 0, False
    for one, text in zip(results, texts, strict=True):
        if text is None:
            kept.append(one)
            continue
        first = text[: max(0, trim.head - position)]
        last = text[max(0, length - trim.tail - position) :]
        position += len(text)
        if len(first) == len(text) or len(last) == len(text):
            kept.append(one)
        elif not omitted:
            kept.append(_with_text(one, first + _omission(max(1, left), trim.seq) + last))
            omitted = True
        elif last:
            kept.append(_with_text(one, last))
    return tuple(kept)


def _with_text(one: ResultPart, text: str) -> ResultPart:
    tokens = estimate_text(text)
    if isinstance(one, File):
        return msgspec.structs.replace(one, excerpt=text, tokens=tokens)
    return msgspec.structs.replace(one, text=text, tokens=tokens)
