"""One commit while it is being applied: where it stands and what it has touched."""

from collections.abc import Sequence

import apsw

from sojourn.record.changes import Fenced
from sojourn.record.lineage import Segment, lineage, undo_rows
from sojourn.record.types import Undo
from sojourn.record.undo import Cover


class Refused(Exception):
    """Ends the transaction; the caller gets the value."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.fenced = Fenced(reason, detail)


class Work:
    """The open transaction of one commit."""

    def __init__(self, db: apsw.Connection, sid: int, session_id: str, head: int) -> None:
        self.db = db
        self.sid = sid
        self.session_id = session_id
        self.head = head
        self.seqs: list[int] = []
        self.to_index: set[int] = set()
        """Row numbers of messages whose text is new (R-13)."""
        self._chain: Sequence[Segment] | None = None
        self._undos: list[Undo] | None = None

    @property
    def chain(self) -> Sequence[Segment]:
        """The session and those it was forked from."""
        if self._chain is None:
            self._chain = lineage(self.db, self.session_id)
        return self._chain

    @property
    def undos(self) -> list[Undo]:
        """The undo rows of the view, those of this commit included."""
        if self._undos is None:
            self._undos = undo_rows(self.db, self.chain)
        return self._undos

    @property
    def cover(self) -> Cover:
        return Cover(self.undos)
