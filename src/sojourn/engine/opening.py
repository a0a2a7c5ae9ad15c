"""Opening a window: read what it stands for, let ``window`` compose it, give back the row (W-1 to W-4, W-14)."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import msgspec

from sojourn.base import Item, open_items, parse_quantity
from sojourn.checkpoint import WriterInput, add_what_is_sure, done_by_record, extract, sure
from sojourn.config import Settings
from sojourn.cycle import Lines
from sojourn.engine.view import in_view
from sojourn.meter import total
from sojourn.record import Checkpoint, Message, Store, ToolCall, Trim, Turn
from sojourn.window import (
    Count,
    Opening,
    OpeningInput,
    OpeningSection,
    OpenTask,
    TurnStatus,
    UserText,
    apply_trims,
    closing_state,
    digest_seq,
    open_window,
    statuses,
    trim_tail,
    user_text,
    working_set,
)

_USER_TURNS_READ = 200
_COMPACTION_RESULT_CAP = 8_000  # W-14


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What an opening needs to know of its session, fixed for the time of one opening."""

    store: Store
    session_id: str
    settings: Settings
    count: Count
    weigh: Callable[[Message], int]
    """Calibrated tokens of one message."""
    lines: Lines
    share_base: int
    """What shares are taken of, already lowered where smaller budgets are wanted (C-11)."""
    fixed: int
    head: int
    now: int
    checkpoint_path: str = ""
    sections: tuple[OpeningSection, ...] = ()
    task: OpenTask | None = None
    economic: bool = False
    """A policy of fewer tokens is in force (C-18)."""
    root: str = ""
    """The folder that the session works in: its files are named from there."""
    in_view: tuple[Message, ...] = ()
    """The messages of the window that is left."""
    carried: str = ""
    """The working set of the window that is left, as it was shown."""


Summarise = Callable[[tuple[Item, ...], tuple[Message, ...], int], Awaitable[tuple[Item, ...]]]
"""From the present items, the messages that leave and the seq before them to the items of the summary (W-14)."""


class Composed(msgspec.Struct, frozen=True):
    """A window ready to be committed: everything but its id, number, reason and meter."""

    opening: Opening
    items: tuple[Item, ...]
    """W-2a's (or a compaction's), as stored with the window."""
    trims: tuple[Trim, ...]
    covered_seq: int
    digest_seq: int
    tail: tuple[Message, ...]
    """The live tail, untrimmed."""
    tail_tokens: int
    """The live tail as sent."""


async def compose_start(frame: Frame) -> Composed:
    """A ``start`` window: pins and durable memory only (W-3)."""
    opening = open_window(_input(frame, kind="start", covered=0, digest=0, tail_tokens=0))
    return Composed(opening, (), (), 0, 0, (), 0)


async def compose_rebuild(frame: Frame, checkpoint: Checkpoint | None, covered: int) -> Composed:
    """A rebuilt window: the checkpoint's items, what came after it read by extraction, the digest, the live tail."""
    messages = await _messages(frame, covered)
    digest = digest_seq(messages, covered)
    between = tuple(m for m in messages if m.seq <= digest)
    known = open_items(checkpoint.items if checkpoint else ())
    found = known
    if between:
        run = WriterInput(
            items=known, messages=between, range=(covered, digest), trigger=frame.share_base, economic=frame.economic
        )
        found = _beside(run) if frame.economic else extract(run)
    before = set(known)
    fresh = tuple(item for item in found if item not in before)
    tail = tuple(m for m in messages if m.seq > digest)
    trims, tail_tokens = _cut_tail(frame, tail)
    opening = open_window(
        _input(
            frame,
            kind="rebuild",
            covered=covered,
            digest=digest,
            tail_tokens=tail_tokens,
            items=open_items(found),
            user_texts=await _user_texts(frame, covered),
            activity=between,
            activity_status=statuses(messages),
            working_set=_working_set(frame, digest),
            messages=messages,
        )
    )
    return Composed(opening, fresh, trims, covered, digest, tail, tail_tokens)


def _beside(run: WriterInput) -> tuple[Item, ...]:
    """W-2a where every token is weighed: the checkpoint's items as they are, without requests that were answered since, with
    what extraction is sure of."""
    done = done_by_record(run)
    known = [item for item in run.items if item.id not in done]
    items, _ = add_what_is_sure(known, sure(run), run)
    return items


async def compose_compaction(frame: Frame, known: Sequence[Item], covered: int, summarise: Summarise) -> Composed | None:
    """W-14: the newest complete rounds stay, all before them becomes items. None: there is nothing to compact."""
    messages = await _messages(frame, covered)
    boundary = _rounds_boundary(frame, messages, digest_seq(messages, covered))
    gone = tuple(m for m in messages if m.seq <= boundary)
    if not gone:
        return None
    items = open_items(await summarise(open_items(known), gone, covered))
    tail = tuple(m for m in messages if m.seq > boundary)
    placeholders = _large_results(tail)
    trims, tail_tokens = _cut_tail(frame, tail, placeholders)
    opening = open_window(
        _input(
            frame,
            kind="compaction",
            covered=boundary,
            digest=boundary,
            tail_tokens=tail_tokens,
            items=items,
            user_texts=await _user_texts(frame, boundary),
            working_set=_working_set(frame, boundary),
            messages=messages,
        )
    )
    return Composed(opening, items, trims, boundary, boundary, tail, tail_tokens)


