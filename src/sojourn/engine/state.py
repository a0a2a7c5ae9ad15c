"""What one running session holds in memory: its lease, its lines, its view. All of it can be read again from rows."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from sojourn.base import Clock, Finish, Ids, Tokens, WorkFailed, finish_first
from sojourn.checkpoint import Writer, WriterFailed
from sojourn.config import Settings
from sojourn.cycle import Lines, draw_lines, effective_limit, tiers_for
from sojourn.engine.economy import Spent, spent_until
from sojourn.engine.looking import PREFIX_CHANGED, prefix_in_force
from sojourn.engine.types import EngineEvent, EventKind, OnEvent
from sojourn.engine.view import STEPS_MEASURED, View, in_view
from sojourn.memory import Belonging, MemoryStore
from sojourn.meter import (
    Calibration,
    Level,
    calibrated,
    estimate_text,
    estimate_value,
    learn,
    message_tokens,
    total,
    usual_prices,
)
from sojourn.record import (
    Call,
    Change,
    Checkpoint,
    Committed,
    Fence,
    Fenced,
    Lease,
    Message,
    Part,
    PinRow,
    PrefixSnapshot,
    Session,
    Store,
    TaskRow,
    Window,
)
from sojourn.window import OpeningSection, OpenTask
from sojourn.wire import Traits

_READ_AHEAD = 200
_CALLS_LEARNED = 5
"""The newest calls of a window that teach the ratio again when a session is opened (M-2)."""


GatherSections = Callable[[], Awaitable[Sequence[OpeningSection]]]
RefreshPrefix = Callable[[], Awaitable[PrefixSnapshot]]
Present = Callable[[Message], Sequence[Message]]


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """What a session needs from outside, injected once."""

    store: Store
    clock: Clock
    ids: Ids
    settings: Settings
    writer: Writer
    documents: Path | None = None
    """The memory root for renderings that people read; None = none are written."""
    memory: MemoryStore | None = None
    """Durable knowledge: rows 5 to 8 of an opening, notes and promotion (Y-1, K-12, K-13); None = there is none."""
    gather_sections: GatherSections | None = None
    """What a host puts into each window that opens: mode, plan, skills, actors (W-3 rows 2b and 3)."""
    on_event: OnEvent | None = None
    refresh_prefix: RefreshPrefix | None = None
    """Reads the sources of the prefix anew, for a window that is about to open."""
    present: Present | None = None
    """How text from the inbox is stored: the message, and what stands around it (M-R6)."""


class State:
    """The controller's memory. Functions of this room take it; nobody outside does."""

    def __init__(self, ports: Ports, session: Session, traits: Traits) -> None:
        self.ports = ports
        self.session = session
        self.memory = ports.memory.gate(Belonging(session.id, session.project_id)) if ports.memory is not None else None
        """Durable knowledge, as far as it is this session's to see."""
        self.lease: Lease | None = None
        """None = open for reading only."""
        self.traits, self.opened_with = traits, traits.name
        """The model in use; the one that the host's writer was made for."""
        self.prefix: PrefixSnapshot | None = None
        """In force: the one that the present window opened with (P-7)."""
        self.offered: PrefixSnapshot | None = None
        """The host's: it comes into force with the next window."""
        self.fixed: Tokens = {}
        self.next_fixed: Tokens = {}
        self.sections: tuple[OpeningSection, ...] = ()
        self.gathered: tuple[OpeningSection, ...] = ()
        """Tasks, memory and the host's sections, as they were read for the newest window."""
        self.task: OpenTask | None = None
        self.pins: tuple[PinRow, ...] = ()
        self.head = session.head
        self.calibration = Calibration()
        self.growth: deque[int] = deque(maxlen=STEPS_MEASURED)
        self.window_undone = False
        self.window_steps: list[int] = []
        """Finished steps between one automatic opening and the next, newest last (C-11)."""
        self.writing: asyncio.Task[Checkpoint | WriterFailed] | None = None
        """The writer that was started last."""
        self.following = asyncio.Lock()
        """Held while files follow a row: a checkpoint's rendering and notes after its commit, both again after an undo."""
        self.recoveries = 0
        """By C-10, without a successful step in between."""
        self.refused: set[tuple[str, int, int, int]] = set()
        """What tells the requests apart that the provider has refused since then."""
        self.prefix_since = 0
        """The newest seq before the prefix in force took the place of another inside this window: thinking up to it was
        signed for that one (Q-3, report 61)."""
        self.sent_upto = 0
        """The newest seq that a request of this window has held: what lies after it may still be cut."""
        self.stale = False
        """A commit was not waited for to its end: the view is read again before it is used."""
        self.noticed: set[str] = set()
        self.mark = 0
        """``covered_seq`` of the newest checkpoint that no undo covers; 0 = none. The row itself is read when it is used."""
        self.answered_at = 0
        """When the newest answer of this window came, milliseconds; 0 = none yet."""
        self.prices = usual_prices("marked" if traits.protocol == "anthropic" else "automatic")
        self.spent = Spent()
        self.tasks: tuple[TaskRow, ...] = ()
        self.newest_call: Call | None = None
        """The newest answered call of the view that ``load`` read."""
        self.view: View

    # --- writing -------------------------------------------------------------------------------------------------

    async def commit(self, *changes: Change) -> Committed:
        """One commit under this session's lease. Raises WorkFailed when another process has taken over."""
        if self.lease is None:
            raise WorkFailed(
                f"session {self.session.id} is open for reading only", next_step="Close the other program, or fork the session."
            )
        fence = Fence(epoch=self.lease.epoch, head=self.head)
        writing = asyncio.ensure_future(self.ports.store.commit(self.session.id, fence, changes))
        try:
            done = await finish_first(writing)
        except asyncio.CancelledError:
            # What is being written cannot be taken back: the caller goes, the head and the view follow the record.
            self.stale = True
            late = None if writing.cancelled() or writing.exception() else writing.result()
            self.head = max(self.head, late.head if isinstance(late, Committed) else 0)
            raise
        if isinstance(done, Fenced):
            raise WorkFailed(
                f"session {self.session.id} was changed by another process ({done.reason}); nothing was written",
                next_step="Open the session again.",
            )
        self.head = max(self.head, done.head)  # a writer's rows are committed beside the loop's
        return done

    def emit(self, kind: EventKind, **detail: object) -> None:
        """Tells the host of an automatic act."""
        if self.ports.on_event is not None:
            self.ports.on_event(EngineEvent(kind, self.head, dict(detail)))

    def notice(self, key: str) -> None:
        """A notice for people, once a session (C-14)."""
        if key and key not in self.noticed:
            self.noticed.add(key)
            self.emit("notice", key=key)

    async def settled(self, message_id: str, parts: Mapping[int, Part], finish: Finish | None = None) -> Message | None:
        """Takes up what was just committed of a message: these parts, and why it ended. Answers it; None = there is none."""
        message = self.view.grown(message_id, parts, finish) or await self.ports.store.message(self.session.id, message_id)
        if message is not None:
            self.view.replace(message)
        return message

    async def offer_fresh_prefix(self) -> None:
        """The sources of the prefix are read for the window that is about to open (P-4, W-9)."""
        if self.ports.refresh_prefix is not None:
            self.offered = await self.ports.refresh_prefix()
            self.next_fixed = prefix_tokens(self.offered)

    # --- measuring -----------------------------------------------------------------------------------------------

    def count(self, text: str) -> int:
        """Calibrated tokens of a text: the one meter."""
        return calibrated(self.calibration, self.traits.name, estimate_text(text))

    def ratio(self) -> float:
        """Calibrated tokens for each one that is estimated, over what is in view."""
        estimate = self.view.estimate()
        whole = total(estimate)
        return calibrated(self.calibration, self.traits.name, estimate) / whole if whole else 1.0

    def fixed_tokens(self) -> int:
        """System, tools and context blocks as the next window will have them, calibrated."""
        return calibrated(self.calibration, self.traits.name, self.next_fixed)

    def level(self) -> Level:
        return self.view.level(self.calibration, self.traits.name)

    def limit(self) -> tuple[int, str]:
        """The effective window and where the number comes from (C-1)."""
        effective, source = effective_limit(self.traits.limit, self.traits.name, self.ports.settings.compaction)
        return effective, source or self.traits.limit_source

    def lines(self) -> Lines:
        """The lines of the present window: its trigger was fixed when it opened (C-18), hard follows the model."""
        settings = self.ports.settings
        effective, _ = self.limit()
        lines = draw_lines(effective, output_cap=self.traits.output_cap, settings=settings, undone=self.window_undone)
        stored = min(self.view.window.trigger or lines.trigger, lines.trigger)
        tiers = tiers_for(stored, lines.policy, settings.checkpoint)
        return msgspec.structs.replace(lines, trigger=lines.trigger if self.window_undone else stored, tiers=tiers)

    # --- reading -------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Reads the newest window and what came after it: the view. Cost: that window, whatever the session's age."""
        store, session_id = self.ports.store, self.session.id
        window = await store.newest_window(session_id)
        last = await store.newest_window(session_id, include_undone=True)
        self.window_undone = last is not None and (window is None or last.id != window.id)
        checkpoint = await store.newest_checkpoint(session_id)
        self.mark = checkpoint.covered_seq if checkpoint else 0
        self.pins = tuple(pin for pin in await store.pins(session_id) if not pin.removed)
        self.tasks = tuple(await store.tasks(session_id))
        self.growth.clear()
        self.newest_call, self.answered_at = None, 0
        self.view = await self.view_of(window or _unopened())
        if window is not None:
            newest = await store.newest_call(session_id, window_id=window.id)
            # A call whose answer an undo has taken back says nothing of this view; nor does another model's tokenizer (C-16).
            if (
                newest is not None
                and newest.model == self.traits.name
                and any(message.id == newest.message_id for message in self.view.sent)
            ):
                self.view.anchor(newest)
                self.newest_call = newest
                self.answered_at = newest.ended or newest.started
        self.sent_upto = self._sent_before_the_newest_answer()
        changed = (m.seq for m in reversed(self.view.sent) if m.source == PREFIX_CHANGED and m.origin == "engine")
        # After an undone window's return nothing tells which answers came under the other window's prefix.
        self.prefix_since = self.head if self.window_undone else next(changed, 0)
        self.stale = False

    def _sent_before_the_newest_answer(self) -> int:
        """What stands before an answer was in the request that it answers: from then on it is never cut (R-5)."""
        seqs = [message.seq for message in self.view.sent]
        newest = next((at for at in reversed(range(len(seqs))) if self.view.sent[at].role == "assistant"), 0)
        return seqs[newest - 1] if newest else 0

    async def learn_again(self) -> None:
        """The calls of the window teach the ratio, and what was spent, when a session is opened (M-2, C-18)."""
        window = self.view.window
        calls = await self.ports.store.calls(self.session.id, window_id=window.id) if window.id else ()
        self.spent = spent_until(window, calls, self.prices)
        for call in calls[-_CALLS_LEARNED:]:
            if call.usage is not None and call.purpose == "main":
                self.calibration = learn(self.calibration, call.model, call.estimate, call.usage.input)

    async def restore_prefix(self, offered: PrefixSnapshot | None, fixed: Tokens) -> None:
        """The stored snapshot of the present window is used byte for byte, on resume too; what the host offers now comes
        into force with the next window (P-7, reports 45 and 48). ``fixed``: tokens of what is offered."""
        self.offered, self.next_fixed = offered, fixed
        stored = await prefix_in_force(self.ports.store, self.session.id)
        if stored is None or (offered is not None and stored.id == offered.id):
            self.prefix, self.fixed = offered, fixed
            return
        self.prefix, self.fixed = stored, prefix_tokens(stored)
        if offered is None:
            self.offered, self.next_fixed = stored, self.fixed

    async def show(self, window: Window) -> None:
        """The window just opened becomes the view, with the prefix that it opened with."""
        self.prefix, self.fixed = self.offered, self.next_fixed
        self.window_undone = False
        self.sent_upto = self.prefix_since = self.answered_at = 0
        self.spent = self.spent.next_window()
        self.view = await self.view_of(window)

    async def view_of(self, window: Window) -> View:
        """The view of a window with the prefix in force."""
        messages = await self._newest(window)
        return View(window, messages, fixed=self.fixed, growth=self.growth)

    async def _newest(self, window: Window) -> Sequence[Message]:
        """The messages after the window's boundary; of a view far over the model's limit only the newest, which is
        enough to see that it is over (reports 27, 34, 68: a session of any size opens)."""
        enough = 2 * self.traits.limit
        read: list[Message] = []
        size, upto = 0, None
        while size <= enough:
            batch = await self.ports.store.messages(
                self.session.id, after=window.digest_seq, upto=upto, limit=_READ_AHEAD, newest_first=True
            )
            read.extend(message for message in batch if in_view(message))
            size += sum(total(message_tokens(message)) for message in batch)
            if len(batch) < _READ_AHEAD:
                break
            upto = batch[-1].seq - 1
        return read[::-1]


def is_economic(state: State) -> bool:
    """Whether the policy weighs what an opening costs at each step (C-18)."""
    return state.ports.settings.compaction.policy != "full"


def prefix_tokens(prefix: PrefixSnapshot | None) -> Tokens:
    """System blocks, context blocks and tools, uncalibrated."""
    if prefix is None:
        return {}
    blocks = [estimate_text(block.text) for block in (*prefix.system, *prefix.context)]
    return {"prose": sum(total(tokens) for tokens in (*blocks, *map(estimate_value, prefix.tools)))}


def _unopened() -> Window:
    """The view before the first request: everything, no opening."""
    return Window(id="", number=0, kind="start", covered_seq=0, digest_seq=0, opened_at_seq=0)
