"""The embedded model: follows its script through cut views, bills like a provider, says honestly what it is."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sojourn.base import ErrorKind, Finish, Usage
from sojourn.meter import estimate_text, estimate_value, total
from sojourn.models import ENCODERS, canonical
from sojourn.models.scripted import Check, Look, Looking, Missed, Plan, Planned, Scripted, Turn, Use, request_text
from sojourn.wire import (
    About,
    CallEvent,
    CallPart,
    Event,
    FinishEvent,
    ModelError,
    ModelRequest,
    RequestSettings,
    ResultPart,
    SystemBlock,
    TextEvent,
    TextPart,
    Tool,
    UsageEvent,
    WireMessage,
    WirePart,
)

pytestmark = pytest.mark.design("A-5")

NAMES = ("bash", "edit", "glob", "grep", "read", "write")


class Talk:
    """A conversation as requests show it: what the model says is kept, results are given, anything can be cut."""

    def __init__(self, model: Scripted, *, tools: tuple[str, ...] = NAMES, system: str = "You are an agent.") -> None:
        self.model = model
        self.tools = tuple(Tool(name, f"The {name} tool.", {"type": "object"}, About("tools", name)) for name in tools)
        self.system = SystemBlock(system, About("system"))
        self.messages: list[WireMessage] = []
        self.seq = 0
        self.calls: list[CallEvent] = []
        self.events: list[Event] = []

    def request(self, **settings: Any) -> ModelRequest:
        return ModelRequest((self.system,), self.tools, tuple(self.messages), RequestSettings(model="scripted", **settings))

    def user(self, text: str, kind: str = "user") -> None:
        self.seq += 1
        self.messages.append(WireMessage("user", (TextPart(text, About(kind, seq=self.seq)),)))

    def results(self, *texts: str, error: bool = False) -> None:
        """One for each call of the newest answer."""
        about = About("result", seq=self.seq)
        parts = tuple(
            ResultPart(call.call_id, call.name, (TextPart(text, about),), error, about)
            for call, text in zip(self.calls, texts, strict=True)
        )
        self.messages.append(WireMessage("user", parts))

    def ask(self, **settings: Any) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
        """The next answer: what is said and called."""
        self.events = events = asyncio.run(everything(self.model.stream(self.request(**settings))))
        self.seq += 1
        said = "".join(event.text for event in events if isinstance(event, TextEvent))
        self.calls = [event for event in events if isinstance(event, CallEvent)]
        about = About("assistant", seq=self.seq)
        parts: list[WirePart] = [TextPart(said, about)] if said else []
        parts += [CallPart(call.call_id, call.name, call.arguments, about) for call in self.calls]
        self.messages.append(WireMessage("assistant", tuple(parts)))
        return said, [(call.name, call.arguments) for call in self.calls]


async def everything(stream: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in stream]


def read(path: str, *checks: Check, fails: bool = False) -> Use:
    return Use("read", {"path": path}, checks, fails=fails)


PLAN = Plan(
    (
        Turn(
            "Fix it, the port is 8471.",
            (
                Planned("I look.", (read("a.py", Check(r"^port = (\d+)$", "port"), Check("ok")), read("b.py"))),
                Planned("It is «port».", (Use("bash", {"command": "run «port»", "timeout": 5}),)),
                Planned("Done with «port» and «nothing»."),
            ),
        ),
        Turn(
            "And the other?",
            (
                Planned("", (read("missing.py", fails=True),), (Look(r"port is (\d+)", "port"),)),
                Planned("The port was «port».", looks=(Look(r"port is (\d+)", "port"),)),
            ),
        ),
    )
)


def begun(model: Scripted | None = None) -> Talk:
    talk = Talk(model or Scripted(PLAN))
    talk.user(PLAN.turns[0].prompt)
    return talk


# --- the script ---------------------------------------------------------------------------------------------------


def test_it_goes_through_its_plan_and_fills_in_what_it_found() -> None:
    talk = begun()
    assert talk.ask() == ("I look.", [("read", {"path": "a.py"}), ("read", {"path": "b.py"})])
    talk.results("x\nport = 9000\nok", "anything")
    assert talk.ask() == ("It is 9000.", [("bash", {"command": "run 9000", "timeout": 5})])
    talk.results("fine")
    assert talk.ask() == ("Done with 9000 and «nothing».", [])
    talk.user("And the other?")
    assert talk.ask() == ("", [("read", {"path": "missing.py"})])
    talk.results("no such file", error=True)
    assert talk.ask() == ("The port was 8471.", [])
    assert talk.model.missed == ()


def test_an_answer_is_streamed_in_pieces_then_calls_usage_and_the_finish() -> None:
    say = "One two three four five six seven eight nine ten eleven twelve. "
    say += "然后是一段没有空格的中文，长得足以分成好几块，看它怎么断开，断开之后是不是还完整。"
    talk = Talk(Scripted(Plan((Turn("go", (Planned(say, (read("a"), read("b"))), Planned("end"))),))))
    talk.user("go")
    talk.ask()
    events = talk.events
    pieces = [event.text for event in events if isinstance(event, TextEvent)]
    assert "".join(pieces) == say
    assert len(pieces) >= 4
    assert max(map(len, pieces)) <= 33
    assert [type(event) for event in events[len(pieces) :]] == [CallEvent, CallEvent, UsageEvent, FinishEvent]
    assert [event.call_id for event in events if isinstance(event, CallEvent)] == ["call_1_1", "call_1_2"]
    assert events[-1] == FinishEvent(Finish.TOOL_CALLS, "tool_calls")
    talk.results("", "")
    talk.ask()
    assert talk.events[-1] == FinishEvent(Finish.STOP, "stop")


@pytest.mark.parametrize(
    ("first", "error", "missed"),
    [
        ("port = 1x\nok", False, r"^port = (\d+)$ is not in what read gave: port = 1x" + "\nok"),
        ("port = 1\nno", False, "ok is not in what read gave: port = 1\nno"),
        ("port = 1\nok", True, "read failed: port = 1\nok"),
    ],
)
def test_a_result_that_is_otherwise_ends_the_turn_honestly(first: str, error: bool, missed: str) -> None:
    talk = begun()
    talk.ask()
    talk.results(first, "", error=error)
    assert talk.ask() == (f"This is not what my script expects, so I stop here: {missed}", [])
    assert talk.model.missed == (Missed(1, missed),)


def test_a_call_that_should_fail_and_does_not_is_noticed() -> None:
    talk = Talk(Scripted(Plan((Turn("go", (Planned("", (read("a", fails=True),)), Planned("end"))),))))
    talk.user("go")
    talk.ask()
    talk.results("x" * 150 + "y" * 150)
    said, _ = talk.ask()
    assert said.endswith("read succeeded: " + "x" * 50 + "y" * 150)


def test_it_knows_only_what_its_request_shows() -> None:
    plan = Plan((Turn("go", (Planned("«port»", looks=(Look(r"port is (\d+)", "port"),)),)),))
    talk = Talk(Scripted(plan))
    talk.user("the port is 1, the port is 2", kind="opening")
    talk.user("go")
    assert talk.ask()[0] == "2"
    blind = Talk(Scripted(plan))
    blind.user("go")
    assert blind.ask()[0].endswith(r"port (port is (\d+)) is not in view")
    assert len(blind.model.missed) == 1


def test_a_turn_without_more_answers_stops() -> None:
    talk = Talk(Scripted(Plan((Turn("go", (Planned("", (read("a"),)),)),))))
    talk.user("go")
    talk.ask()
    talk.results("")
    assert "no more answers" in talk.ask()[0]


def test_another_prompt_than_the_planned_one_gets_the_built_in_look() -> None:
    talk = Talk(Scripted(PLAN))
    talk.user("Something else")
    said, calls = talk.ask()
    assert "not a language model" in said
    assert calls[0][0] == "glob"
    other = begun()
    other.ask()
    other.user("Wait, something else")
    assert "not a language model" in other.ask()[0]


def test_after_the_last_turn_it_looks_around() -> None:
    talk = Talk(Scripted(Plan((Turn("go", (Planned("done"),)),))))
    talk.user("go")
    assert talk.ask() == ("done", [])
    talk.user("go")
    assert "not a language model" in talk.ask()[0]


# --- its place ----------------------------------------------------------------------------------------------------


def test_it_goes_on_in_a_window_that_has_opened_in_the_middle_of_a_turn() -> None:
    talk = begun()
    talk.ask()
    talk.results("port = 9000\nok", "")
    tail = talk.messages[-2:]
    talk.messages.clear()
    talk.user("Rebuilt: the person had asked to fix it.", kind="opening")
    talk.messages += tail
    assert talk.ask()[0] == "It is 9000."
    talk.results("fine")
    talk.messages[:] = talk.messages[-2:]
    assert talk.ask()[0] == "Done with 9000 and «nothing»."


def test_a_result_that_is_out_of_view_counts_as_an_error() -> None:
    talk = begun()
    talk.ask()
    talk.messages[:] = talk.messages[:1]
    assert talk.ask()[0].endswith("read failed: ")


def test_engine_text_begins_no_turn() -> None:
    talk = begun()
    talk.ask()
    talk.results("port = 9000\nok", "")
    talk.user("A reminder of the engine", kind="reminder")
    assert talk.ask()[0] == "It is 9000."


def test_a_user_message_in_the_middle_of_a_turn_begins_the_next() -> None:
    talk = begun()
    talk.ask()
    talk.results("port = 9000\nok", "")
    talk.user("And the other?")
    assert talk.ask() == ("", [("read", {"path": "missing.py"})])


def test_asked_again_after_its_last_word_it_goes_to_the_next_turn() -> None:
    """A goal's continuation has engine origin."""
    talk = Talk(Scripted(Plan((Turn("go", (Planned("one"),)), Turn("go", (Planned("two"),))))))
    talk.user("go")
    assert talk.ask()[0] == "one"
    talk.user("continue", kind="reminder")
    assert talk.ask()[0] == "two"


