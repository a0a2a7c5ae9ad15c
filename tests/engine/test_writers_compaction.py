"""A compaction window whose summary a model writes (W-14, C-9): by hand, for a child session, where checkpoints are off."""

import asyncio
from typing import Literal

import pytest

from engine.scribe import (
    GOOD,
    NO_TIERS,
    PAID,
    TASK,
    Answer,
    Scribe,
    answered,
    body,
    calls_of,
    keys,
    of,
    said,
    scribe_engine,
    steps,
    text_of,
)
from engine.sessions import says, user
from sojourn.base import ErrorKind, Finish, Section
from sojourn.checkpoint import WriterInput, Written
from sojourn.config import CheckpointSettings, Memory, Settings
from sojourn.engine import Engine, EngineEvent, writing
from sojourn.models import ENCODERS
from sojourn.record import Fence, InboxRow, PutInbox, Session, Text, Window
from sojourn.request import units
from sojourn.wire import CallEvent, Event, FinishEvent, ModelError, UsageEvent

FOCUS = "write a table of all offsets of Dunmore harbour"
SUMMARY = "+ knowledge: the gauge of Dunmore is read at minute 17\n+ decisions: offsets are added before the table is written\n"


async def worked(engine: Engine, count: int = 24) -> None:
    await engine.observe(user("Set up the station tables."))
    await steps(engine, count)
    await engine.observe(says("The tables of station 3 are done."))


def opening(window: Window | None) -> str:
    assert window is not None
    return "\n".join(block.text for block in window.opening)


@pytest.mark.design("W-14", "C-13", "K-11", "R-5", "R-15")
@pytest.mark.report(93, 18)
def test_a_focus_is_in_the_writers_request_and_in_no_other() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        scribe = Scribe(SUMMARY)
        async with await scribe_engine(scribe, settings=NO_TIERS, events=events) as engine:
            await worked(engine)
            done = await engine.compact(FOCUS)
            window = done.window
            assert window is not None
            assert (done.outcome, window.kind, window.reason, window.number) == ("compacted", "compaction", "manual", 2)
            assert done.level_after < done.level_before
            (asked,) = scribe.requests
            assert FOCUS in text_of(asked)
            assert "A wish for what to look after, no request:" in text_of(asked)
            # The summary is the window's items, by the model where it wrote them, each with its sources.
            mine = {item.text: item for item in window.items if item.by == "model"}
            assert set(mine) == {"the gauge of Dunmore is read at minute 17", "offsets are added before the table is written"}
            assert {item.section for item in mine.values()} == {Section.KNOWLEDGE, Section.DECISIONS}
            assert all(item.sources and max(item.sources) <= window.covered_seq for item in window.items)
            assert all(text in opening(window) for text in mine)
            assert list(await engine.store.checkpoints(engine.session_id)) == [], "it is no checkpoint: the mark stays"
            assert keys(events) == ["summarising"]
            (call,) = await calls_of(engine.store, engine.session_id, "compaction")
            assert (call.usage, call.settings["reason"], call.upto_seq) == (PAID, "manual", window.covered_seq)
            # The wish ends with the command.
            live = await steps(engine, 30, start=60)
            await engine.rebuild()
            await engine.compact()
            live += await steps(engine, 2, start=90)
            texts = [body(one.request, "anthropic") for one in live] + [body(one, "anthropic") for one in scribe.requests[1:]]
            assert len(scribe.requests) >= 3
            assert not any(FOCUS in text or "table of all offsets" in text for text in texts)
            assert not any(TASK in body(one.request, "anthropic") for one in live)
            assert list(await engine.search("table of all offsets")) == []
            assert [part.text for m in await engine.read(0, engine.head) for part in m.parts if isinstance(part, Text)] == [
                "Set up the station tables.",
                "The tables of station 3 are done.",
            ]

    asyncio.run(main())


@pytest.mark.design("W-14", "Q-7", "K-4")
def test_the_summary_is_asked_for_in_the_live_request_while_the_cache_is_warm() -> None:
    async def main() -> None:
        for forks in (True, False):
            scribe = Scribe(SUMMARY)
            async with await scribe_engine(scribe, settings=NO_TIERS, forks=forks) as engine:
                await worked(engine)
                live = await engine.project()
                done = await engine.compact()
                assert done.window is not None
                (asked,) = scribe.requests
                assert ("The record:" not in text_of(asked)) is forks
                assert "None of these messages stays in view after this" in text_of(asked)
                if forks:
                    shown = [part for one in asked.messages for part in one.parts][:-1]
                    sent = [part for one in live.request.messages for part in one.parts]
                    assert shown == sent[: len(shown)]
                    assert max(part.about.seq or 0 for part in shown) == done.window.covered_seq

    asyncio.run(main())


