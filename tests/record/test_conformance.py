"""What every store does (R-9): one suite, run against each implementation."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from record.rows import Desk, at_desk, call, checkpoint, model, sit, task, undo_turn, user, window
from sojourn.base import Finish, Item, Section, Usage, UserMistake, WorkFailed
from sojourn.record import (
    AddCheckpoint,
    AddMessage,
    AddTrims,
    Block,
    Call,
    CloseCall,
    Committed,
    ConsumeTiers,
    Fence,
    Fenced,
    File,
    ForkOf,
    Image,
    InboxRow,
    Message,
    Notice,
    OpenCall,
    Pin,
    PinRow,
    PrefixSnapshot,
    PutInbox,
    PutPrefix,
    PutSnapshot,
    Reasoning,
    Reminder,
    Session,
    SetSession,
    SetSlot,
    SettlePart,
    Slot,
    Snapshot,
    Source,
    Store,
    TakeInbox,
    Text,
    Touch,
    Trim,
)
from sojourn.record.sqlite import SqliteStore

Where = Path | None


@pytest.mark.design("R-9")
def test_it_has_every_method_of_the_contract_with_its_parameters() -> None:
    def as_store(store: SqliteStore) -> Store:
        return store  # the type checker proves the rest

    assert as_store.__annotations__["return"] is Store
    for name, wanted in inspect.getmembers(Store, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(getattr(SqliteStore, name)).parameters == inspect.signature(wanted).parameters, name


# --- sessions ---------------------------------------------------------------------------------------------------------


@pytest.mark.design("R-1")
def test_a_session_is_made_once(where: Where) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.store.create(Session(id="ses_2", title="one", head=7, epoch=7, revision=7, created=5))
        assert first == Session(id="ses_2", title="one", created=5, updated=5)
        desk.clock.advance(50)
        assert await desk.store.create(Session(id="ses_2", title="two")) == first
        assert await desk.store.session("ses_2") == first
        assert await desk.store.session("ses_3") is None
        assert (await desk.store.create(Session(id="ses_3"))).created == desk.clock.now()

    at_desk(where, story)


@pytest.mark.design("R-1", "R-10")
def test_sessions_are_listed_newest_first_and_filtered(where: Where) -> None:
    async def story(desk: Desk) -> None:
        for number, fields in enumerate(
            ({"project_id": "p"}, {"project_id": "p", "parent_id": "ses_1"}, {"project_id": "q", "parent_id": "ses_1"})
        ):
            desk.clock.advance(10)
            await desk.store.create(Session(id=f"ses_2{number}", **fields))

        async def ids(**how: Any) -> list[str]:
            return [session.id for session in await desk.store.sessions(**how)]

        assert await ids() == ["ses_22", "ses_21", "ses_20", "ses_1"]
        assert await ids(limit=2) == ["ses_22", "ses_21"]
        assert await ids(project_id="p") == ["ses_21", "ses_20"]
        assert await ids(parent_id="ses_1") == ["ses_22", "ses_21"]
        assert await ids(parent_id="ses_1", project_id="p") == ["ses_21"]
        assert await ids(project_id="none") == []
        await desk.store.create(Session(id="ses_23"))  # in the same millisecond
        assert await ids(limit=2) == ["ses_23", "ses_22"]
        await desk.store.delete("ses_23")
        desk.clock.advance(10)
        await desk.put(user("m1"))  # what was worked on last comes first
        assert await ids() == ["ses_1", "ses_22", "ses_21", "ses_20"]

    at_desk(where, story)


@pytest.mark.design("R-1")
def test_a_session_is_found_by_id_prefix_and_foreign_id(where: Where) -> None:
    async def story(desk: Desk) -> None:
        store = desk.store
        await store.create(Session(id="ses_abc", source=Source(format="pi", foreign_id="f\ud800-9")))
        await store.create(Session(id="ses_abd", source=Source(format="codex", foreign_id="f-9")))

        async def ids(text: str) -> list[str]:
            return sorted(session.id for session in await store.find(text))

        assert await ids("ses_ab") == ["ses_abc", "ses_abd"]
        assert await ids("ses_abc") == ["ses_abc"]
        assert await ids("ses_1") == ["ses_1"]
        assert await ids("ses_abe") == []
        assert await ids("es_ab") == []
        assert await ids("") == []
        assert await ids("f-9") == ["ses_abd"]
        assert await ids("f\ud800-9") == ["ses_abc"]
        assert await ids("100%_") == []
        found = await store.by_source("codex", "f-9")
        assert found is not None
        assert found.id == "ses_abd"
        assert await store.by_source("pi", "f-9") is None

    at_desk(where, story)


@pytest.mark.design("W-9")
def test_the_accepted_plan_is_kept_and_can_be_dropped(where: Where) -> None:
    async def story(desk: Desk) -> None:
        async def plan(sid: str) -> int:
            session = await desk.store.session(sid)
            assert session is not None
            return session.plan_seq

        await desk.talk(3)
        assert await plan(desk.sid) == 0
        await desk.put(SetSession(plan_seq=2))
        await desk.put(SetSession(title="t"))
        assert await plan(desk.sid) == 2
        await sit(None, "ses_f", store=desk.store, fork_of=ForkOf(desk.sid, None, 3))
        assert await plan("ses_f") == 0  # a fork inherits it only if whoever makes it says so
        await sit(None, "ses_g", store=desk.store, fork_of=ForkOf(desk.sid, None, 3), plan_seq=2)
        assert await plan("ses_g") == 2
        await desk.put(SetSession(plan_seq=0))
        assert [await plan(sid) for sid in (desk.sid, "ses_g")] == [0, 2]

    at_desk(where, story)


@pytest.mark.design("R-1", "R-14")
def test_set_session_leaves_what_it_does_not_name(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(SetSession(title="t", mode="auto"))
        await desk.put(SetSession(model="m", source_lines=9))
        session = await desk.store.session(desk.sid)
        assert session is not None
        assert (session.title, session.mode, session.model) == ("t", "auto", "m")
        assert session.source == Source(format="pi", foreign_id="f", lines=9, bytes=4, sha="s")
        await desk.put(SetSession(source_bytes=5, source_sha="z", title=""))
        session = await desk.store.session(desk.sid)
        assert session is not None
        assert session.source == Source(format="pi", foreign_id="f", lines=9, bytes=5, sha="z")
        assert session.title == ""

    at_desk(where, story, source=Source(format="pi", foreign_id="f", bytes=4, sha="s"))


def test_a_session_that_was_not_imported_has_no_source_to_set(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.refused(SetSession(title="t", source_lines=0)) == "missing"

    at_desk(where, story)


# --- messages and parts -----------------------------------------------------------------------------------------------

_EVERY_PART = (
    Text("words", tokens={"prose": 3}),
    Reasoning("hm", provider="p", model="m", signature="sig==", redacted="r", tokens={"prose": 1}),
    Image(blob="a" * 64, media_type="image/png", size=9, pixels=(2, 3), name="n"),
    File(blob="b" * 64, media_type="text/plain", size=8, name="f", excerpt="e", tokens={"code": 2}),
    call(
        "edit",
        "completed",
        arguments={"path": "a/b.py", "deep": [1, 2.5, None, True, {"x": "y"}], "big": 2**70},
        raw_arguments="{",
        result=(Text("ok"), Image(blob="c" * 64, media_type="image/png", size=1), File(blob="d" * 64, media_type="x", size=0)),
        started=1,
        ended=2,
        touches=(Touch("a/b.py", "edit", (1, 4)), Touch("c", "read")),
        extra={"thought": "z"},
        tokens={"code": 7},
    ),
    Reminder(source="plan", body="b", form="system", tokens={"prose": 4}),
    Notice(kind="cut", text="said"),
)


@pytest.mark.design("R-2", "R-3")
def test_a_message_comes_back_as_it_was_given(where: Where) -> None:
    message = Message(
        id="m1", role="assistant", origin="model", parts=_EVERY_PART, created=12, source="s", model="big", finish=Finish.LENGTH,
        usage=Usage(fresh=1, cached=2, output=3), foreign_id="f",
    )  # fmt: skip

    async def story(desk: Desk) -> None:
        for data in "abcd":
            await desk.store.put_blob(data.encode())
        answer = await desk.put(AddMessage(msgspec.structs.replace(message, seq=77, session_id="other")))
        assert (answer.head, answer.seqs) == (1, (1,))
        stored = msgspec.structs.replace(message, seq=1, session_id=desk.sid)
        assert list(await desk.store.messages(desk.sid)) == [stored]
        assert await desk.store.message(desk.sid, "m1") == stored
        assert await desk.store.message(desk.sid, "m2") is None
        assert await desk.store.message("ses_9", "m1") is None
        assert [finding.split()[0] for finding in await desk.store.check()] == ["blob"] * 4  # these are not there
        await desk.store.delete(desk.sid)

    at_desk(where, story)


@pytest.mark.design("R-3")
@pytest.mark.report(67)
@pytest.mark.parametrize(
    "text",
    ["a\u2028b\u2029c\x85d", "nul\x00nul", "half \ud83d", "\ude00\ud83d", chr(0xD83D) + chr(0xDE00), " \\ud800", "\n\r\n", ""],
)
def test_any_text_comes_back(where: Where, text: str) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(
            user("m1", text, source=text, foreign_id=text),
            model("m2", call(arguments={text: [text, {"k": text}]}, raw_arguments=text, result=(Text(text),)), Reasoning(text)),
            Pin(PinRow("p1", text)),
            SetSession(title=text),
            PutInbox(InboxRow("i1", text)),
            task("T1", text, next_action=text),
            PutSnapshot(Snapshot("s1", 0, "t", text, "after_turn")),
        )
        one, two = await desk.store.messages(desk.sid)
        assert (one.parts, one.source, one.foreign_id) == ((Text(text),), text, text)
        assert two.parts == (
            call(arguments={text: [text, {"k": text}]}, raw_arguments=text, result=(Text(text),)),
            Reasoning(text),
        )
        assert [pin.text for pin in await desk.store.pins(desk.sid)] == [text]
        assert [row.text for row in await desk.store.inbox(desk.sid)] == [text]
        assert [(row.summary, row.next_action) for row in await desk.store.tasks(desk.sid)] == [(text, text)]
        assert [row.root for row in await desk.store.snapshots(desk.sid)] == [text]
        (session,) = await desk.store.sessions()
        assert session.title == text
        await desk.store.search(text)

    at_desk(where, story)


@pytest.mark.design("R-3")
@pytest.mark.report(67)
def test_any_text_at_all_comes_back() -> None:
    anything = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF), max_size=30)

    @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(anything, max_size=4))
    def check(texts: list[str]) -> None:
        async def story(desk: Desk) -> None:
            await desk.put(*(user(f"m{at}", text) for at, text in enumerate(texts)))
            assert [message.parts for message in await desk.store.messages(desk.sid)] == [(Text(text),) for text in texts]
            for text in texts:
                await desk.store.search(text)

        at_desk(None, story)

    check()


@pytest.mark.design("R-2")
def test_seqs_count_up_and_each_commit_bumps_the_revision(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.store.revision(desk.sid) == 0
        assert await desk.put(user("m1"), user("m2")) == Committed(head=2, revision=1, seqs=(1, 2))
        desk.clock.advance(7)
        assert await desk.put(Pin(PinRow("p", "t"))) == Committed(head=2, revision=2, seqs=())
        assert await desk.put(user("m3")) == Committed(head=3, revision=3, seqs=(3,))
        session = await desk.store.session(desk.sid)
        assert session is not None
        assert (session.head, session.revision, session.epoch, session.updated) == (3, 3, 1, desk.clock.now())
        assert await desk.store.revision(desk.sid) == 3
        assert await desk.store.revision("ses_9") == 0

    at_desk(where, story)


@pytest.mark.design("R-2")
def test_ranges_are_open_below_and_closed_above(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(6)
        assert await desk.seqs() == [1, 2, 3, 4, 5, 6]
        assert await desk.seqs(after=2) == [3, 4, 5, 6]
        assert await desk.seqs(after=2, upto=4) == [3, 4]
        assert await desk.seqs(after=4, upto=4) == []
        assert await desk.seqs(upto=0) == []
        assert await desk.seqs(after=6) == []
        assert await desk.seqs(limit=2) == [1, 2]
        assert await desk.seqs(limit=0) == []
        assert await desk.seqs(newest_first=True, limit=2) == [6, 5]
        assert await desk.seqs(newest_first=True, after=1, upto=3) == [3, 2]
        assert list(await desk.store.messages("ses_9")) == []

    at_desk(where, story)


@pytest.mark.design("R-10")
def test_a_stream_gives_every_message_once_in_batches(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(*(user(f"m{number}") for number in range(1, 11)))
        await desk.put(undo_turn("u1", 3, 5))
        for batch in (1, 2, 3, 8, 9):
            assert [message.seq async for message in desk.store.stream(desk.sid, batch=batch)] == [1, 2, 3, 6, 7, 8, 9, 10]
        assert [message.seq async for message in desk.store.stream(desk.sid, after=6, batch=2)] == [7, 8, 9, 10]

    at_desk(where, story)


@pytest.mark.design("R-3", "R-4")
def test_a_part_may_change_only_while_its_call_runs(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(model("m1"))
        await desk.put(SettlePart("m1", 0, Text("thinking")))
        assert await desk.refused(SettlePart("m1", 0, Text("thinking twice"))) == "settled"
        assert await desk.refused(SettlePart("m1", 2, Text("a hole"))) == "missing"
        assert await desk.refused(SettlePart("m2", 0, Text("nowhere"))) == "missing"
        await desk.put(SettlePart("m1", 1, call(state="pending")))
        await desk.put(SettlePart("m1", 1, call(state="running", started=5)))
        assert await desk.refused(SettlePart("m1", 1, Text("not a call"))) == "settled"
        await desk.put(SettlePart("m1", 1, call(state="completed", result=(Text("out"),))))
        assert await desk.refused(SettlePart("m1", 1, call(state="completed", result=(Text("other"),)))) == "settled"
        for at, state in enumerate(("error", "interrupted"), 2):
            await desk.put(SettlePart("m1", at, call(state=state)))
            assert await desk.refused(SettlePart("m1", at, call(state="completed"))) == "settled"
        (message,) = await desk.store.messages(desk.sid)
        assert message.parts == (
            Text("thinking"), call(state="completed", result=(Text("out"),)), call(state="error"), call(state="interrupted"),
        )  # fmt: skip

    at_desk(where, story)


def test_a_part_of_another_session_is_out_of_reach(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(model("m1"))
        other = await sit(None, "ses_2", store=desk.store)
        assert await other.refused(SettlePart("m1", 0, Text("x"))) == "missing"

    at_desk(where, story)


# --- the fence --------------------------------------------------------------------------------------------------------


@pytest.mark.design("R-9", "R-11")
def test_only_the_newest_epoch_commits(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.refused(user("m1"), epoch=0) == "epoch"
        assert await desk.refused(user("m1"), epoch=2) == "epoch"
        desk.clock.advance(20_000)  # expired, but nobody took over
        await desk.put(user("m1"))
        taken = await desk.store.acquire(desk.sid, "elsewhere:2:b")
        assert taken.epoch == 2  # type: ignore[union-attr]
        assert await desk.refused(user("m2")) == "epoch"
        assert await desk.refused(user("m1")) == "epoch"  # a repeat by a stale holder as well
        await desk.put(user("m2"), epoch=2)

    at_desk(where, story)


@pytest.mark.design("R-9")
def test_without_a_lease_only_the_inbox_is_open(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.store.release(desk.lease)
        assert await desk.refused(user("m1")) == "no_lease"
        assert await desk.refused(PutInbox(InboxRow("i1", "x")), user("m1")) == "no_lease"
        assert await desk.refused() == "no_lease"
        await desk.put(PutInbox(InboxRow("i1", "x")), epoch=99)
        missing = await desk.store.commit("ses_9", Fence(epoch=1), [user("m1")])
        assert isinstance(missing, Fenced)
        assert missing.reason == "missing"

    at_desk(where, story)


@pytest.mark.design("R-9")
@pytest.mark.report(107)
def test_the_head_is_fenced_only_where_a_seq_is_taken(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1"), head=0)
        assert await desk.refused(user("m2"), head=0) == "head"
        assert await desk.refused(user("m2"), head=2) == "head"
        await desk.put(Pin(PinRow("p", "t")), head=0)
        await desk.put(user("m2"), head=1)
        await desk.put(user("m3"))

    at_desk(where, story)


@pytest.mark.design("K-9", "R-9")
def test_the_slot_is_taken_once(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.store.slot(desk.sid) == Slot()
        assert await desk.store.slot("ses_9") == Slot()
        taken = Slot(running=True, generation=1, started=4, mark=9)
        await desk.put(SetSlot(taken), slot_generation=0)
        assert await desk.refused(SetSlot(taken), slot_generation=0) == "slot"
        assert await desk.refused(SetSlot(taken), slot_generation=2) == "slot"
        assert await desk.store.slot(desk.sid) == taken
        await desk.put(SetSlot(Slot(generation=1, mark=7)), slot_generation=1)
        assert await desk.store.slot(desk.sid) == Slot(generation=1, mark=7)

    at_desk(where, story)


@pytest.mark.design("R-9")
def test_all_changes_go_in_or_none(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1"))
        good = (
            user("m2", "needle"),
            window("w1"),
            Pin(PinRow("p", "t")),
            PutPrefix(PrefixSnapshot("x")),
            SetSlot(Slot(generation=5)),
            task("T1", "t"),
            PutSnapshot(Snapshot("s1", 0, "t", "/r", "before_turn")),
        )
        assert await desk.refused(*good, SettlePart("nowhere", 0, Text(""))) == "missing"
        assert await desk.seqs() == [1]
        assert list(await desk.store.windows(desk.sid)) == []
        assert list(await desk.store.pins(desk.sid)) == []
        assert list(await desk.store.tasks(desk.sid)) == []
        assert list(await desk.store.snapshots(desk.sid)) == []
        assert await desk.store.prefix("x") is None
        assert await desk.store.slot(desk.sid) == Slot()
        assert list(await desk.store.search("needle")) == []
        await desk.put(*good)

    at_desk(where, story)


@pytest.mark.design("R-9")
def test_a_repeat_is_answered_as_done(where: Where) -> None:
    async def story(desk: Desk) -> None:
        rows = (
            user("m1"),
            model("m2"),
            window("w1"),
            OpenCall(Call("c1", "main", 1)),
            AddCheckpoint(checkpoint("k1", 1)),
            undo_turn("u1", 0, 1),
            PutSnapshot(Snapshot("s1", 2, "t", "/r", "after_turn")),
        )
        first = await desk.put(*rows, head=0)
        again = await desk.put(*rows, head=0)
        assert again == msgspec.structs.replace(first, repeated=True)
        assert again.seqs == (1, 2)
        await desk.put(user("m3"))
        later = await desk.put(model("m2"), user("m1"), head=0)  # in the order asked, with the head of now
        assert later == Committed(head=3, revision=2, seqs=(2, 1), repeated=True)
        assert len(await desk.store.messages(desk.sid, include_undone=True)) == 3
        assert len(await desk.store.windows(desk.sid)) == 1
        assert len(await desk.store.undos(desk.sid)) == 1
        assert len(await desk.store.snapshots(desk.sid)) == 1
        for row in rows[2:]:
            assert (await desk.put(row)).repeated

    at_desk(where, story)


@pytest.mark.design("R-9")
def test_half_a_repeat_is_refused(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1"))
        assert await desk.refused(user("m1"), user("m2")) == "settled"
        assert await desk.refused(user("m2"), user("m1")) == "settled"
        with pytest.raises(UserMistake, match="m3 twice"):
            await desk.commit(user("m3"), user("m3"))
        other = await sit(None, "ses_2", store=desk.store)
        assert await other.refused(user("m1")) == "settled"
        assert await desk.seqs() == [1]

    at_desk(where, story)


# --- windows, checkpoints, calls --------------------------------------------------------------------------------------


@pytest.mark.design("R-5")
def test_windows_are_numbered_by_the_store(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.store.newest_window(desk.sid) is None
        first = window(
            "w1",
            opening=(Block("label", "text\u2028", 3, (1, 2)),),
            items=(Item("i", Section.NEXT, "t"),),
            tiers=(1,),
            gate=8,
            created=6,
        )
        await desk.put(first, window("w2"))
        await desk.put(window("w3"))
        rows = await desk.store.windows(desk.sid)
        assert [(row.id, row.number) for row in rows] == [("w1", 1), ("w2", 2), ("w3", 3)]
        assert rows[0] == msgspec.structs.replace(first.window, number=1)
        assert await desk.store.window("w1") == rows[0]
        assert await desk.store.window("w9") is None
        newest = await desk.store.newest_window(desk.sid)
        assert newest is not None
        assert newest.id == "w3"

    at_desk(where, story)


@pytest.mark.design("C-7", "R-5")
def test_tiers_are_consumed_once_and_the_gate_is_set(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1", tiers=(10,), gate=4))
        await desk.put(ConsumeTiers("w1", (30, 10, 20, 30), gate=7))
        row = await desk.store.window("w1")
        assert row is not None
        assert (row.tiers, row.gate) == ((10, 30, 20), 7)
        await desk.put(ConsumeTiers("w1", ()))
        row = await desk.store.newest_window(desk.sid)
        assert row is not None
        assert (row.tiers, row.gate) == ((10, 30, 20), None)
        assert await desk.refused(ConsumeTiers("w2", (1,))) == "missing"

    at_desk(where, story)


@pytest.mark.design("R-5")
def test_trims_grow_only_in_the_newest_window_and_never_change(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(window("w1", trims=(Trim(1, 0, 5, 5),), tiers=(3,), gate=2))
        await desk.put(AddTrims("w1", (Trim(2, 1, 9, 8),)))
        await desk.put(AddTrims("w1", (Trim(2, 1, 9, 8), Trim(2, 0, 1, 1))))
        assert await desk.refused(AddTrims("w1", (Trim(4, 0, 1, 1), Trim(2, 1, 9, 7)))) == "settled"
        row = await desk.store.newest_window(desk.sid)
        assert row is not None
        assert row.trims == (Trim(1, 0, 5, 5), Trim(2, 1, 9, 8), Trim(2, 0, 1, 1))
        assert (row.tiers, row.gate) == ((3,), 2)
        await desk.put(window("w2"))
        assert await desk.refused(AddTrims("w1", (Trim(9, 0, 1, 1),))) == "settled"
        assert await desk.refused(AddTrims("w9", ())) == "missing"

    at_desk(where, story)


@pytest.mark.design("R-6")
def test_the_newest_checkpoint_is_the_newest_row(where: Where) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.store.newest_checkpoint(desk.sid) is None
        await desk.talk(9)
        await desk.put(AddCheckpoint(checkpoint("k1", 9)))
        await desk.put(AddCheckpoint(checkpoint("k2", 5)))
        assert await desk.store.newest_checkpoint(desk.sid) == checkpoint("k2", 5)
        assert list(await desk.store.checkpoints(desk.sid)) == [checkpoint("k1", 9), checkpoint("k2", 5)]

    at_desk(where, story)


@pytest.mark.design("R-15")
def test_a_call_is_there_before_and_complete_after(where: Where) -> None:
    async def story(desk: Desk) -> None:
        store = desk.store
        opened = Call(
            "c1", "main", 1, window_id="w1", message_id="m2", model="big", settings={"t": 1}, unit_hashes=("h",), started=5
        )
        await desk.put(user("m1"), model("m2"), OpenCall(opened))
        assert list(await store.calls(desk.sid)) == [opened]
        assert await store.newest_call(desk.sid, window_id="w1") is None
        assert await desk.refused(CloseCall("c9")) == "missing"
        await desk.put(CloseCall("c1", usage=Usage(fresh=7), price=0.5, verdict="v", error="e", finish=Finish.STOP, ended=9))
        done = msgspec.structs.replace(
            opened, usage=Usage(fresh=7), price=0.5, verdict="v", error="e", finish=Finish.STOP, ended=9
        )
        assert await store.newest_call(desk.sid, window_id="w1") == done
        assert [message.finish for message in await store.messages(desk.sid)] == [None, Finish.STOP]
        assert await desk.refused(CloseCall("c1", error="again")) == "settled"
        await desk.put(OpenCall(Call("c2", "main", 2, window_id="w1")), OpenCall(Call("c3", "writer", 2, window_id="w1")))
        await desk.put(OpenCall(Call("c4", "main", 2, window_id="w2")), CloseCall("c4", usage=Usage(fresh=1)))
        await desk.put(CloseCall("c2", error="no usage"), CloseCall("c3", usage=Usage(fresh=2), ended=0))
        assert await store.newest_call(desk.sid, window_id="w1") == done
        assert (await store.newest_call(desk.sid, window_id="w1", purpose="writer")).id == "c3"  # type: ignore[union-attr]
        assert [row.id for row in await store.calls(desk.sid)] == ["c1", "c2", "c3", "c4"]
        assert [row.id for row in await store.calls(desk.sid, window_id="w2")] == ["c4"]
        assert [row.ended for row in await store.calls(desk.sid)] == [9, desk.clock.now(), 0, desk.clock.now()]

    at_desk(where, story)


@pytest.mark.design("R-7")
def test_a_prefix_that_is_there_is_left_alone(where: Where) -> None:
    async def story(desk: Desk) -> None:
        snapshot = PrefixSnapshot(
            "x", system=(Block("rules", "r"),), tools=({"name": "n", "schema": {"b": 1, "a": 2}},), tokens=5
        )
        await desk.put(PutPrefix(snapshot))
        await desk.put(PutPrefix(PrefixSnapshot("x", tokens=9)))
        assert await desk.store.prefix("x") == snapshot
        assert await desk.store.prefix("y") is None

    at_desk(where, story)


def test_pins_are_replaced_and_removed(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(Pin(PinRow("p1", "one")), Pin(PinRow("p2", "two")))
        await desk.put(Pin(PinRow("p1", "uno")))
        assert [(pin.id, pin.text) for pin in await desk.store.pins(desk.sid)] == [("p1", "uno"), ("p2", "two")]
        await desk.put(Pin(PinRow("p1", "uno", removed=True)))
        assert [pin.id for pin in await desk.store.pins(desk.sid)] == ["p2"]

    at_desk(where, story)


@pytest.mark.design("R-9")
def test_inbox_text_is_taken_once_and_never_comes_back(where: Where) -> None:
    async def story(desk: Desk) -> None:
        rows = InboxRow("i1", "one"), InboxRow("i2", "two")
        await desk.put(*(PutInbox(row) for row in rows))
        assert list(await desk.store.inbox(desk.sid)) == list(rows)
        await desk.put(user("m1", "one"), TakeInbox(("i1",)))
        assert list(await desk.store.inbox(desk.sid)) == [rows[1]]
        assert await desk.refused(user("m2", "one"), TakeInbox(("i1",))) == "missing"
        assert (await desk.put(user("m1", "one"), TakeInbox(("i1",)))).repeated
        assert (await desk.put(PutInbox(rows[0]))).repeated  # a late repeat is not delivered twice
        assert list(await desk.store.inbox(desk.sid)) == [rows[1]]

    at_desk(where, story)


# --- turns ------------------------------------------------------------------------------------------------------------


@pytest.mark.design("W-2", "W-3")
def test_turns_tell_how_each_went(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("1"), model("2", call(), finish=Finish.TOOL_CALLS), model("3", Text("a"), finish=Finish.STOP))
        await desk.put(
            user("4"), model("5", call(), finish=Finish.TOOL_CALLS), model("6", finish=Finish.INTERRUPTED), model("7")
        )
        await desk.put(AddMessage(Message("8", "user", "engine", (Text("not the user"),))))

        async def turns(upto: int, limit: int = 200) -> list[tuple[int, str | None, bool]]:
            return [
                (t.message.seq, t.last_finish, t.stop_after) for t in await desk.store.turns(desk.sid, upto=upto, limit=limit)
            ]

        assert await turns(8) == [(4, "interrupted", False), (1, "stop", True)]
        assert await turns(4) == [(4, "interrupted", False), (1, "stop", True)]
        assert await turns(3) == [(1, "stop", True)]
        assert await turns(8, limit=1) == [(4, "interrupted", False)]
        assert await turns(0) == []
        await desk.put(user("9"), model("10"), OpenCall(Call("c", "main", 9, message_id="10")))
        assert await turns(9, limit=1) == [(9, None, False)]
        await desk.put(CloseCall("c", finish=Finish.LENGTH))
        assert await turns(9, limit=2) == [(9, "length", True), (4, "interrupted", True)]
        await desk.put(SettlePart("10", 0, call()))  # it made a call after all
        assert await turns(9, limit=2) == [(9, "length", False), (4, "interrupted", False)]
        await desk.put(undo_turn("u", 8, 10))
        assert await turns(10, limit=1) == [(4, "interrupted", False)]
        await desk.put(undo_turn("u2", 3, 7))
        assert await turns(10) == [(1, "stop", True)]

    at_desk(where, story)


# --- blobs and care ---------------------------------------------------------------------------------------------------


@pytest.mark.design("R-8")
def test_blobs_are_addressed_by_what_they_hold(where: Where) -> None:
    async def story(desk: Desk) -> None:
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        assert await desk.store.put_blob(b"") == empty
        assert await desk.store.blob(empty) == b""
        data = bytes(range(256)) * 300
        sha = await desk.store.put_blob(data)
        assert await desk.store.put_blob(data) == sha
        assert await desk.store.blob(sha) == data
        for wrong in ("0" * 64, "../../etc/passwd", "", sha.upper()):
            assert await desk.store.blob(wrong) is None
        assert (await desk.store.space()).blobs == len(data)

    at_desk(where, story)


@pytest.mark.design("R-8", "R-16")
def test_blobs_without_a_row_are_collected(where: Where) -> None:
    async def story(desk: Desk) -> None:
        store = desk.store
        used, inner, loose = [await store.put_blob(data) for data in (b"used", b"inner!", b"loose")]
        result = File(blob=inner, media_type="text/plain", size=6)
        await desk.put(model("m1", Image(blob=used, media_type="image/png", size=4), call(state="running")))
        await desk.put(SettlePart("m1", 1, call(state="completed", result=(result,))))
        space = await store.space()
        assert (space.blobs, space.orphans) == (15, 5)
        assert await store.collect() == 0  # young, and the session is held: its row may be on the way
        assert await store.blob(loose) == b"loose"
        desk.clock.advance(3_599_999)
        assert await store.collect() == 0
        desk.clock.advance(1)
        assert await store.collect() == 5
        assert await store.blob(loose) is None
        assert (await store.blob(used), await store.blob(inner)) == (b"used", b"inner!")
        await store.put_blob(b"young")
        await store.release(desk.lease)
        assert await store.collect() == 5  # nobody runs: nothing is on the way
        assert (await store.space()).orphans == 0

    at_desk(where, story)


def test_a_blob_put_again_is_young_again(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.store.put_blob(b"x")
        desk.clock.advance(3_600_000)
        sha = await desk.store.put_blob(b"x")
        assert await desk.store.collect() == 0
        assert await desk.store.blob(sha) == b"x"

    at_desk(where, story)


def test_a_closed_store_says_so(where: Where) -> None:
    async def main() -> None:
        desk = await sit(where)
        await desk.store.close()
        await desk.store.close()
        with pytest.raises(WorkFailed, match="closed"):
            await desk.store.sessions()

    asyncio.run(main())
