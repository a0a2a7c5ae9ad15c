"""The user's messages, and how the turn of each went (W-2), in a time that does not grow with the session."""

from collections.abc import Iterator, Sequence

import apsw

from sojourn.base import Finish
from sojourn.record.lineage import NO_CAP, Segment
from sojourn.record.messages import between, ranges
from sojourn.record.store import Turn
from sojourn.record.undo import Cover, Span


def read_turns(db: apsw.Connection, chain: Sequence[Segment], cover: Cover, upto: int, limit: int) -> list[Turn]:
    """The newest ``limit`` messages of origin user at or before ``upto`` in view, newest first."""
    later = next(_newest(db, chain, cover, upto, NO_CAP, _USER, newest_first=False), None)
    following = later[1] if later else NO_CAP
    answered = next(_newest(db, chain, cover, 0, NO_CAP, _ANSWER), None)
    turns: list[Turn] = []
    for segment, seq, _ in _newest(db, chain, cover, 0, upto, _USER):
        if len(turns) >= limit:
            break
        ended = next(_newest(db, chain, cover, seq, following - 1, _FINISHED), None)
        turns.append(
            Turn(
                message=next(between(db, segment, Span(seq - 1, seq), 1, False)),
                last_finish=Finish(ended[2]) if ended and ended[2] else None,
                stop_after=answered is not None and answered[1] > seq,
            )
        )
        following = seq
    return turns


_USER = "origin = 'user'"
_ANSWER = "answers = 1"
_FINISHED = "finish IS NOT NULL"


def _newest(
    db: apsw.Connection, chain: Sequence[Segment], cover: Cover, after: int, upto: int, which: str, newest_first: bool = True
) -> Iterator[tuple[Segment, int, str | None]]:
    """Messages of a kind in (after, upto] of the view: their segment, seq and finish."""
    order = "DESC" if newest_first else "ASC"
    query = f"SELECT seq, finish FROM messages WHERE sid = ? AND seq > ? AND seq <= ? AND {which} ORDER BY seq {order}"  # noqa: S608
    for segment, span in ranges(chain, cover, after, upto, newest_first):
        for seq, finish in db.execute(query, (segment.sid, span.after, span.upto)):
            yield segment, seq, finish