FAILS: dict[str, Answer] = {
    "empty": said(""),
    "a story": said("I will now go on with the work on station 4 and write the table of offsets.\n" * 4),
    "calls": [CallEvent("c1", "bash", {"command": "ls"}), UsageEvent(PAID), FinishEvent(Finish.TOOL_CALLS)],
    "refused": ModelError(ErrorKind.OVERLOADED, "later"),
    "raises": ValueError("bad"),
    "hangs": [60.0],
}


@pytest.mark.design("W-14", "C-9", "K-8", "K-10", "N3")
@pytest.mark.report(71, 94, 33, 110)
@pytest.mark.parametrize("case", FAILS)
def test_a_summary_that_fails_is_told_and_extraction_stands_in(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case == "hangs":
        monkeypatch.setattr(writing, "DEADLINE_SECONDS", 0.03)

    async def main() -> None:
        events: list[EngineEvent] = []
        async with await scribe_engine(Scribe(FAILS[case], FAILS[case]), settings=NO_TIERS, events=events) as engine:
            await engine.observe(user("Never write to the raw files of the gauge."))
            await worked(engine)
            done = await engine.compact(FOCUS)
            assert done.window is not None
            assert done.outcome == "compacted"
            assert len(of(events, "checkpoint_failed")) == 1
            assert {item.by for item in done.window.items} == {"extractive"}
            assert any("Never write to the raw files" in item.text for item in done.window.items)
            assert FOCUS not in opening(done.window)
            assert len(await calls_of(engine.store, engine.session_id, "compaction")) == 1
            projected = await engine.project()
            assert projected.window.id == done.window.id
            await engine.observe(says("Going on."))
            again = await engine.compact()
            assert again.window is None or again.window.kind == "compaction"

    asyncio.run(main())


class Nothing:
    """A host's writer that has nothing to say."""

    name: Literal["model", "extractive"] = "model"
    forks = False

    async def write(self, run: WriterInput) -> Written:
        return Written((), usage=PAID)


@pytest.mark.design("W-14", "K-8")
@pytest.mark.report(71)
def test_a_summary_without_items_is_none() -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        async with await scribe_engine(Scribe(), settings=NO_TIERS, events=events, writer=Nothing()) as engine:
            await worked(engine)
            done = await engine.compact()
            assert done.window is not None
            assert {item.by for item in done.window.items} == {"extractive"}
            assert [one["reason"] for one in of(events, "checkpoint_failed")] == ["empty answer"]

    asyncio.run(main())


@pytest.mark.design("C-8", "C-9", "C-14", "W-14")
@pytest.mark.report(88)
@pytest.mark.parametrize(
    ("settings", "parent", "outcome", "notices"),
    [
        (Settings(), "ses_parent", "compacted", ["summarising"]),
        (Settings(checkpoint=CheckpointSettings(enabled=False)), None, "checkpoint_off", ["checkpoint_off", "summarising"]),
        (Settings(memory=Memory(disable_write=True)), None, "writing_off", ["writing_off", "summarising"]),
    ],
)
def test_a_child_session_and_one_without_checkpoints_are_compacted_at_the_trigger(
    settings: Settings, parent: str | None, outcome: str, notices: list[str]
) -> None:
    async def main() -> None:
        events: list[EngineEvent] = []
        scribe = Scribe(*[SUMMARY] * 5)
        session = Session(id="ses_child", parent_id=parent)
        async with await scribe_engine(scribe, settings=settings, session=session, events=events) as engine:
            await engine.observe(user("Set up the station tables."))
            live = await steps(engine, 70)
            windows = await engine.store.windows(engine.session_id)
            assert [(w.kind, w.outcome, w.reason) for w in windows[:2]] == [
                ("start", "started", "start"),
                ("compaction", outcome, "usage"),
            ]
            assert windows[1].meter_before >= 57_600
            assert any(item.by == "model" for item in windows[1].items)
            assert keys(events)[: len(notices)] == notices
            assert list(await engine.store.checkpoints(engine.session_id)) == []
            assert await calls_of(engine.store, engine.session_id, "writer") == []
            assert (
                len(await calls_of(engine.store, engine.session_id, "compaction")) == len(windows) - 1 == len(scribe.requests)
            )
            assert live[-1].level.tokens < live[-1].lines.trigger
            # Its own usage never triggers: the level is the main model's.
            assert engine.level().tokens < 57_600

    asyncio.run(main())


@pytest.mark.design("W-14", "K-2")
def test_a_second_summary_builds_on_the_items_of_the_first_and_keeps_what_it_says_nothing_of() -> None:
    async def main() -> None:
        scribe = Scribe(SUMMARY, "+ knowledge: station 9 has no gauge any more\n")
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await worked(engine)
            first = (await engine.compact()).window
            assert first is not None
            await steps(engine, 16, start=40)
            await engine.observe(says("Station 9 is done."))
            second = (await engine.compact()).window
            assert second is not None
            kept = {item.id: item for item in second.items}
            for item in first.items:
                if item.by == "model":
                    assert kept[item.id] == item, "unchanged, byte for byte"
            assert any(item.text == "station 9 has no gauge any more" for item in second.items)
            words = text_of(scribe.requests[1])
            assert "the gauge of Dunmore is read at minute 17" in words

    asyncio.run(main())


@pytest.mark.design("C-13", "R-9", "W-14")
@pytest.mark.report(104)
@pytest.mark.parametrize("fails", [False, True])
def test_text_sent_while_a_summary_is_written_is_delivered_in_order_behind_it(fails: bool) -> None:
    async def main() -> None:
        held: list[Engine] = []

        async def answer(number: int) -> list[Event]:
            engine = held[0]
            for index in (1, 2):
                row = InboxRow(id=f"in{number}{index}", text=f"Sent meanwhile: {number}.{index}", created=index)
                await engine.store.commit(engine.session_id, Fence(epoch=0), [PutInbox(row)])
            # A host that goes on observing meanwhile loses nothing either.
            await engine.observe(user(f"Observed meanwhile: {number}."))
            return said("") if fails else said(SUMMARY)

        scribe = Scribe(lambda request: answer(1), lambda request: answer(2))
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            held.append(engine)
            await worked(engine)
            done = await engine.compact()
            assert done.window is not None
            projected = await engine.project()
            assert projected.window.id == done.window.id
            await answered(engine, says("Answered the first ones."))
            await steps(engine, 14, start=50)
            await engine.observe(says("And station 5."))
            again = await engine.compact()
            assert again.window is not None
            projected = await engine.project()
            spoken = [
                part.text
                for message in await engine.read(0, engine.head)
                if message.role == "user"
                for part in message.parts
                if isinstance(part, Text)
            ]
            assert spoken == [
                "Set up the station tables.",
                "Observed meanwhile: 1.",
                "Sent meanwhile: 1.1",
                "Sent meanwhile: 1.2",
                "Observed meanwhile: 2.",
                "Sent meanwhile: 2.1",
                "Sent meanwhile: 2.2",
            ]
            newest = body(projected.request, "anthropic")
            places = [newest.index(words) for words in spoken[4:]]
            assert places == sorted(places)
            assert all(newest.count(words) == 1 for words in spoken[4:])
            messages = await engine.read(0, engine.head)
            assert [message.seq for message in messages] == list(range(1, engine.head + 1))

    asyncio.run(main())


@pytest.mark.design("C-9", "W-1", "R-12")
@pytest.mark.report(33)
def test_a_compaction_that_is_given_up_while_its_summary_is_written_opens_nothing() -> None:
    async def main() -> None:
        scribe = Scribe(SUMMARY, SUMMARY)
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await worked(engine)
            before = units((await engine.project()).request, ENCODERS["anthropic"])
            scribe.hold()
            compacting = asyncio.create_task(engine.compact(FOCUS))
            await scribe.started.wait()
            compacting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await compacting
            assert len(await engine.store.windows(engine.session_id)) == 1
            assert units((await engine.project()).request, ENCODERS["anthropic"]) == before
            (call,) = await calls_of(engine.store, engine.session_id, "compaction")
            assert (call.error, call.usage) == ("interrupted", None)
            assert call.ended is not None
            scribe.go.set()
            assert (await engine.compact()).outcome == "compacted"

    asyncio.run(main())


@pytest.mark.design("W-14", "W-12")
def test_an_undone_compaction_gives_the_view_back_and_its_summary_is_in_no_request() -> None:
    async def main() -> None:
        scribe = Scribe(SUMMARY, GOOD)
        async with await scribe_engine(scribe, settings=NO_TIERS) as engine:
            await worked(engine)
            before = units((await engine.project()).request, ENCODERS["anthropic"])
            await engine.compact(FOCUS)
            assert "minute 17" in body((await engine.project()).request, "anthropic")
            await engine.undo()
            after = (await engine.project()).request
            assert units(after, ENCODERS["anthropic"]) == before
            assert "minute 17" not in body(after, "anthropic")

    asyncio.run(main())
