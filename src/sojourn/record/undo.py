"""Which rows the undo rows take out of view (R-4). Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from sojourn.record.types import Undo


class Span(NamedTuple):
    """A turn out of view: messages in (after, upto]."""

    after: int
    upto: int


def standing_undos(undos: Sequence[Undo]) -> list[Undo]:
    """Those that no redo has closed, oldest first: the last one is what a redo would take back."""
    closed = {undo.closes for undo in undos if undo.closes is not None}
    return [undo for undo in undos if undo.closes is None and undo.id not in closed]


class Cover:
    """What the undo rows of one session's view take out of it.

    An undo covers only what was there when it was made: ``undos_before`` of a window, checkpoint or task is the number of
    undo rows older than it, and those do not touch it. Without this, a window opened straight after an undo (its
    ``opened_at_seq`` is the head, which lies in the undone turn) would be out of view at once.
    """

    def __init__(self, undos: Sequence[Undo]) -> None:
        stand = {undo.id for undo in standing_undos(undos)}
        standing = [(at, undo) for at, undo in enumerate(undos) if undo.id in stand]
        self._turns = [(at, Span(undo.after_seq, undo.upto_seq)) for at, undo in standing if undo.kind == "turn"]
        self._windows = {undo.window_id for _, undo in standing if undo.kind == "window"}
        self.spans: tuple[Span, ...] = tuple(sorted(span for _, span in self._turns))

    def message(self, seq: int) -> bool:
        """Whether the message is out of view."""
        return any(after < seq <= upto for after, upto in self.spans)

    def window(self, window_id: str, opened_at_seq: int, undos_before: int) -> bool:
        """Whether the window is out of view."""
        return window_id in self._windows or self.row(opened_at_seq, undos_before)

    def row(self, seq: int, undos_before: int) -> bool:
        """Whether a row that stands at this seq (a checkpoint's mark, a task's head) is out of view."""
        return any(at >= undos_before and after < seq <= upto for at, (after, upto) in self._turns)

    def gaps(self, after: int, upto: int) -> list[Span]:
        """The parts of (after, upto] that are in view, in order."""
        visible = []
        for span in self.spans:
            if span.after > after:
                visible.append(Span(after, min(span.after, upto)))
            after = max(after, span.upto)
            if after >= upto:
                break
        visible.append(Span(after, upto))
        return [span for span in visible if span.after < span.upto]


def open_undo(undos: Sequence[Undo], undo_id: str) -> bool:
    """Whether the row is an undo that no redo has closed yet."""
    return any(undo.id == undo_id for undo in standing_undos(undos))


def touched_since(undos: Sequence[Undo], known: int, after: int, upto: int) -> Undo | None:
    """The first undo or redo row after the first ``known`` ones that takes a seq in (after, upto] out of view, or back (K-7).

    A redo counts as well: a writer that began while the turn was out of view has not read what came back.
    """
    by_id = {undo.id: undo for undo in undos}
    for undo in undos[known:]:
        turn = by_id.get(undo.closes, undo) if undo.closes is not None else undo
        if turn.kind == "turn" and max(turn.after_seq, after) < min(turn.upto_seq, upto):
            return undo
    return None