def test_an_answer_that_was_not_read_to_its_end_was_not_given() -> None:
    talk = begun()

    async def cut_off() -> list[Event]:
        stream = talk.model.stream(talk.request())
        first = [await anext(stream)]
        await stream.aclose()  # type: ignore[attr-defined]
        return first

    assert asyncio.run(cut_off()) == [TextEvent("I look.")]
    assert talk.ask()[0] == "I look."
    talk.results("port = 9000\nok", "")
    assert talk.ask()[0] == "It is 9000."


def test_cancelling_ends_the_stream() -> None:
    talk = Talk(Scripted(Plan((Turn("go", (Planned("word " * 2_000),)),))))
    talk.user("go")

    async def main() -> int:
        seen, begun = 0, asyncio.Event()

        async def consume() -> None:
            nonlocal seen
            async for _ in talk.model.stream(talk.request()):
                seen += 1
                begun.set()

        task = asyncio.create_task(consume())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return seen

    assert 1 <= asyncio.run(main()) < 20
    assert talk.ask()[0] == "word " * 2_000


@pytest.mark.parametrize("quoted", [False, True])
def test_another_process_finds_its_place_by_what_is_in_view(quoted: bool) -> None:
    """By the prompt and the answers after it; in a rebuilt window by what it quotes and the newest calls."""
    talk = begun()
    talk.ask()
    talk.results("port = 9000\nok", "")
    if quoted:
        tail = talk.messages[1:]
        talk.messages.clear()
        talk.user(f"The person said: {PLAN.turns[0].prompt}", kind="opening")
        talk.messages += tail
    talk.model = Scripted(PLAN)
    assert talk.ask()[0] == "It is «port»."
    talk.results("fine")
    assert talk.ask()[0] == "Done with «port» and «nothing»."


