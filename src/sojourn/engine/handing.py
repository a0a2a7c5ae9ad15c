"""What a model writer is handed: the live request to go on from, the original of the digest, a ledger (K-4, K-11, Q-7)."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from sojourn.base import Finish, Item, Usage, WorkFailed
from sojourn.checkpoint import Fork, Note, Writer
from sojourn.engine.requests import request_settings
from sojourn.engine.state import State, is_economic
from sojourn.engine.view import in_view, tokens_of
from sojourn.engine.writing import Asked
from sojourn.models import Encoder
from sojourn.record import Call, Change, CloseCall, Fence, Fenced, Hit, Lease, Message, OpenCall, Store
from sojourn.request import Projection, UnitHashes
from sojourn.window import apply_trims, trim_tail
from sojourn.wire import About, ModelRequest, TextPart, Traits, WireMessage

WRITER_OUTPUT = 4_000
"""Tokens that a writer may answer with: its items together are 11,000 at most, and most of them stay as they are."""
_ORIGINAL_SHARE, _LEAN_ORIGINAL_SHARE = 20, 5
"""Percent of the trigger that the original of a digest may take (K-4); the second where every token is weighed (C-18)."""
_ORIGINAL_READ = 400
"""Messages that are looked at for it: more of them would not fit, however short (K-4)."""
_SPARE = 2_000
"""Tokens for the writer's own words."""
Purpose = Literal["writer", "compaction"]


class WriterLedger:
    """The calls of one run, in the session's record. It never takes a seq, so the loop goes on beside it."""

    def __init__(self, state: State, lease: Lease, purpose: Purpose, mark: int, reason: str) -> None:
        self._state = state
        self._store = state.ports.store
        self._clock = state.ports.clock
        self._ids = state.ports.ids
        self._session_id = state.session.id
        self._lease = lease
        self.ended = 0
        """Calls that have ended with usage, whatever came of the run."""
        self._row = Call(
            id="",
            purpose=purpose,
            upto_seq=mark,
            prefix_id=state.prefix.id if state.prefix else None,
            settings={"reason": reason},
        )

    async def begin(self, request: ModelRequest, traits: Traits) -> str:
        """The row is durable before the request leaves (R-15). Raises WorkFailed where the session was taken over."""
        row = msgspec.structs.replace(
            self._row,
            id=self._ids.new("call"),
            window_id=self._state.view.window.id or None,  # the present one: a run may outlive the one that it began in
            model=traits.name,
            settings={**self._row.settings, "sent": msgspec.to_builtins(request.settings)},
            unit_hashes=("+0", *UnitHashes().of(Encoder(traits.protocol).encode(request))),
            started=self._clock.now(),
        )
        await self._commit(OpenCall(row))
        return row.id

    async def end(
        self, call_id: str, *, usage: Usage | None, price: float | None, error: str = "", finish: Finish | None = None
    ) -> None:
        if usage is not None:
            self.ended += 1
            self._state.spent = self._state.spent.plus(self._row.purpose, usage, self._state.prices, price)
        await self._commit(CloseCall(call_id, usage=usage, price=price, error=error, finish=finish, ended=self._clock.now()))

    async def _commit(self, change: Change) -> None:
        done = await self._store.commit(self._session_id, Fence(epoch=self._lease.epoch), [change])
        if isinstance(done, Fenced):
            raise WorkFailed(f"session {self._session_id} was changed by another process ({done.reason})")


class RecordLookup:
    """The session's record, for a writer that asks (K-3)."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    async def search(self, query: str, *, limit: int = 20) -> Sequence[Hit]:
        return await self._store.search(query, session_id=self._session_id, limit=limit)

    async def read(self, after: int, upto: int) -> Sequence[Message]:
        return await self._store.messages(self._session_id, after=after, upto=upto)


def count_unrecorded(state: State, asked: Asked, told: Usage | None) -> None:
    """What a run took, as it tells it, of a host's writer that keeps no ledger: the ledger counts each call as it ends."""
    if told is not None and (asked.ledger is None or not asked.ledger.ended):
        state.spent = state.spent.plus("writer", told, state.prices, None)


