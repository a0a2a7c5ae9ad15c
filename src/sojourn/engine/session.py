"""The controller of one session, and the public API for hosts with their own loop: observe, project, recover (S-8)."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from sojourn.base import (
    Clock,
    Finish,
    Ids,
    SojournError,
    SystemClock,
    SystemIds,
    Usage,
    UserMistake,
    finish_first,
)
from sojourn.checkpoint import ExtractiveWriter, Writer, WriterFailed
from sojourn.config import Settings
from sojourn.cycle import check_window, effective_limit
from sojourn.engine.changing import change_prefix
from sojourn.engine.editing import take_edit
from sojourn.engine.firing import drain, write_now
from sojourn.engine.intake import result_cap, take_in_part
from sojourn.engine.joining import LEASE, find_or_create, fork, free_slot, take_lease
from sojourn.engine.observing import answered_well, observe
from sojourn.engine.pinning import pin_text, unpin
from sojourn.engine.preparing import prepare
from sojourn.engine.recovery import recover
from sojourn.engine.requests import Requests
from sojourn.engine.state import GatherSections, Ports, Present, RefreshPrefix, State, prefix_tokens
from sojourn.engine.switching import compact, open_first, switch
from sojourn.engine.types import Answer, Context, OnEvent, Projected, Rebuilt, Undone, summarise
from sojourn.engine.undoing import redo, undo
from sojourn.memory import MemoryStore
from sojourn.meter import Level, Prices, Watched, breakdown, total
from sojourn.record import (
    Checkpoint,
    Hit,
    Lease,
    Message,
    Part,
    PinRow,
    PrefixSnapshot,
    PutSnapshot,
    PutTask,
    Session,
    SetSession,
    SettlePart,
    Snapshot,
    Store,
    TaskRow,
    Window,
)
from sojourn.record.sqlite import SqliteStore
from sojourn.window import OpeningSection, OpenTask
from sojourn.wire import ModelError, Traits

_RENEW_SECONDS = LEASE / 4_000


class Engine:
    """One session: tell it what happens, ask it what to send.

    ``observe`` takes in messages, ``project`` gives the next request (opening a new window first where one is due),
    ``observe_usage`` and ``recover`` take in what the provider answered. Nothing that was observed is ever changed.
    Not safe for use from several tasks at once; one session has one runner (R-11).
    """

    def __init__(self, state: State, *, owns_store: bool) -> None:
        """Use ``Engine.open``."""
        self._state = state
        self._owns_store = owns_store
        self._requests = Requests(state)
        self._renewing: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    async def open(  # noqa: PLR0913 (keyword-only ports of a host, each optional)
        cls,
        *,
        store: Store | None = None,
        session_id: str | None = None,
        session: Session | None = None,
        traits: Traits | None = None,
        settings: Settings | None = None,
        prefix: PrefixSnapshot | None = None,
        fixed: int | None = None,
        writer: Writer | None = None,
        sections: Sequence[OpeningSection] = (),
        task: OpenTask | None = None,
        documents: Path | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        on_event: OnEvent | None = None,
        refresh_prefix: RefreshPrefix | None = None,
        gather_sections: GatherSections | None = None,
        memory: MemoryStore | None = None,
        present: Present | None = None,
        prices: Prices | None = None,
        read_only: bool = False,
    ) -> "Engine":
        """Opens a session: the stored ``session_id``, or a new one (``session`` gives its fields).

        Without a ``store`` everything lives in memory. ``prefix`` is frozen with the session; ``fixed`` (tokens) stands
        for it where the host keeps its own system prompt and tools. ``refresh_prefix`` is asked for the prefix of each
        window that opens later (P-4), ``gather_sections`` for what else it shows, ``memory`` holds what is durable,
        ``present`` for what is stored around text from the inbox (M-R6), ``prices`` what the provider asks (see
        ``set_prices``). ``read_only`` takes no lease: it can look, not write.
        Raises UserMistake for an unknown id, a window too small, or a session that another process runs.
        """
        clock = clock or SystemClock()
        ids = ids or SystemIds(clock)
        opened = store or await SqliteStore.open(None, clock=clock)
        ports = Ports(
            store=opened,
            clock=clock,
            ids=ids,
            settings=settings or Settings(),
            writer=writer or ExtractiveWriter(),
            documents=documents,
            on_event=on_event,
            refresh_prefix=refresh_prefix,
            gather_sections=gather_sections,
            memory=memory,
            present=present,
        )
        traits = traits or Traits()
        offered = {"prose": fixed} if fixed is not None else prefix_tokens(prefix)
        check_window(effective_limit(traits.limit, traits.name, ports.settings.compaction)[0], total(offered))
        found = await find_or_create(ports, session_id, session)
        state = State(ports, found, traits)
        state.sections, state.task = tuple(sections), task
        state.prices = prices or state.prices
        await state.restore_prefix(prefix, offered)
        if not read_only:
            state.lease = await take_lease(opened, found, clock)
        engine = cls(state, owns_store=store is None)
        try:
            await state.load()
            await state.learn_again()
            engine._requests.resumed(state.newest_call)
            if state.lease is not None:
                await free_slot(state)
        except BaseException:
            if state.lease is not None:
                await opened.release(state.lease)
            raise
        if state.lease is not None and store is not None:
            engine._renewing = asyncio.create_task(engine._renew())
        return engine

    async def __aenter__(self) -> "Engine":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self, *, wait: int = 30_000) -> bool:
        """Ends the session's run: waits at most ``wait`` milliseconds for a running writer, gives the lease back.

        Answers whether no writer was left behind (C-17). A store that ``open`` made is closed with it.
        """
        if self._closed:
            return True
        self._closed = True
        try:
            return await drain(self._state, wait)
        finally:
            await finish_first(self._let_go())

    async def _let_go(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._renewing
        if self._state.lease is not None:
            await self._state.ports.store.release(self._state.lease)
        if self._owns_store:
            await self._state.ports.store.close()

    # --- what happened -------------------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        return self._state.session.id

    @property
    def head(self) -> int:
        """The newest seq."""
        return self._state.head

    @property
    def in_view(self) -> tuple[Message, ...]:
        """The messages after the opening, as they are sent (cut ones cut)."""
        return tuple(self._state.view.sent)

    @property
    def store(self) -> Store:
        return self._state.ports.store

    async def observe(self, *messages: Message) -> tuple[Message, ...]:
        """Takes in messages in order; answers them as stored, with id, seq and counted tokens. Durable on return.

        An assistant message that comes with parts and no finish is complete: TOOL_CALLS if it made calls, else STOP.
        A result over the cap stands in view as head and tail, whole in the record (Y-5). A user message resets the
        stop against loops (C-11): a person has decided to go on.
        """
        return await observe(self._state, messages)

    async def settle(self, message_id: str, index: int, part: Part) -> None:
        """The part at ``index`` of an observed message is complete: a tool call with its result, or a new part.

        Raises WorkFailed if it was settled before: completed parts never change (R-4).
        """
        await self.settle_parts(message_id, {index: part})

    async def settle_parts(self, message_id: str, parts: Mapping[int, Part]) -> Message | None:
        """The same for several parts of one message, in one commit; answers the message as it is sent."""
        state = self._state
        taken = await self._taken(parts)
        await state.commit(*(SettlePart(message_id, index, part) for index, part in taken.items()))
        message = await state.settled(message_id, taken)
        if message is not None:
            self._requests.changed(message.seq)
        return message

    async def start_answer(self, *, again: bool = False) -> Answer:
        """Writes the newest projected request's call and the shell of its answer, before the request leaves (R-15).

        ``again``: the same request leaves once more, after an answer that was cut off when parts of it were settled
        already; those stay in the record (R-4). Raises UserMistake where nothing was projected. A host that only
        observes whole answers needs none of this.
        """
        return await self._requests.start(again=again)

    async def end_answer(
        self,
        parts: Mapping[int, Part],
        *,
        finish: Finish,
        usage: Usage | None = None,
        price: float | None = None,
        error: str = "",
    ) -> Watched:
        """The answer begun last has ended: its parts (those not settled yet), why, and what it cost, in one commit.

        Answers the verdict on the provider's cache (A-7). An answer that ended well clears C-10's count.
        """
        watched = await self._requests.answered(usage, finish, price, parts=await self._taken(parts), error=error)
        if not error:
            answered_well(self._state)
        return watched

    async def _taken(self, parts: Mapping[int, Part]) -> dict[int, Part]:
        cap = result_cap(self._state.lines().full_trigger)
        return {index: await take_in_part(part, self.store, cap) for index, part in parts.items()}

    async def observe_usage(self, usage: Usage, *, finish: Finish | None = None, price: float | None = None) -> Watched:
        """What the provider reported for the newest projected request: anchors the level and teaches the ratio (M-2).

        ``finish`` ends an answer that was observed without its parts (streamed). Answers the cache's verdict (A-7)."""
        return await self._requests.answered(usage, finish, price)

    # --- what to send --------------------------------------------------------------------------------------------

    async def project(self) -> Projected:
        """The next request. Before it, in the order of C-6 to C-10: writers fire, a window opens, what came in is cut.

        Raises WorkFailed for a clear stop (C-11): the text names what fills the window and what to do.
        """
        await self.prepare()
        return self.prepared()

    def prepared(self) -> Projected:
        """The request of the view as ``prepare`` left it, and of what was observed since."""
        return self._requests.next()

    async def prepare(self) -> Window:
        """What ``project`` does before it makes the request; answers the window that the request will show.

        A host that places reminders calls it first, so that they are checked against the view that is sent (M-R8), and
        then ``prepared``.
        """
        await prepare(self._state)
        return self._state.view.window

    async def recover(self, error: ModelError) -> Projected:
        """The next request after the provider refused the last one (C-10). Raises WorkFailed when nothing is left to try,
        and for errors that another request cannot cure (authentication, outage, rate limits)."""
        await recover(self._state, error)
        self._requests.forget()
        return self._requests.next()

    async def rebuild(self) -> Rebuilt:
        """A new window now (C-13), by the same ladder. ``insert_failed`` = there was nothing to leave out."""
        if self._state.view.window.number == 0:
            await open_first(self._state)
        return await switch(self._state, "manual")

    async def compact(self, focus: str = "") -> Rebuilt:
        """A compaction window now (W-14). ``focus``: what the summary should look after; it ends with this call."""
        state = self._state
        if state.view.window.number == 0:
            await open_first(state)
        before = state.level().tokens
        await state.offer_fresh_prefix()
        window = await compact(state, "manual", focus=focus)
        return Rebuilt(window.outcome if window else "insert_failed", window, before, state.level().tokens)

    async def write_checkpoint(self, *, extractive: bool = False) -> Checkpoint | WriterFailed | None:
        """Runs the writer now, up to K-5's mark; None = nothing new past the last mark. ``extractive``: without a model.

        Raises UserMistake where writing is switched off (C-14).
        """
        self._may_write()
        return await write_now(self._state, ExtractiveWriter() if extractive else self._state.ports.writer)

    async def edit_checkpoint(self, text: str) -> Checkpoint | None:
        """Takes over what a person changed in the rendering of the newest checkpoint, as operations by ``user`` that no
        writer may undo (R-6). None = nothing was changed.

        Raises UserMistake with the line for what cannot be understood, and where there is no checkpoint.
        """
        self._may_write()
        return await take_edit(self._state, text)

    def _may_write(self) -> None:
        settings = self._state.ports.settings
        if not settings.checkpoint.enabled or settings.memory.disable_write:
            key = "checkpoint.enabled" if not settings.checkpoint.enabled else "memory.disable_write"
            raise UserMistake(f"writing checkpoints is switched off by {key}", next_step="Switch it on to write one.")

    def offer_prefix(self, prefix: PrefixSnapshot) -> None:
        """System and context blocks read anew (rule files, git): they come into force with the next window (P-7, W-9)."""
        self._state.offered, self._state.next_fixed = prefix, prefix_tokens(prefix)

    async def change_prefix(self, prefix: PrefixSnapshot, reason: str) -> bool:
        """Puts another prefix into force inside the window, for a named reason (P-7): ``model``, ``tools``, ``style``,
        ``shell`` or ``reload``. Recorded with the first part that differs and the tokens that must be sent afresh.

        False: it is the one in force.
        """
        changed = await change_prefix(self._state, prefix, reason)
        if changed:
            self._requests.forget()
        return changed

    async def set_mode(self, mode: str) -> None:
        """The permission mode, kept with the session (Y-6)."""
        await self._state.commit(SetSession(mode=mode))
        self._state.session = msgspec.structs.replace(self._state.session, mode=mode)

    async def set_grants(self, grants: tuple[str, ...]) -> None:
        """The rules that a person granted for this session, kept with it (Y-6)."""
        await self._state.commit(SetSession(grants=grants))
        self._state.session = msgspec.structs.replace(self._state.session, grants=grants)

    async def set_model(self, traits: Traits, *, label: str = "") -> Rebuilt | None:
        """Another model answers from now on (C-16); ``label`` (provider/name) is kept with the session.

        Where the view is too large for it, a window opens first: answers that. Raises UserMistake, and changes nothing, for
        a model whose window cannot even hold the fixed part.
        """
        state = self._state
        effective, _ = effective_limit(traits.limit, traits.name, state.ports.settings.compaction)
        check_window(effective, state.fixed_tokens())
        if label and label != state.session.model:
            await state.commit(SetSession(model=label))
            state.session = msgspec.structs.replace(state.session, model=label)
        if traits == state.traits:
            return None
        other = traits.name != state.traits.name
        state.traits = traits
        self._requests = Requests(state)
        if not other:
            return None
        state.view.forget_usage()  # it was counted by another tokenizer
        state.answered_at = 0
        if state.view.window.number and state.level().tokens >= state.lines().trigger and state.lease is not None:
            return await switch(state, "model_switch")
        return None

    def set_prices(self, prices: Prices) -> None:
        """What the provider asks, relative to fresh input: economic windows are computed from it (C-18)."""
        self._state.prices = prices

    # --- tasks, plan, files ------------------------------------------------------------------------------------------

    @property
    def tasks(self) -> tuple[TaskRow, ...]:
        """The newest state of each task (Y-3)."""
        return self._state.tasks

    async def put_task(self, task: TaskRow) -> None:
        """A new state of a task."""
        state = self._state
        row = msgspec.structs.replace(task, at_seq=state.head, updated=task.updated or state.ports.clock.now())
        await state.commit(PutTask(row))
        state.tasks = tuple(await state.ports.store.tasks(self.session_id))

    async def accept_plan(self, seq: int) -> None:
        """The person has accepted the plan that the message ``seq`` holds (W-9)."""
        await self._state.commit(SetSession(plan_seq=seq))
        self._state.session = msgspec.structs.replace(self._state.session, plan_seq=seq)

    async def put_snapshot(self, snapshot: Snapshot) -> None:
        """The files at one moment, as they stand in the private object store (W-12)."""
        await self._state.commit(PutSnapshot(snapshot))

    @property
    def session(self) -> Session:
        """Its row, as it was read or set last."""
        return self._state.session

    @property
    def prefix(self) -> PrefixSnapshot | None:
        """The prefix in force (P-7)."""
        return self._state.prefix

    @property
    def memory(self) -> MemoryStore | None:
        """Durable knowledge, as far as it is this session's to see."""
        return self._state.memory

    @property
    def window(self) -> Window:
        """The newest window; number 0 = none was opened yet."""
        return self._state.view.window

    @property
    def traits(self) -> Traits:
        """Of the model in use, with what was learned of it."""
        return self._state.traits

    async def pin(self, text: str, source: str = "user") -> PinRow:
        """Text that must survive every window of this session (W-3 row 0); ``source``: where it is from, as people read it.

        Raises UserMistake when it does not fit.
        """
        return await pin_text(self._state, text, source)

    @property
    def pins(self) -> tuple[PinRow, ...]:
        """Those that the next window will show."""
        return self._state.pins

    def count(self, text: str) -> int:
        """Tokens of a text, as this session's model counts them (M-2)."""
        return self._state.count(text)

    async def unpin(self, pin_id: str) -> None:
        """Takes a pin out of the windows to come. Raises UserMistake for an unknown one."""
        await unpin(self._state, pin_id)

    async def fork(self, *, cwd: str | None = None, at: int | None = None) -> Session:
        """A new session that begins with this one's present view, or with that view as it ends with message ``at``; nothing is
        copied (R-4). ``cwd``: where it works, if somewhere else. Raises UserMistake where the view has no such message."""
        return await fork(self._state.ports, self.session_id, cwd, at)

    async def undo(self) -> Undone:
        """Takes back the newest window or turn (W-12)."""
        self._requests.forget()
        return await undo(self._state)

    async def redo(self) -> Undone:
        """Takes back the newest undo, until the next message (R-4)."""
        self._requests.forget()
        return await redo(self._state)

    def go_on(self) -> None:
        """A person has seen a stop (C-11) and decided to go on."""
        self._state.window_steps.clear()

    def level(self) -> Level:
        """What the next request will hold, as it stands (M-2); an estimate at load (report 37)."""
        return self._state.level()

    async def context(self) -> Context:
        """What is in the window, by part (M-4)."""
        state = self._state
        level = state.level()
        return Context(
            session_id=self.session_id,
            title=state.session.title,
            model=state.traits.name,
            level=level.tokens,
            estimated=level.estimated,
            lines=state.lines(),
            limit_source=state.limit()[1],
            categories=breakdown(self._requests.look(), level.tokens),
            window=summarise(state.view.window),
            head=state.head,
            watermark=state.mark,
        )

    async def search(self, query: str, *, limit: int = 20) -> Sequence[Hit]:
        """Where these words stand in the whole record of this session, whatever is in view (R-13)."""
        return await self._state.ports.store.search(query, session_id=self.session_id, limit=limit)

    async def read(self, after: int, upto: int) -> Sequence[Message]:
        """Messages with seq in (after, upto], whole, from the record (R-13)."""
        return await self._state.ports.store.messages(self.session_id, after=after, upto=upto)

    # --- inside --------------------------------------------------------------------------------------------------

    async def _renew(self) -> None:
        state = self._state
        while isinstance(state.lease, Lease):
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                renewed = await state.ports.store.renew(state.lease, LEASE)
            except SojournError as error:
                state.emit("notice", key="lease_not_renewed", problem=str(error))
                continue  # a disk that is full now may have room in five seconds; the epoch decides in any case
            if not isinstance(renewed, Lease):
                return  # taken over: the next commit is refused and says so
            state.lease = renewed