def _input(  # noqa: PLR0913 (one flat call from each kind of window)
    frame: Frame,
    *,
    kind: str,
    covered: int,
    digest: int,
    tail_tokens: int,
    items: tuple[Item, ...] = (),
    user_texts: tuple[UserText, ...] = (),
    activity: tuple[Message, ...] = (),
    activity_status: dict[int, TurnStatus] | None = None,
    working_set: str = "",
    messages: Sequence[Message] = (),
) -> OpeningInput:
    moment = datetime.fromtimestamp(frame.now / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return OpeningInput(
        kind=kind,  # type: ignore[arg-type]
        count=frame.count,
        share_base=frame.share_base,
        hard=frame.lines.hard,
        fixed=frame.fixed,
        live_tail=tail_tokens,
        covered_seq=covered,
        digest_seq=digest,
        items=items,
        checkpoint_path=frame.checkpoint_path,
        user_texts=user_texts,
        activity=activity,
        activity_status=activity_status or {},
        working_set=working_set,
        sections=frame.sections,
        economic=frame.economic,
        closing=closing_state(messages, frame.task),
        task=frame.task,
        boundary=f"{moment}, after message {frame.head}",
        caps=_caps(frame),
    )


async def _messages(frame: Frame, after: int) -> list[Message]:
    stored = await frame.store.messages(frame.session_id, after=after)
    return [message for message in stored if in_view(message)]


def _working_set(frame: Frame, upto: int) -> str:
    """W-3a, at most 0.03 of the trigger: files of the window that is left, as far as they leave view; "" where it is off."""
    if not frame.settings.rebuild.working_set:
        return ""
    budget = max(1, frame.share_base * 3 // 100)
    leaving = [message for message in frame.in_view if message.seq <= upto]
    return working_set(leaving, budget, frame.count, before=frame.carried, root=frame.root)


def _caps(frame: Frame) -> dict[str, int]:
    rebuild = frame.settings.rebuild
    base = frame.share_base
    caps = {
        name: parse_quantity(amount, key=f"checkpoint.push_caps.{name}", of=base)
        for name, amount in frame.settings.checkpoint.push_caps.items()
    }
    caps.setdefault("recent_user", parse_quantity(rebuild.recent_user, key="rebuild.recent_user", of=base))
    caps["recent_user_per_msg"] = parse_quantity(rebuild.recent_user_per_msg, key="rebuild.recent_user_per_msg", of=base)
    return caps


async def _user_texts(frame: Frame, covered: int) -> tuple[UserText, ...]:
    """The user's words at or before the mark, newest first until the section's cap is surely full; oldest first back."""
    if covered <= 0:
        return ()
    turns = await frame.store.turns(frame.session_id, upto=covered, limit=_USER_TURNS_READ)
    texts = (user_text(turn.message, _status(turn)) for turn in reversed(turns))
    return tuple(text for text in texts if text is not None)


def _status(turn: Turn) -> TurnStatus:
    if turn.last_finish in ("interrupted", "error"):
        return "interrupted"
    return "answered" if turn.stop_after else "open"


def _cut_tail(frame: Frame, tail: Sequence[Message], before: tuple[Trim, ...] = ()) -> tuple[tuple[Trim, ...], int]:
    """W-2: the live tail is cut first, to ``(hard - fixed - 0.15 * trigger) / 2``."""
    budget = max(0, (frame.lines.hard - frame.fixed - frame.share_base * 15 // 100) // 2)
    cut_already = {(trim.seq, trim.part) for trim in before}
    more = trim_tail([apply_trims(message, before) for message in tail], budget, frame.count)
    trims = (*before, *(trim for trim in more if (trim.seq, trim.part) not in cut_already))
    sent = [apply_trims(message, trims) for message in tail]
    return trims, sum(frame.weigh(message) for message in sent)


def _rounds_boundary(frame: Frame, messages: Sequence[Message], digest: int) -> int:
    """The last seq that leaves: complete newest rounds (a user message and what answers it) stay, within a quarter."""
    budget = frame.share_base // 4
    boundary, size = digest, 0
    for message in reversed(messages):
        if message.seq > digest:
            continue
        size += frame.weigh(message)
        if size > budget:
            break
        if message.role == "user" and message.origin == "user":
            boundary = message.seq - 1
    return boundary


def _large_results(tail: Sequence[Message]) -> tuple[Trim, ...]:
    return tuple(
        Trim(seq=message.seq, part=index, head=400, tail=200)
        for message in tail
        for index, part in enumerate(message.parts)
        if isinstance(part, ToolCall) and sum(total(r.tokens) for r in part.result) > _COMPACTION_RESULT_CAP
    )
