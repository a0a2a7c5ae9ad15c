"""Messages and their parts: writing them once, reading them back (R-2, R-3)."""

import re
from collections.abc import Iterator, Sequence

import apsw
import msgspec

from sojourn.base import Finish
from sojourn.record import index
from sojourn.record.codec import decode, encode
from sojourn.record.lineage import NO_CAP, Segment, lineage
from sojourn.record.search import searchable
from sojourn.record.types import File, Image, Message, Part, ToolCall
from sojourn.record.undo import Cover, Span
from sojourn.record.work import Refused, Work

_OPEN = frozenset({"pending", "running"})
_ADDRESS = re.compile(r"[0-9a-f]{8,64}")


def add_message(work: Work, message: Message) -> None:
    """Gives the message the next seq and writes it with its parts."""
    db = work.db
    work.head += 1
    head_only = msgspec.structs.replace(message, parts=(), seq=0, session_id="", finish=None)
    calls = any(isinstance(part, ToolCall) for part in message.parts)
    db.execute(
        "INSERT INTO messages (sid, seq, id, origin, finish, answers, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (work.sid, work.head, message.id, message.origin, message.finish, _answers(message.finish, calls), encode(head_only)),
    )
    pk = db.last_insert_rowid()
    for idx, part in enumerate(message.parts):
        _insert_part(db, pk, idx, part)
    work.seqs.append(work.head)
    if message.parts and message.origin in index.INDEXED_ORIGINS:
        work.to_index.add(pk)


def finish_message(work: Work, message_id: str, finish: Finish) -> None:
    """Says why the message ended."""
    work.db.execute("UPDATE messages SET finish = ? WHERE id = ? AND sid = ?", (finish, message_id, work.sid))
    _set_answers(work.db, message_id)


def settle_part(work: Work, message_id: str, idx: int, part: Part) -> None:
    """Adds the part, or replaces a call that still runs; a completed part is never touched (R-4)."""
    db = work.db
    row = db.execute("SELECT pk, origin FROM messages WHERE id = ? AND sid = ?", (message_id, work.sid)).fetchone()
    if row is None:
        raise Refused("missing", f"message {message_id} is not in this session")
    pk, origin = row
    old = db.execute("SELECT call, body FROM parts WHERE message = ? AND idx = ?", (pk, idx)).fetchone()
    if old is None:
        (count,) = db.execute("SELECT count(*) FROM parts WHERE message = ?", (pk,)).fetchone() or (0,)
        if idx != count:
            raise Refused("missing", f"message {message_id} has {count} parts: part {idx} would leave a hole")
        before = ""
        _insert_part(db, pk, idx, part)
        if isinstance(part, ToolCall):
            _set_answers(db, message_id)
    else:
        state, body = old
        if state not in _OPEN or not isinstance(part, ToolCall):
            raise Refused("settled", f"part {idx} of message {message_id} is complete")
        before = searchable((decode(body, Part),))  # type: ignore[arg-type]
        db.execute("DELETE FROM parts WHERE message = ? AND idx = ?", (pk, idx))
        _insert_part(db, pk, idx, part)
    if origin in index.INDEXED_ORIGINS and searchable((part,)) != before:
        work.to_index.add(pk)


def read_messages(
    db: apsw.Connection,
    chain: Sequence[Segment],
    cover: Cover | None,
    *,
    after: int,
    upto: int | None,
    limit: int | None,
    newest_first: bool,
) -> list[Message]:
    """Messages of the view with seq in (after, upto]; ``cover`` None = undone ones as well."""
    found: list[Message] = []
    left = -1 if limit is None else max(limit, 0)
    for segment, span in ranges(chain, cover, after, NO_CAP if upto is None else upto, newest_first):
        if left == 0:
            break
        batch = list(between(db, segment, span, left, newest_first))
        found.extend(batch)
        if left > 0:
            left -= len(batch)
    return found


def one_message(db: apsw.Connection, chain: Sequence[Segment], message_id: str) -> Message | None:
    """The message of that id, if the view reaches it; an undone one as well."""
    row = db.execute("SELECT sid, seq FROM messages WHERE id = ?", (message_id,)).fetchone()
    if row is None:
        return None
    sid, seq = row
    for segment in chain:
        if segment.sid == sid and seq <= segment.upto:
            return next(between(db, segment, Span(seq - 1, seq), 1, False), None)
    return None