async def hand_over(
    state: State,
    writer: Writer,
    lease: Lease,
    stretch: tuple[int, int],
    *,
    purpose: Purpose,
    reason: str,
    items: Sequence[Item],
    notes: tuple[Note, ...] = (),
) -> Asked:
    """What a model is asked from for the stretch (last mark, new one]: the live request where it is a cache read and fits, with
    the original of its digest; else nothing but the ledger and the record (K-4)."""
    last_mark, upto = stretch
    original = await original_of_digest(state, last_mark)
    quoted = "\n".join((*(f"{item.id} {item.text}" for item in items), *(note.text for note in notes)))
    fits = fork_fits(state, upto, original, beside=state.count(quoted))
    fork = fits and _is_asked_of(state, writer) and cache_is_warm(state)
    return Asked(
        fork=live_fork(state, upto) if fork else None,
        original=original if fork else (),
        ledger=WriterLedger(state, lease, purpose, upto, reason),
        lookup=RecordLookup(state.ports.store, state.session.id),
        notes=notes,
    )


def _is_asked_of(state: State, writer: Writer) -> bool:
    """Whether the writer asks the model that the session runs on now: another one holds nothing of it in its cache."""
    return writer.forks and state.traits.name == state.opened_with


def cache_is_warm(state: State) -> bool:
    """Whether the provider still holds what the newest answer of this window was made from (K-4, N7)."""
    if not state.traits.reports_cache or not state.answered_at:
        return False
    return state.ports.clock.now() - state.answered_at < state.traits.cache_ttl * 1_000


def live_fork(state: State, mark: int) -> Fork:
    """The live request up to the mark, to which the writer's words are added: everything before them is a cache read."""
    projection = Projection(state.prefix, state.view.window, state.traits, prefix_since=state.prefix_since)
    projection.extend(message for message in state.view.sent if message.seq <= mark)
    settings = request_settings(state, thinks=projection.thinks)
    asked = msgspec.structs.replace(settings, max_output=min(settings.max_output or WRITER_OUTPUT, WRITER_OUTPUT))

    def fork(words: str) -> ModelRequest:
        return projection.fork(WireMessage("user", (TextPart(words, About("writer")),)), asked)

    return fork


def fork_fits(state: State, mark: int, original: Sequence[Message], *, beside: int) -> bool:
    """Whether the live request up to the mark, the original, what is quoted ``beside`` it (tokens) and the writer's answer fit
    the model's window."""
    model, calibration = state.traits.name, state.calibration
    opening = sum(block.tokens for block in state.view.window.opening)
    shown = tokens_of([message for message in state.view.sent if message.seq <= mark], calibration, model)
    more = tokens_of(original, calibration, model)
    return state.fixed_tokens() + opening + shown + more + beside + WRITER_OUTPUT + _SPARE <= state.lines().effective


async def original_of_digest(state: State, last_mark: int) -> tuple[Message, ...]:
    """What the opening in view stands for by digest lines and no checkpoint covers yet, within a fifth of the trigger at most:
    results are cut first, then the oldest messages are left to the digest."""
    window = state.view.window
    if window.digest_seq <= last_mark:
        return ()
    stored = await state.ports.store.messages(
        state.session.id, after=last_mark, upto=window.digest_seq, limit=_ORIGINAL_READ, newest_first=True
    )
    messages = [message for message in reversed(stored) if in_view(message)]
    room = state.lines().trigger * (_LEAN_ORIGINAL_SHARE if is_economic(state) else _ORIGINAL_SHARE) // 100
    trims = trim_tail(messages, room, state.count)
    kept: list[Message] = []
    for message in reversed([apply_trims(message, trims) for message in messages]):
        room -= tokens_of([message], state.calibration, state.traits.name)
        if room < 0:
            break
        kept.append(message)
    return tuple(reversed(kept))
