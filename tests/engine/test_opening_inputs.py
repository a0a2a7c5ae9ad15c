"""What a window is composed from: exactly which messages, words, items, budgets and cuts go in (W-1 to W-4, W-14)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import pytest

from engine.sessions import prose, reads, says, user
from sojourn.base import Finish, Item, ItemStatus, ManualClock, Section
from sojourn.checkpoint import WriterInput, extract
from sojourn.config import CheckpointSettings, Rebuild, Settings
from sojourn.cycle import draw_lines
from sojourn.engine import opening
from sojourn.engine.opening import Composed, Frame, compose_compaction, compose_rebuild, compose_start
from sojourn.meter import estimate_text, message_tokens, total
from sojourn.record import AddMessage, Checkpoint, Fence, File, Image, Message, Session, Store, Text, ToolCall, Touch, Trim
from sojourn.record.sqlite import SqliteStore
from sojourn.window import OpeningInput, OpeningSection, OpenTask, open_window, trim_tail

LINES = draw_lines(64_000, output_cap=None, settings=Settings())
assert (LINES.hard, LINES.trigger) == (60_800, 57_600)


def count(text: str) -> int:
    return total(estimate_text(text))


def weigh(message: Message) -> int:
    return total(message_tokens(message))


def sized(role: str, tokens: int, finish: Finish | None = None) -> Message:
    """A message of exactly so many tokens, its frame included."""
    origin = "user" if role == "user" else "model"
    return Message(id="", role=role, origin=origin, parts=(Text("Words.", {"prose": tokens - 4}),), finish=finish)  # type: ignore[arg-type]


def item(number: int, text: str = "", status: ItemStatus = ItemStatus.OPEN) -> Item:
    return Item(f"i{number}", Section("decisions"), text or f"Decision {number}: keep the tide offset.", (1,), status)


def checkpoint(covered: int, *items: Item) -> Checkpoint:
    return Checkpoint(id="ckp_1", covered_seq=covered, items=items, items_sha="", writer="extractive", range=(0, covered))


Compose = Callable[[Frame], Awaitable[Composed | None]]


async def by_extraction(items: tuple[Item, ...], gone: tuple[Message, ...], covered: int) -> tuple[Item, ...]:
    return extract(WriterInput(items=items, messages=gone, range=(covered, gone[-1].seq), trigger=40_000))


def composed(
    monkeypatch: pytest.MonkeyPatch, messages: Sequence[Message], compose: Compose, **frame: Any
) -> tuple[Composed | None, OpeningInput | None]:
    """What ``compose`` makes of a session of these messages, and what it handed to the opening."""
    seen: list[OpeningInput] = []

    def watched(inp: OpeningInput) -> object:
        seen.append(inp)
        return open_window(inp)

    monkeypatch.setattr(opening, "open_window", watched)

    async def main() -> Composed | None:
        store: Store = await SqliteStore.open(None, clock=ManualClock())
        await store.create(Session(id="ses_1"))
        lease = await store.acquire("ses_1", "here:1:x")
        named = [msgspec.structs.replace(message, id=f"msg_{n}") for n, message in enumerate(messages, 1)]
        await store.commit("ses_1", Fence(epoch=lease.epoch), [AddMessage(message) for message in named])  # type: ignore[union-attr]
        known: dict[str, Any] = {
            "settings": Settings(),
            "lines": LINES,
            "share_base": 57_600,
            "fixed": 0,
            "head": len(named),
            "now": 1_700_000_000_000,
        }
        done = await compose(Frame(store=store, session_id="ses_1", count=count, weigh=weigh, **(known | frame)))
        await store.close()
        return done

    done = asyncio.run(main())
    return done, seen[-1] if seen else None


def rebuilt(
    monkeypatch: pytest.MonkeyPatch, messages: Sequence[Message], known: Checkpoint | None = None, **frame: Any
) -> tuple[Composed, OpeningInput]:
    covered = known.covered_seq if known else 0
    done, inp = composed(monkeypatch, messages, lambda f: compose_rebuild(f, known, covered), **frame)
    assert done is not None
    assert inp is not None
    return done, inp


def compacted(
    monkeypatch: pytest.MonkeyPatch, messages: Sequence[Message], items: Sequence[Item] = (), covered: int = 0, **frame: Any
) -> tuple[Composed | None, OpeningInput | None]:
    return composed(monkeypatch, messages, lambda f: compose_compaction(f, items, covered, by_extraction), **frame)


# --- start --------------------------------------------------------------------------------------------------------


@pytest.mark.design("W-3")
def test_a_start_window_covers_nothing_and_has_the_hosts_sections_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sections = (OpeningSection("pins", "- Keep the offset."),)
    done, inp = composed(monkeypatch, [user("Go.")], compose_start, sections=sections, fixed=700)
    assert done is not None
    assert inp is not None
    assert (done.covered_seq, done.digest_seq, done.tail_tokens, done.tail, done.items, done.trims) == (0, 0, 0, (), (), ())
    assert (inp.kind, inp.covered_seq, inp.digest_seq, inp.live_tail, inp.sections) == ("start", 0, 0, 0, sections)
    assert (inp.fixed, inp.hard, inp.share_base) == (700, 60_800, 57_600)
    assert (inp.user_texts, inp.activity, inp.items) == ((), (), ())


# --- rebuild ------------------------------------------------------------------------------------------------------


HISTORY = (
    user("First: rename the drain task."),  # 1
    says("Renamed."),  # 2
    user("Second: document it."),  # 3
    reads("a.py", "a = 1"),  # 4
    says("Half of it", Finish.INTERRUPTED),  # 5
    user("Third: which offset?"),  # 6
    reads("b.py", "b = 2"),  # 7
    user("Fourth, while you work."),  # 8
    says("It is 0.273 m."),  # 9
    user("Fifth: now the tests."),  # 10
    reads("c.py", "c = 3"),  # 11
)


@pytest.mark.design("W-1", "W-2", "W-2a", "W-3", "R-5")
def test_a_rebuilt_window_has_each_message_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    done, inp = rebuilt(monkeypatch, HISTORY, checkpoint(5, item(1)))
    assert (done.covered_seq, done.digest_seq) == (5, 10)
    assert [message.seq for message in inp.activity] == [6, 7, 8, 9, 10]
    assert [message.seq for message in done.tail] == [11]
    assert done.tail_tokens == inp.live_tail == weigh(done.tail[0])
    assert (inp.kind, inp.covered_seq, inp.digest_seq) == ("rebuild", 5, 10)
    assert inp.activity_status == {6: "answered", 8: "answered", 10: "open"}
    assert inp.closing == "mid_loop"


@pytest.mark.design("W-2", "W-3")
@pytest.mark.report(10, 72)
def test_the_users_words_before_the_mark_come_in_order_each_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    _, inp = rebuilt(monkeypatch, HISTORY, checkpoint(6, item(1)))
    assert [(text.seq, text.text, text.status) for text in inp.user_texts] == [
        (1, "First: rename the drain task.", "answered"),
        (3, "Second: document it.", "interrupted"),
        (6, "Third: which offset?", "answered"),
    ]
    _, inp = rebuilt(monkeypatch, HISTORY, checkpoint(5, item(1)))
    assert [text.seq for text in inp.user_texts] == [1, 3]
    _, inp = rebuilt(monkeypatch, HISTORY)
    assert inp.user_texts == ()
    failed = [user("Sixth."), says("", Finish.ERROR), user("Seventh."), reads("d.py", "d"), reads("e.py", "e")]
    _, inp = rebuilt(monkeypatch, failed, checkpoint(4, item(1)))
    assert [text.status for text in inp.user_texts] == ["interrupted", "open"]


@pytest.mark.design("W-3")
def test_what_a_user_attached_is_named_with_how_to_fetch_it(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (
        Text("Look."),
        Image("b1", "image/png", 900, name="gauge.png"),
        Text("  "),
        File("b2", "text/csv", 70),
        Text("Both."),
    )
    message = Message(id="", role="user", origin="user", parts=parts)
    history = [message, Message(id="", role="user", origin="user"), says("Seen."), user("Now?"), says("Yes.")]
    _, inp = rebuilt(monkeypatch, history, checkpoint(2, item(1)))
    assert [(text.seq, text.text) for text in inp.user_texts] == [(1, "Look.\nBoth.")]
    assert inp.user_texts[0].attachments == ("gauge.png (history read m1)", "text/csv (history read m1)")


@pytest.mark.design("W-2a", "K-10")
def test_items_found_past_the_mark_stand_with_the_open_ones_and_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[WriterInput] = []
    found = (item(1), item(2), item(3, status=ItemStatus.DONE))

    def extract(run: WriterInput) -> tuple[Item, ...]:
        given.append(run)
        return found

    monkeypatch.setattr(opening, "extract", extract)
    known = checkpoint(5, item(1), item(9, status=ItemStatus.SUPERSEDED))
    done, inp = rebuilt(monkeypatch, HISTORY, known, share_base=50_000)
    assert [one.id for one in given[0].items] == ["i1"]
    assert given[0].range == (5, 10)
    assert [message.seq for message in given[0].messages] == [6, 7, 8, 9, 10]
    assert given[0].trigger == 50_000
    assert [one.id for one in inp.items] == ["i1", "i2"]
    assert [one.id for one in done.items] == ["i2", "i3"]
    # Nothing lies between mark and tail: nothing is read, the checkpoint's own items stand.
    given.clear()
    done, inp = rebuilt(monkeypatch, HISTORY[:9], checkpoint(9, item(1)))
    assert (given, done.items, [one.id for one in inp.items]) == ([], (), ["i1"])
    assert (done.covered_seq, done.digest_seq, inp.activity, inp.closing) == (9, 9, (), "wait")


@pytest.mark.design("W-7", "W-3")
def test_boundary_folder_task_and_sections_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    task = OpenTask("Rename", "run the tests", "progress.md")
    sections = (OpeningSection("notes", "A note."),)
    _, inp = rebuilt(
        monkeypatch, HISTORY[:9], head=412, fixed=900, share_base=40_000, task=task, sections=sections, checkpoint_path="/m/s"
    )
    assert inp.boundary == "2023-11-14 22:13 UTC, after message 412"
    assert (inp.task, inp.sections, inp.checkpoint_path) == (task, sections, "/m/s")
    assert (inp.fixed, inp.share_base, inp.hard) == (900, 40_000, 60_800)
    assert inp.closing == "open_task"


@pytest.mark.design("W-3", "W-4", "S-9")
def test_caps_come_from_the_settings_percentages_of_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    _, inp = rebuilt(monkeypatch, HISTORY[:9])
    assert inp.caps == {"recent_user": 16_000, "recent_user_per_msg": 2_000}
    settings = Settings(
        rebuild=Rebuild(recent_user="10%", recent_user_per_msg=700),
        checkpoint=CheckpointSettings(push_caps={"notes": "5%", "project_memory": 3_000}),
    )
    _, inp = rebuilt(monkeypatch, HISTORY[:9], settings=settings, share_base=40_000)
    assert inp.caps == {"notes": 2_000, "project_memory": 3_000, "recent_user": 4_000, "recent_user_per_msg": 700}
    settings = Settings(checkpoint=CheckpointSettings(push_caps={"recent_user": 900}))
    _, inp = rebuilt(monkeypatch, HISTORY[:9], settings=settings)
    assert inp.caps["recent_user"] == 900


def touching(path: str) -> Message:
    call = ToolCall(
        "c", "read_file", {"path": path}, state="completed", result=(Text("x = 1"),), touches=(Touch(path, "read"),)
    )
    return Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS)


@pytest.mark.design("W-3a")
def test_the_working_set_is_of_what_leaves_and_what_stays_within_three_hundredths(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[int] = []

    def watched(messages: Sequence[Message], room: int, count: Callable[[str], int], *, before: str, root: str) -> str:
        rooms.append(room)
        assert (before, root) == ("- earlier.py (read m1)", "/work")
        return " ".join(str(message.seq) for message in messages)

    monkeypatch.setattr(opening, "working_set", watched)
    history = [user("Go."), touching("a.py"), user("On."), touching("b.py"), touching("c.py")]
    shown = tuple(msgspec.structs.replace(message, seq=seq) for seq, message in enumerate(history, 1))
    known: dict[str, Any] = {"in_view": shown, "carried": "- earlier.py (read m1)", "root": "/work"}
    # Behind the mark or not: what the window showed up to its digest leaves view; message 5 stays.
    _, inp = rebuilt(monkeypatch, history, checkpoint(2, item(1)), share_base=50_000, **known)
    assert (rooms, inp.digest_seq, inp.working_set) == ([1_500], 4, "1 2 3 4")
    _, inp = rebuilt(monkeypatch, history, share_base=20, **known)
    assert rooms[-1] == 1
    _, inp = rebuilt(monkeypatch, history, settings=Settings(rebuild=Rebuild(working_set=False)), **known)
    assert (len(rooms), inp.working_set) == (2, "")
    _, compact = compacted(monkeypatch, history, share_base=100, **known)
    assert compact is not None
    assert (rooms[-1], compact.working_set) == (3, " ".join(str(seq) for seq in range(1, compact.covered_seq + 1)))


@pytest.mark.design("W-2", "C-2")
def test_the_live_tail_is_cut_to_half_of_what_hard_fixed_and_the_least_opening_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = (60_800 - 800 - 50_000 * 15 // 100) // 2
    budgets: list[int] = []

    def watched(tail: Sequence[Message], budget: int, count: Callable[[str], int]) -> tuple[Trim, ...]:
        budgets.append(budget)
        return trim_tail(tail, budget, count)

    monkeypatch.setattr(opening, "trim_tail", watched)
    history = [user("Go."), says("Done."), user("And these."), *(reads(f"p{n}.log", prose(9_000, n)) for n in range(4))]
    history[3:] = [
        Message(id="", role="assistant", origin="model", parts=tuple(m.parts[0] for m in history[3:]), finish=Finish.TOOL_CALLS)
    ]
    done, inp = rebuilt(monkeypatch, history, fixed=800, share_base=50_000)
    assert done.digest_seq == 3
    assert {trim.seq for trim in done.trims} == {4}
    assert budget - 500 < done.tail_tokens <= budget + 4
    assert inp.live_tail == done.tail_tokens
    assert sum(map(weigh, done.tail)) > budget  # the tail itself is whole in the record
    small = [*history[:3], reads("p.log", prose(9_000))]
    done, _ = rebuilt(monkeypatch, small, fixed=800, share_base=50_000)
    assert done.trims == ()
    assert done.tail_tokens == sum(map(weigh, done.tail))
    rebuilt(monkeypatch, small, fixed=60_000, share_base=50_000)
    assert budgets == [budget, budget, 0]


# --- compaction ---------------------------------------------------------------------------------------------------


ROUND = 1_000
"""Tokens of a round: a question and its answer."""


def rounds(number: int) -> list[Message]:
    return [
        message
        for _ in range(number)
        for message in (sized("user", ROUND // 4), sized("assistant", ROUND * 3 // 4, Finish.STOP))
    ]


@pytest.mark.design("W-14")
@pytest.mark.parametrize(("base", "boundary"), [(12_000, 4), (11_999, 6), (8_000, 6), (7_999, 8), (4_000, 8), (3_999, 10)])
def test_the_newest_complete_rounds_within_a_quarter_stay(monkeypatch: pytest.MonkeyPatch, base: int, boundary: int) -> None:
    done, inp = compacted(monkeypatch, rounds(5), [item(1)], share_base=base)
    assert done is not None
    assert inp is not None
    assert (done.covered_seq, done.digest_seq, inp.covered_seq, inp.digest_seq) == (boundary,) * 4
    assert [message.seq for message in done.tail] == list(range(boundary + 1, 11))
    assert (inp.kind, inp.activity, inp.live_tail) == ("compaction", (), (10 - boundary) * ROUND // 2)
    assert [text.seq for text in inp.user_texts] == list(range(1, boundary + 1, 2))
    assert done.items == inp.items


@pytest.mark.design("W-14", "W-10")
def test_where_all_rounds_fit_there_is_nothing_to_compact(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compacted(monkeypatch, rounds(2), share_base=8_000) == (None, None)
    assert compacted(monkeypatch, [user("Go.")], share_base=8_000) == (None, None)
    done, _ = compacted(monkeypatch, rounds(3), [item(1)], covered=2, share_base=4_000)
    assert done is not None
    assert done.covered_seq == 4


@pytest.mark.design("W-14")
def test_a_rounds_own_start_is_a_persons_message_and_the_live_tail_costs_no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = msgspec.structs.replace(sized("user", 100), origin="engine", source="todo")
    history = [*rounds(2), engines, sized("assistant", 100, Finish.STOP), sized("user", 50_000)]
    for base, covered in ((4_800, 2), (4_799, 6)):  # the newest round takes 1,200 and begins where the person spoke
        done, _ = compacted(monkeypatch, history, [item(1)], share_base=base)
        assert done is not None
        assert done.covered_seq == covered
        assert [message.seq for message in done.tail] == list(range(covered + 1, 8))


@pytest.mark.design("W-14")
def test_what_goes_becomes_items_with_the_open_ones_known(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[tuple[Item, ...], tuple[Message, ...], int]] = []

    async def summarise(items: tuple[Item, ...], gone: tuple[Message, ...], covered: int) -> tuple[Item, ...]:
        given.append((items, gone, covered))
        return (item(1), item(2, status=ItemStatus.DONE), item(3))

    known = [item(1), item(8, status=ItemStatus.DONE)]
    done, inp = composed(monkeypatch, rounds(3), lambda f: compose_compaction(f, known, 2, summarise), share_base=4_000)
    assert done is not None
    assert inp is not None
    items, gone, covered = given[0]
    assert [one.id for one in items] == ["i1"]
    assert ([message.seq for message in gone], covered) == ([3, 4], 2)
    assert [one.id for one in done.items] == [one.id for one in inp.items] == ["i1", "i3"]


@pytest.mark.design("W-14")
@pytest.mark.parametrize(("tokens", "cut"), [(8_000, False), (8_001, True)])
def test_a_result_over_eight_thousand_tokens_stands_as_a_placeholder(
    monkeypatch: pytest.MonkeyPatch, tokens: int, cut: bool
) -> None:
    text = "0123456789" * 100
    half = (Text(text, {"prose": tokens // 2}), Text(text, {"prose": tokens - tokens // 2}))
    call = ToolCall("c", "bash", {}, state="completed", result=half)
    parts = (Text("Reading."), call)
    history = [*rounds(2), Message(id="", role="assistant", origin="model", parts=parts, finish=Finish.TOOL_CALLS)]
    done, inp = compacted(monkeypatch, history, [item(1)], share_base=100)
    assert done is not None
    assert inp is not None
    assert [(t.seq, t.part, t.head, t.tail) for t in done.trims] == ([(5, 1, 400, 200)] if cut else [])
    assert done.tail_tokens == inp.live_tail
    assert (done.tail_tokens < 1_000) == cut