def blob_named(db: apsw.Connection, session_id: str, prefix: str) -> str | None:
    """The whole address of the one payload in the session's view that begins so; None = none, several, or no address."""
    if not _ADDRESS.fullmatch(prefix):
        return None
    found = {
        sha
        for segment in lineage(db, session_id)
        for (sha,) in db.execute(
            "SELECT sha FROM blob_uses JOIN messages ON messages.pk = message"
            " WHERE sha >= ? AND sha < ? AND sid = ? AND seq <= ?",
            (prefix, prefix + "g", segment.sid, segment.upto),
        )
    }
    return found.pop() if len(found) == 1 else None


def blob_addresses(parts: Sequence[Part]) -> set[str]:
    """The blobs that the parts name."""
    found = set()
    for part in parts:
        if isinstance(part, Image | File):
            found.add(part.blob)
        elif isinstance(part, ToolCall):
            found.update(inner.blob for inner in part.result if isinstance(inner, Image | File))
    return found


def _answers(finish: Finish | None, calls: bool) -> bool:
    """Whether the message ends a turn with an answer: finished, and no call waits for its result (W-2)."""
    return not calls and finish in {Finish.STOP, Finish.LENGTH}


def _set_answers(db: apsw.Connection, message_id: str) -> None:
    pk, finish, calls = db.execute(
        "SELECT pk, finish, EXISTS (SELECT 1 FROM parts WHERE message = pk AND call IS NOT NULL) FROM messages WHERE id = ?",
        (message_id,),
    ).fetchone() or (0, None, 0)
    answers = _answers(None if finish is None else Finish(finish), bool(calls))
    db.execute("UPDATE messages SET answers = ? WHERE pk = ?", (answers, pk))


def _insert_part(db: apsw.Connection, pk: int, idx: int, part: Part) -> None:
    call = part.state if isinstance(part, ToolCall) else None
    db.execute("INSERT INTO parts (message, idx, call, body) VALUES (?, ?, ?, ?)", (pk, idx, call, encode(part)))
    for sha in blob_addresses((part,)):
        db.execute("INSERT OR IGNORE INTO blob_uses (message, sha) VALUES (?, ?)", (pk, sha))


def ranges(
    chain: Sequence[Segment], cover: Cover | None, after: int, upto: int, newest_first: bool
) -> Iterator[tuple[Segment, Span]]:
    """Which rows of which session make up the view, in the order wanted."""
    for segment in chain if newest_first else reversed(chain):
        low, high = max(after, segment.after), min(upto, segment.upto)
        if low < high:
            spans = [Span(low, high)] if cover is None else cover.gaps(low, high)
            for span in reversed(spans) if newest_first else spans:
                yield segment, span


def between(db: apsw.Connection, segment: Segment, span: Span, limit: int, newest_first: bool) -> Iterator[Message]:
    order = "DESC" if newest_first else "ASC"
    rows = db.execute(
        f"SELECT m.pk, m.seq, m.finish, m.body, p.body FROM"  # noqa: S608  (constants only)
        f" (SELECT pk, seq, finish, body FROM messages WHERE sid = ? AND seq > ? AND seq <= ? ORDER BY seq {order} LIMIT ?) m"
        f" LEFT JOIN parts p ON p.message = m.pk ORDER BY m.seq {order}, p.idx",
        (segment.sid, span.after, span.upto, limit),
    )
    bodies: list[bytes] = []
    current, seq, finish, head = 0, 0, None, b""
    for pk, row_seq, row_finish, row_head, body in rows:
        if pk != current:
            if current:
                yield _message(segment.session_id, seq, finish, head, bodies)
            current, seq, finish, head, bodies = pk, row_seq, row_finish, row_head, []
        if body is not None:
            bodies.append(body)
    if current:
        yield _message(segment.session_id, seq, finish, head, bodies)


def _message(session_id: str, seq: int, finish: str | None, head: bytes, bodies: Sequence[bytes]) -> Message:
    return msgspec.structs.replace(
        decode(head, Message),
        session_id=session_id,
        seq=seq,
        finish=None if finish is None else Finish(finish),
        parts=tuple([decode(body, Part) for body in bodies]),  # type: ignore[arg-type]
    )