def test_another_process_knows_filled_in_calls_again() -> None:
    talk = begun()
    talk.ask()
    talk.results("port = 9000\nok", "")
    talk.ask()
    talk.results("fine")
    talk.model = Scripted(PLAN)
    talk.messages[:] = talk.messages[-2:]
    assert talk.ask()[0].startswith("Done with")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read", {"command": "run 9000", "timeout": 5}),
        ("bash", {"command": "walk 9000", "timeout": 5}),
        ("bash", {"command": "run 9000", "timeout": 6}),
        ("bash", {"command": "run 9000"}),
    ],
)
def test_other_calls_than_the_planned_ones_are_not_taken_for_them(name: str, arguments: dict[str, Any]) -> None:
    talk = Talk(Scripted(PLAN))
    talk.messages.append(WireMessage("assistant", (CallPart("c1", name, arguments, About("assistant", seq=5)),)))
    assert talk.ask()[0] == "I look."


def test_another_process_begins_the_turn_that_was_just_asked_for() -> None:
    talk = begun()
    talk.ask()
    talk.results("port = 9000\nok", "")
    talk.user("And the other?")
    talk.model = Scripted(PLAN)
    assert talk.ask() == ("", [("read", {"path": "missing.py"})])


def test_another_process_takes_the_newest_prompt_that_an_opening_quotes() -> None:
    first, second = (turn.prompt for turn in PLAN.turns)
    talk = Talk(Scripted(PLAN))
    talk.user(f"They said: {first} Then: {second}", kind="opening")
    assert talk.ask() == ("", [("read", {"path": "missing.py"})])
    other = Talk(Scripted(PLAN))
    other.user(f"They said: {second} Then: {first}", kind="opening")
    assert other.ask()[0] == "I look."
    plain = Talk(Scripted(PLAN))
    plain.user("Nothing of it is quoted.", kind="opening")
    assert plain.ask()[0] == "I look."


