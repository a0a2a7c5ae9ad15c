"""The newest window in memory: its messages, their tokens, the level. Nothing older is held (R-10)."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sojourn.base import Finish, Tokens, Usage
from sojourn.meter import (
    Calibration,
    Level,
    add,
    calibrated,
    estimate_text,
    level_from_error,
    level_from_estimate,
    level_from_usage,
    message_tokens,
    part_tokens,
)
from sojourn.record import Call, Message, Part, ToolCall, Window
from sojourn.window import apply_trims, is_finished

STEPS_MEASURED = 50
"""C-18: growth is the mean of the last 50 steps."""
STEPS_NEEDED = 5
"""C-18: fewer tell nothing."""


class View:
    """The messages after the newest window's boundary, as they are sent, with their token sums.

    ``sent`` holds trimmed messages: what the model sees; the record keeps the whole. ``growth`` (tokens of each of
    the last steps) is handed from window to window.
    """

    def __init__(self, window: Window, messages: Iterable[Message], *, fixed: Tokens, growth: deque[int]) -> None:
        self.window = window
        self.sent: list[Message] = []
        self.steps = 0
        """Finished assistant messages since the window opened."""
        self.growth = growth
        self.first_steps: list[int] = []
        """Tokens of the first steps of this window: what a trigger is computed from where nothing was measured before."""
        self._start = add(fixed, *(estimate_text(block.text) for block in window.opening))
        self._tokens: Tokens = {}
        self._measured = 0
        self._anchor: tuple[Usage, int, str] | None = None
        self._refused: tuple[int, Tokens] | None = None
        self.extend(messages)

    def extend(self, messages: Iterable[Message]) -> None:
        """Appends messages, trimmed as the window says; those at or before its boundary are left out."""
        for message in messages:
            if message.seq <= self.window.digest_seq:
                continue
            sent = apply_trims(message, self.window.trims)
            self.sent.append(sent)
            self._tokens = add(self._tokens, message_tokens(sent))
            if message.seq <= self.window.opened_at_seq:
                self._measured = sum(self._tokens.values())
            elif is_finished(message):
                self._count_step()

    def _count_step(self) -> None:
        self.steps += 1
        size = sum(self._tokens.values())
        self.growth.append(size - self._measured)
        if len(self.first_steps) < STEPS_NEEDED:
            self.first_steps.append(size - self._measured)
        self._measured = size

    def after(self, seq: int) -> list[Message]:
        """The messages with a higher seq, as sent."""
        return self.sent[bisect_right(self.sent, seq, key=lambda message: message.seq) :]

    def replace(self, message: Message) -> None:
        """A message whose running part has settled, or is sent cut from now on."""
        for index in range(len(self.sent) - 1, -1, -1):
            if self.sent[index].id == message.id:
                sent = apply_trims(message, self.window.trims)
                self._tokens = add(_less(self._tokens, message_tokens(self.sent[index])), message_tokens(sent))
                newly = is_finished(message) and not is_finished(self.sent[index])
                self.sent[index] = sent
                if newly and message.seq > self.window.opened_at_seq:
                    self._count_step()
                return

    def grown(self, message_id: str, parts: Mapping[int, Part], finish: Finish | None) -> Message | None:
        """The message with these parts, and its end, as the record has it now: no need to read it back. None where the view
        does not hold it whole (it is cut, or has a gap)."""
        known = next((message for message in reversed(self.sent) if message.id == message_id), None)
        if known is None or any(trim.seq == known.seq for trim in self.window.trims):
            return None
        merged = dict(enumerate(known.parts)) | dict(parts)
        if len(merged) != max(merged, default=-1) + 1:
            return None
        whole = tuple(merged[index] for index in range(len(merged)))
        return msgspec.structs.replace(known, parts=whole, finish=finish or known.finish)

    def retrim(self, window: Window, whole: Iterable[Message]) -> None:
        """The window has more trims: ``whole`` are the untrimmed messages that they name."""
        self.window = window
        for message in whole:
            self.replace(message)

    # --- level (M-2) ---------------------------------------------------------------------------------------------

    def anchor(self, call: Call) -> None:
        """A finished main call of this window: from now on the level rests on what it reported."""
        if call.usage is not None:
            self._anchor = (call.usage, call.upto_seq, call.message_id or "")
            self._refused = None

    def forget_usage(self) -> None:
        """What was reported was another model's: the level is an estimate until the next answer (C-16)."""
        self._anchor = self._refused = None

    def refuse(self, used: int) -> None:
        """A provider refused the present request and named its size (report 121): the level rests on that."""
        self._refused = (used, self.estimate())

    def estimate(self) -> Tokens:
        """Uncalibrated tokens of the whole request by kind."""
        return add(self._start, self._tokens)

    def level(self, calibration: Calibration, model: str) -> Level:
        """What the next request will hold. Until the first answer after a boundary it is pending (M-3)."""
        if self._refused is not None:
            used, then = self._refused
            return level_from_error(used, _less(self.estimate(), then), calibration, model)
        if self._anchor is not None:
            usage, upto, answer = self._anchor
            return level_from_usage(usage, self._after(upto, answer), calibration, model)
        return self.estimated_level(calibration, model)

    def estimated_level(self, calibration: Calibration, model: str) -> Level:
        """The estimate of the whole request, whatever was reported (C-6)."""
        pending = self.window.number > 1 and self.steps == 0
        return level_from_estimate(self.estimate(), calibration, model, pending=pending)

    def _after(self, upto: int, answer: str) -> Tokens:
        """What came after the call at ``upto``: later messages, and the results of the answer's own calls."""
        came: list[Tokens] = []
        for message in self.after(upto):
            if message.id == answer:
                calls = (part for part in message.parts if isinstance(part, ToolCall))
                came.extend(part_tokens(result) for call in calls for result in call.result)
            else:
                came.append(message_tokens(message))
        return add(*came)

    def recovered(self) -> bool:
        """The window was opened after the last finished assistant message (C-6)."""
        return self.window.number > 1 and self.steps == 0


def in_view(message: Message) -> bool:
    """Foreign summaries are kept in the record, never put into a view (R-2)."""
    return not (message.origin == "import" and message.source == "summary")


def tokens_of(messages: Sequence[Message], calibration: Calibration, model: str) -> int:
    """Calibrated tokens of some messages."""
    return calibrated(calibration, model, add(*(message_tokens(message) for message in messages)))


def _less(tokens: Tokens, taken: Tokens) -> Tokens:
    return {kind: count - taken.get(kind, 0) for kind, count in tokens.items()}
