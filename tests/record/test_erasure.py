"""Deleting and scrubbing: a person's act, and thorough (R-16)."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from record.rows import Desk, at_desk, call, checkpoint, model, sit, task, undo_turn, user, window
from sojourn.base import Item, Section, UserMistake
from sojourn.record import (
    AddCheckpoint,
    Block,
    Call,
    CloseCall,
    Fenced,
    File,
    ForkOf,
    Image,
    InboxRow,
    OpenCall,
    Pin,
    PinRow,
    PrefixSnapshot,
    PutInbox,
    PutPrefix,
    PutSnapshot,
    Reasoning,
    SetSession,
    Snapshot,
    Text,
)
from sojourn.record.scrub import Scrubber

Where = Path | None
SECRET = 'tok-"9\\f8\u2028é'
PLAIN = "tok-SECRETQ-77"


@pytest.mark.design("R-16")
def test_delete_takes_the_session_its_children_and_all_their_rows(where: Where) -> None:
    async def story(desk: Desk) -> None:
        store = desk.store
        kept, gone = await store.put_blob(b"kept"), await store.put_blob(b"gone")
        child = await sit(None, "ses_c", store=store, parent_id="ses_1")
        grandchild = await sit(None, "ses_g", store=store, parent_id="ses_c")
        other = await sit(None, "ses_2", store=store, parent_id="ses_9")
        for at in (desk, child, grandchild, other):
            parts = [File(kept, "text/plain", 4)] if at is other else [File(gone, "text/plain", 4), File(kept, "text/plain", 4)]
            await at.put(
                model(f"{at.sid}m", Text("needle"), *parts), window(f"{at.sid}w", prefix_id=f"{at is other}"),
                PutPrefix(PrefixSnapshot(f"{at is other}")), AddCheckpoint(checkpoint(f"{at.sid}k", 1)),
                undo_turn(f"{at.sid}u", 0, 1),
                OpenCall(Call(f"{at.sid}c", "main", 1, prefix_id="True")), Pin(PinRow("p", "t")),
                PutInbox(InboxRow(f"{at.sid}i", "t")), task("T1", "t"),
                PutSnapshot(Snapshot(f"{at.sid}s", 1, "tree", "/r", "before_turn")),
            )  # fmt: skip
        await desk.put(user("more", "needle"))
        assert await store.delete("ses_1") == 4
        assert [session.id for session in await store.sessions()] == ["ses_2"]
        assert await store.session("ses_1") is None
        assert list(await store.messages("ses_c", include_undone=True)) == []
        assert await store.window("ses_1w") is None
        assert (await store.blob(gone), await store.blob(kept)) == (None, b"kept")
        left = {name: store._db.execute(f"SELECT count(*) FROM {name}").fetchone() for name in ("tasks", "snapshots")}  # type: ignore[union-attr]
        assert left == {"tasks": (1,), "snapshots": (1,)}
        assert (len(await store.tasks("ses_2")), len(await store.snapshots("ses_2"))) == (1, 1)
        assert await store.prefix("False") is None
        assert await store.prefix("True") is not None
        await other.put(user("again", "needle"))
        assert [(hit.session_id, hit.seq) for hit in await store.search("needle")] == [("ses_2", 2)]
        assert isinstance(await desk.commit(user("late")), Fenced)
        with pytest.raises(UserMistake, match="ses_1"):
            await store.delete("ses_1")
        assert await store.delete("ses_2") == 2
        assert (await store.space()).blobs == 0

    at_desk(where, story)


@pytest.mark.design("R-16", "R-4")
def test_a_session_that_a_fork_reads_is_not_deleted(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.talk(2)
        await sit(None, "ses_f", store=desk.store, fork_of=ForkOf("ses_1", None, 2))
        with pytest.raises(UserMistake, match="ses_f"):
            await desk.store.delete("ses_1")
        assert await desk.seqs() == [1, 2]
        assert await desk.store.delete("ses_f") == 0
        child = await sit(None, "ses_c", store=desk.store, parent_id="ses_1")
        await child.talk(1)
        await sit(None, "ses_d", store=desk.store, parent_id="ses_1", fork_of=ForkOf("ses_c", None, 1))
        assert await desk.store.delete("ses_1") == 3  # the fork goes with it

    at_desk(where, story)


async def _spread(desk: Desk, secret: str) -> None:
    """A session with the secret in every place where text can stand."""
    blob = await desk.store.put_blob(f"one {secret} two {secret}".encode("utf-8", "surrogatepass"))
    clean = await desk.store.put_blob(b"clean")
    item = Item("i1", Section.NEXT, f"item {secret}")
    await desk.put(
        user("m1", f"say {secret}"),
        model(
            "m2",
            Reasoning(f"hm {secret}", signature="sig", redacted="r"),
            Reasoning("untouched", signature="sig"),
            call(
                arguments={secret: [secret, {"a": secret}], "id": secret}, raw_arguments=secret, state="completed",
                result=(Text(secret), File(blob, "text/plain", 9, excerpt=secret), Image(clean, "image/png", 5)),
            ),
        ),
        window("w1", opening=(Block("label", secret),), items=(item,), prefix_id="x"),
        AddCheckpoint(msgspec.structs.replace(checkpoint("k1", 2), items=(item,))),
        PutPrefix(PrefixSnapshot("x", system=(Block("rules", secret),), tools=({"name": "n", "description": secret},))),
        Pin(PinRow("p", secret)), PutInbox(InboxRow("i", secret)), SetSession(title=f"about {secret}"),
        OpenCall(Call("c1", "main", 1)), CloseCall("c1", error=f"refused {secret}"),
        task("T1", f"older {secret}"), task("T1", f"do {secret}", next_action=f"{secret} first", status="blocked"),
        PutSnapshot(Snapshot("s1", 1, "tree", f"/r/{secret}", "before_turn")),
    )  # fmt: skip


@pytest.mark.design("R-16")
@pytest.mark.parametrize("secret", [PLAIN, SECRET, "half \ud800 x"])
def test_scrub_replaces_the_text_everywhere_and_keeps_the_seqs(where: Where, secret: str) -> None:
    async def story(desk: Desk) -> None:
        store = desk.store
        await _spread(desk, secret)
        other = await sit(None, "ses_2", store=store)
        await other.put(user("o1", "nothing here"))
        before = [await store.revision(name) for name in ("ses_1", "ses_2")]
        assert await store.scrub(secret, "[gone]") == 24
        rows = [
            *await store.messages("ses_1"), *await store.windows("ses_1"), *await store.checkpoints("ses_1"),
            *await store.pins("ses_1"), *await store.tasks("ses_1", every_state=True), *await store.snapshots("ses_1"),
            *await store.inbox("ses_1"), *await store.calls("ses_1"), await store.session("ses_1"), await store.prefix("x"),
        ]  # fmt: skip
        assert secret not in str(rows).replace("\\\\", "\\")
        assert repr(secret)[1:-1] not in repr(rows)
        one, two = await store.messages("ses_1")
        assert (one.seq, one.parts) == (1, (Text("say [gone]"),))
        thought, kept, tool = two.parts
        assert thought == Reasoning("hm [gone]")  # its signature is over other text
        assert kept == Reasoning("untouched", signature="sig")
        assert tool.arguments == {"[gone]": ["[gone]", {"a": "[gone]"}], "id": "[gone]"}  # type: ignore[union-attr]
        text, file, image = tool.result  # type: ignore[union-attr]
        assert (text, image.size) == (Text("[gone]"), 5)
        assert await store.blob(file.blob) == b"one [gone] two [gone]"
        assert (file.size, file.excerpt) == (21, "[gone]")
        (todo,) = await store.tasks("ses_1")
        assert (todo.summary, todo.next_action, todo.status) == ("do [gone]", "[gone] first", "blocked")
        assert [row.root for row in await store.snapshots("ses_1")] == ["/r/[gone]"]
        assert (await store.space()).blobs == 26  # the old one is gone, and so it is known by its new address
        assert (await store.space()).orphans == 0
        after = [await store.revision(name) for name in ("ses_1", "ses_2")]
        assert after == [before[0] + 1, before[1]]
        assert [hit.seq for hit in await store.search("gone", session_id="ses_1")] == [2, 1]
        assert await store.scrub(secret, "[gone]") == 0

    at_desk(where, story)


def test_scrub_leaves_ids_and_words_of_the_engine_alone(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("text", "text completed user"), model("m2", call(state="completed")), window("w", reason="user"))
        for word in ("text", "completed", "user", "model", "m2", "ses_1", "rebuild", "ask", "tool_call"):
            await desk.store.scrub(word, "#")
        first, second = await desk.store.messages(desk.sid)
        assert (first.id, first.role, first.origin, first.parts) == ("text", "user", "user", (Text("# # #"),))
        assert second.parts[0].state == "completed"  # type: ignore[union-attr]
        row = await desk.store.newest_window(desk.sid)
        assert row is not None
        assert (row.id, row.kind, row.reason) == ("w", "rebuild", "user")
        assert (await desk.store.session(desk.sid)).mode == "ask"  # type: ignore[union-attr]
        with pytest.raises(UserMistake, match="empty"):
            await desk.store.scrub("", "#")

    at_desk(where, story)


@pytest.mark.design("R-16", "Y-3", "K-10", "W-12")
def test_scrub_leaves_names_in_tasks_snapshots_and_checkpoints_alone(where: Where) -> None:
    names = ("n1", "n2")
    item = Item("n1", Section.NEXT, "n1 open user", by="user")
    mark = msgspec.structs.replace(
        checkpoint("k1", 0), items=(item,), mode="fork", calls=names, added=names, closed=names, checked=names, promoted=names,
        notes=names,
    )  # fmt: skip
    todo = task("T1", "T1 in_progress n1", status="in_progress", owner="n1", parent_id="n1", next_action="n1 next")
    shot = Snapshot("n1", 0, "n1", "/r/n1", "before_turn")

    async def story(desk: Desk) -> None:
        await desk.put(
            AddCheckpoint(mark), todo, PutSnapshot(shot), window("w1", items=(item,), measured={"n1": 1.5}, files=("/r/n1",))
        )
        for word in ("n1", "in_progress", "user", "open", "before_turn", "fork", "T1"):
            await desk.store.scrub(word, "#")
        clean = msgspec.structs.replace(item, text="# # #")
        assert await desk.store.newest_checkpoint(desk.sid) == msgspec.structs.replace(mark, items=(clean,))
        assert await desk.store.tasks(desk.sid) == [msgspec.structs.replace(todo.task, summary="# # #", next_action="# next")]
        assert await desk.store.snapshots(desk.sid) == [msgspec.structs.replace(shot, root="/r/#")]
        row = await desk.store.newest_window(desk.sid)
        assert row is not None
        assert (row.items, row.measured, row.files) == ((clean,), {"n1": 1.5}, ("/r/#",))

    at_desk(where, story)


def test_scrubbed_words_are_found_no_more(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1", f"alpha {PLAIN} beta"))
        assert len(await desk.store.search(PLAIN)) == 1
        await desk.store.scrub(PLAIN, "x")
        assert list(await desk.store.search(PLAIN)) == []
        assert len(await desk.store.search("alpha beta")) == 1

    at_desk(where, story)


@pytest.mark.design("R-16")
@pytest.mark.parametrize("how", ["scrub", "delete"])
def test_no_byte_of_it_is_left_on_disk(tmp_path: Path, how: str) -> None:
    async def main() -> None:
        desk = await sit(tmp_path / "d" / "sojourn.db")
        await _spread(desk, PLAIN)
        await desk.put(model("m3", call(arguments={"a": PLAIN})))
        assert len(await desk.store.search(PLAIN)) == 3  # the index holds it now
        held = [file for file in (tmp_path / "d").rglob("*") if file.is_file() and PLAIN.encode() in file.read_bytes()]
        assert held
        await (desk.store.scrub(PLAIN, "x") if how == "scrub" else desk.store.delete("ses_1"))
        for file in (tmp_path / "d").rglob("*"):
            if file.is_file():
                data = file.read_bytes().lower()
                assert PLAIN.lower().encode() not in data, file.name
                assert b"secretq" not in data, file.name  # as a word of the index
        await desk.store.close()

    asyncio.run(main())


def test_scrub_counts_places_in_every_spelling() -> None:
    scrubber = Scrubber('a"b', 'x"')
    assert scrubber.text('a"b a\\"b ab') == 'x" x\\" ab'
    assert scrubber.data(b'a"b') == b'x"'
    assert scrubber.count == 3


def test_blobs_that_another_database_may_need_are_left(tmp_path: Path) -> None:
    async def main() -> None:
        desk = await sit(tmp_path / "a.db")
        other = await sit(tmp_path / "b.db")
        sha = await desk.store.put_blob(b"data")
        await desk.store.close()
        await other.put(model("m1", File(sha, "text/plain", 4)))
        (tmp_path / "notes.txt").write_text("not a database")
        with pytest.raises(UserMistake, match=r"a\.db"):
            await other.store.collect()
        with pytest.raises(UserMistake, match=r"a\.db"):
            await other.store.scrub("x", "y")
        await other.store.delete("ses_1")
        assert await other.store.blob(sha) == b"data"
        (tmp_path / "a.db").unlink()
        assert await other.store.collect() == 4
        await other.store.close()

    asyncio.run(main())