# --- the provider -------------------------------------------------------------------------------------------------


def usage(talk: Talk, **settings: Any) -> Usage:
    events = asyncio.run(everything(talk.model.stream(talk.request(**settings))))
    (reported,) = [event.usage for event in events if isinstance(event, UsageEvent)]
    return reported


def test_the_body_is_the_canonical_one_of_the_protocol() -> None:
    bodies: list[bytes] = []
    talk = begun(Scripted(PLAN, on_body=bodies.append))
    wanted = canonical(ENCODERS["chat"](talk.request(max_output=99)))
    talk.ask(max_output=99)
    assert bodies == [wanted]


def test_usage_is_the_meters_estimate_of_what_left() -> None:
    talk = begun()
    tools = sum(total(estimate_text(t.name)) + total(estimate_text(t.description)) for t in talk.tools)
    tools += len(talk.tools) * total(estimate_value({"type": "object"}))
    texts = ("You are an agent.", PLAN.turns[0].prompt)
    first = tools + sum(4 + total(estimate_text(text)) for text in texts)
    calls = sum(total(estimate_text("read")) + total(estimate_value({"path": path})) for path in ("a.py", "b.py"))
    output = total(estimate_text("I look.")) + calls
    assert usage(talk) == Usage(fresh=first, cached=0, output=output)
    talk.model = Scripted(PLAN)
    talk.ask()
    talk.results("port = 9000\nok", "")
    answers = 4 + output + 4 + total(estimate_text("port = 9000\nok")) + 4
    assert usage(talk).input == first + answers


def test_a_longer_request_reads_the_shorter_one_from_the_cache() -> None:
    talk = begun()
    talk.user("word " * 3_000, kind="reminder")
    first = usage(talk, max_output=1_000)
    assert first.cached == 0
    talk.user("more " * 500, kind="reminder")
    second = usage(talk, max_output=2_000)
    assert second.cached == first.input - first.input % 128
    assert second.fresh == second.input - second.cached
    talk.messages.pop()
    assert usage(talk).cached == first.input - first.input % 128, "an earlier prefix is still there"


def test_a_small_prefix_is_not_cached() -> None:
    def second(words: int) -> tuple[int, int | None]:
        talk = Talk(Scripted(PLAN), tools=(), system="word " * words)
        talk.user(PLAN.turns[0].prompt)
        first = usage(talk)
        return first.input, usage(talk).cached

    sizes = dict(second(words) for words in range(1_150, 1_350))
    assert 1_023 in sizes
    assert 1_024 in sizes
    assert all(cached == (0 if size < 1_024 else size - size % 128) for size, cached in sizes.items())


def test_a_change_at_the_start_breaks_the_cache_and_a_new_window_keeps_the_fixed_part() -> None:
    talk = begun()
    talk.system = SystemBlock("fixed " * 3_000, About("system"))
    fixed = usage(talk).input - total(estimate_text(PLAN.turns[0].prompt)) - 4
    talk.messages.clear()
    talk.user("another opening", kind="opening")
    assert usage(talk).cached == fixed - fixed % 128
    talk.system = SystemBlock("other " * 3_000, About("system"))
    assert usage(talk).cached == 0


def test_what_is_over_the_limit_is_refused_with_both_numbers_and_the_place_is_kept() -> None:
    size = usage(begun()).input
    exact = begun(Scripted(PLAN, limit=size))
    assert exact.ask()[0] == "I look."
    bodies: list[bytes] = []
    over = begun(Scripted(PLAN, limit=size - 1, on_body=bodies.append))
    with pytest.raises(ModelError, match="the model's window") as refused:
        over.ask()
    error = refused.value
    assert (error.kind, error.limit, error.used) == (ErrorKind.CONTEXT_OVERFLOW, size - 1, size)
    assert len(bodies) == 1
    over.system = SystemBlock("S", About("system"))
    assert over.ask()[0] == "I look."


def test_its_traits() -> None:
    traits = Scripted(limit=40_000).traits
    assert (traits.name, traits.provider, traits.protocol, traits.limit) == ("scripted", "sojourn", "chat", 40_000)
    assert (traits.images, traits.marks, traits.thinking, traits.reports_cache) == (False, 0, False, True)
    asyncio.run(Scripted().close())


def test_the_same_requests_give_the_same_answers() -> None:
    def run() -> list[Any]:
        talk = begun()
        told: list[Any] = [talk.ask()]
        talk.results("port = 9000\nok", "")
        return [*told, talk.ask(), usage(talk)]

    assert run() == run()


def test_the_text_of_a_request_is_all_that_the_model_reads() -> None:
    talk = begun()
    talk.ask()
    talk.results("one", "two")
    assert request_text(talk.request()) == ("You are an agent.\nFix it, the port is 8471.\nI look.\na.py\nb.py\none\ntwo")


# --- the built-in script ------------------------------------------------------------------------------------------

LISTING = "src/deep/readme_maker.py\nsrc/tide.py\nREADME.md\nMakefile\n"


def test_without_a_script_it_says_what_it_is_looks_and_names_the_way_to_a_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the embedded model opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    talk = Talk(Scripted())
    talk.user("Please explain which prediction this project stores")
    said, calls = talk.ask()
    assert said.startswith("I am Sojourn's built-in scripted model, not a language model")
    assert calls == [("glob", {"pattern": "**/*"}), ("glob", {"pattern": "README*"})]
    talk.results(LISTING, "README.md")
    said, calls = talk.ask()
    assert calls == [("read", {"path": "README.md"}), ("grep", {"pattern": "explain|prediction|stores"})]
    talk.results("# Tide\n\nIt predicts.", "\n".join(f"src/tide.py:{n}:prediction" for n in range(1, 9)))
    said, calls = talk.ask()
    assert calls == []
    assert said.startswith("What Sojourn's built-in scripted model (no language model) saw:\n\n")
    assert "this folder: 4; the first ones:\n  src/deep/readme_maker.py\n  src/tide.py\n  README.md\n  Makefile\n\n" in said
    assert "`README.md` begins:\n  # Tide\n  It predicts.\n\n" in said
    assert "Where `explain|prediction|stores` stands:\n  src/tide.py:1:prediction\n" in said
    assert "  src/tide.py:6:prediction\n  ... (+2)\n" in said
    assert "src/tide.py:7" not in said
    assert "`sojourn models`" in said
    assert "OPENAI_API_KEY" in said
    talk.user("And now?")
    assert talk.ask()[0].startswith("Still the built-in scripted model, no language model")


def test_it_answers_chinese_in_chinese() -> None:
    talk = Talk(Scripted())
    talk.user("潮汐预报在哪里计算？")
    assert talk.ask()[0].startswith("我是 Sojourn 内置的脚本模型，不是语言模型")
    talk.results("a.py", "No file matches.")
    assert talk.ask() == ("接着读一个文件，再查找你话里的词。", [("read", {"path": "a.py"}), ("grep", {"pattern": "潮汐预报"})])
    talk.results("x = 1", "a.py:1:潮汐预报")
    said, _ = talk.ask()
    assert "`a.py` 的开头：\n  x = 1" in said
    assert "`sojourn models`" in said


def test_without_tools_it_says_so_at_once() -> None:
    talk = Talk(Scripted(), tools=())
    talk.user("Explain")
    said, calls = talk.ask()
    assert calls == []
    assert "not a language model" in said
    assert "no tool to list the folder" in said


def test_a_refused_tool_is_named() -> None:
    talk = Talk(Scripted())
    talk.user("Ok?")
    talk.ask()
    talk.results("denied: ask the person\nsecond line", "denied", error=True)
    said, calls = talk.ask()
    assert calls == []
    assert "`glob` gave no result:   denied: ask the person\n\n" in said
    partly = Talk(Scripted())
    partly.user("Explain")
    partly.ask()
    partly.results(LISTING, "")
    assert partly.ask()[1] == [("read", {"path": "src/deep/readme_maker.py"}), ("grep", {"pattern": "Explain"})]
    partly.results("gone", "gone", error=True)
    said, _ = partly.ask()
    assert "`read` gave no result:   gone" in said
    assert "`grep` gave no result:   gone" in said


def test_resumed_it_begins_to_look_again() -> None:
    talk = Talk(Scripted())
    talk.user("Explain")
    talk.ask()
    talk.results(LISTING, "README.md")
    talk.model = Scripted()
    assert talk.ask()[1][0][0] == "glob"


def test_long_lines_are_cut() -> None:
    talk = Talk(Scripted(), tools=("glob", "read"))
    talk.user("Explain")
    talk.ask()
    talk.results("a.py", "a.py")
    talk.ask()
    talk.results("x" * 500)
    said, _ = talk.ask()
    assert f"\n  {'x' * 160}\n" in said
    assert "x" * 161 not in said


def test_looking_is_pure() -> None:
    assert Looking().resume("any", (), 7, "text").answers == 0
