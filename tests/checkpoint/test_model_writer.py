"""The writer that asks a model, and every way in which that goes wrong (K-3 to K-8, K-10)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.asked import Model, Rows, Said, Shelf, call_events, fork, item, text_events, with_, words_of
from checkpoint.telling import calls, engine, record, run_of, says, user
from sojourn.base import ErrorKind, Finish, Item, ItemStatus, Section, Usage, UserMistake, open_items
from sojourn.checkpoint import ModelWriter, Note, WriterFailed, WriterInput, Written
from sojourn.checkpoint.looking import ROUND_TOKENS
from sojourn.checkpoint.model_writer import LOOK_UPS, SPARE
from sojourn.checkpoint.transcript import tokens_of
from sojourn.wire import FinishEvent, ModelError, RetryEvent, TextEvent, UsageEvent

A = item("the cap is 5")
GOOD = "+ knowledge: the parser is a streaming one\n+ next: run the tests"
RUN = run_of(user("please make the parser a streaming one"), says("It is done, the parser streams."), items=(A,))


def write(model: Model, run: WriterInput = RUN, **more: Any) -> Written | WriterFailed:
    return asyncio.run(ModelWriter(model, **more).write(run))


def written(model: Model, run: WriterInput = RUN, **more: Any) -> Written:
    done = write(model, run, **more)
    assert isinstance(done, Written), done
    return done


def failed(*answers: Said, run: WriterInput = RUN) -> WriterFailed:
    done = write(Model(*answers), run)
    assert isinstance(done, WriterFailed), done
    return done


def texts(done: Written) -> list[str]:
    return [one.text for one in open_items(done.items) if one.by == "model"]


async def cents(usage: Usage) -> float | None:
    return usage.output / 100


@pytest.mark.design("K-3", "K-4", "K-11", "R-15")
def test_one_answer_in_the_live_request() -> None:
    model, rows = Model(text_events(GOOD, usage=Usage(fresh=9, cached=900, output=30)), name="live"), Rows()
    done = written(model, with_(RUN, fork=fork, ledger=rows), price=cents)
    (request,) = model.requests
    assert request.tools == fork("").tools
    assert request.system == fork("").system
    assert request.messages[:2] == fork("").messages[:2]
    assert "checkpoint writer mode" in words_of(request)
    assert "checkpoint operations" in words_of(request)
    assert f"{A.id} knowledge: the cap is 5" in words_of(request)
    assert done.mode == "fork"
    assert texts(done) == ["run the tests", "the parser is a streaming one"]
    assert A in done.items
    assert done.usage == Usage(fresh=9, cached=900, output=30)
    assert done.calls == ("call_1",)
    assert rows.begun == [request]
    assert rows.ended == {"call_1": (Usage(fresh=9, cached=900, output=30), 0.3, "", Finish.STOP)}
    assert ModelWriter(model).name == "model"
    assert ModelWriter(model).forks


@pytest.mark.design("K-4")
@pytest.mark.parametrize("forks", [True, False])
def test_a_request_of_its_own_where_there_is_no_live_one(forks: bool) -> None:
    model = Model(GOOD)
    done = written(model, RUN if forks else with_(RUN, fork=fork), forks=forks)
    (request,) = model.requests
    assert request.tools == ()
    assert "m1 user:\n please make the parser a streaming one\nm2 assistant:\n It is done" in words_of(request)
    assert request.settings.model == "small"
    assert "checkpoint writer mode" in words_of(request)
    assert done.mode == "delta"
    assert done.calls == ()
    assert texts(done) == ["run the tests", "the parser is a streaming one"]


@pytest.mark.design("K-8")
@pytest.mark.report(71, 94)
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (text_events(""), "empty answer"),
        (text_events("  \n "), "empty answer"),
        (text_events("+ next: run itnow."), "an answer of 18 characters"),
        (text_events("+ next: run it now."), "an answer of 19 characters"),
        (call_events(), "tool calls instead of an answer"),
        (text_events("I will go on with the parser and read the file first."), "no operation in the answer"),
        (text_events('{"knowledge": ["the cap is 5", "the port is 8080"]}'), "no operation in the answer"),
        (
            text_events('+ directives: "never ever deploy it"'),
            'no operation in the answer (invented quotation: + directives: "never ever deploy it")',
        ),
        (text_events("x kn-00000000 superseded"), "no operation in the answer (no open item has this id: x kn-00000000)"),
        (text_events("+ knowledge: 解析器每次只读一行内容，不读完整个文件"), None),
        (ModelError(ErrorKind.OUTPUT_TRUNCATED, "all thought"), "output_truncated: all thought"),
        (ModelError(ErrorKind.RATE_LIMITED, "slow down"), "rate_limited: slow down"),
        (ModelError(ErrorKind.OVERLOADED, "busy"), "overloaded: busy"),
        (ModelError(ErrorKind.UNAVAILABLE, "down"), "unavailable: down"),
        ([TextEvent(GOOD)], "unavailable: the answer broke off"),
        (text_events(GOOD, Finish.ERROR), "unavailable: the answer broke off"),
        (text_events(GOOD, Finish.INTERRUPTED), "unavailable: the answer broke off"),
    ],
)
def test_what_another_try_may_get_past(said: Said, reason: str | None) -> None:
    for run in (RUN, with_(RUN, fork=fork)):
        done = failed(said, run=run)
        assert done.kind == "retryable"
        assert reason is None or done.reason == reason


@pytest.mark.design("K-8")
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (ModelError(ErrorKind.AUTH_FAILED, "no key"), "auth_failed: no key"),
        (ModelError(ErrorKind.REFUSED, "no"), "refused: no"),
        (ModelError(ErrorKind.MALFORMED_REQUEST, "what"), "malformed_request: what"),
        (ValueError("broken adapter"), "ValueError: broken adapter"),
    ],
)
def test_what_no_other_try_gets_past(said: Said, reason: str) -> None:
    done = failed(said)
    assert (done.kind, done.reason) == ("deterministic", reason)


@pytest.mark.design("K-8")
def test_twenty_characters_are_an_answer() -> None:
    assert texts(written(Model("+ next: run it today"))) == ["run it today"]


@pytest.mark.design("K-8")
def test_garbage_for_the_same_stretch_is_worth_one_more_try() -> None:
    story = "Once upon a time there was a parser."
    writer = ModelWriter(Model(story, story, story, GOOD, story, story))
    later = with_(RUN, range=(1, 2))

    async def main() -> list[str]:
        runs = [RUN, RUN, later, RUN, RUN, RUN]
        found = [await writer.write(run) for run in runs]
        return [one.kind if isinstance(one, WriterFailed) else "written" for one in found]

    assert asyncio.run(main()) == ["retryable", "deterministic", "retryable", "written", "retryable", "deterministic"]


@pytest.mark.design("K-3", "K-6")
def test_text_beside_tool_calls_counts_and_so_does_a_weak_models_markdown() -> None:
    both = [*text_events(GOOD)[:-1], *call_events()]
    assert texts(written(Model(both))) == ["run the tests", "the parser is a streaming one"]
    assert texts(written(Model("Sure!\n## Next step\n- run the tests\n## Notes\n- no"))) == ["run the tests"]


@pytest.mark.design("K-3", "A-8")
def test_an_answer_that_was_cut_off_counts_up_to_its_last_line() -> None:
    assert texts(written(Model(text_events(GOOD, Finish.LENGTH)))) == ["the parser is a streaming one"]


@pytest.mark.design("A-3", "K-11")
def test_a_repetition_voids_what_came_before() -> None:
    retry = RetryEvent(1, 0.0, ErrorKind.OVERLOADED, "busy")
    said = [TextEvent("+ next: the wrong one\n"), *call_events()[:2], retry, *text_events(GOOD)]
    done = written(Model(said))
    assert texts(done) == ["run the tests", "the parser is a streaming one"]
    assert done.usage == Usage(fresh=100, output=10)
    assert failed([*text_events(GOOD)[:-1], retry, FinishEvent(Finish.STOP)]).reason == "empty answer"


@pytest.mark.design("K-6")
@pytest.mark.report(90, 92, 130, 131)
def test_each_operation_is_judged_by_itself() -> None:
    chinese = run_of(user("请把解析器改成流式的，不要一次读完整个文件"), says("好的，已经改好了。"))
    done = written(
        Model(
            "+ knowledge: 解析器每次只读一行\n+ knowledge: the parser reads one line at a time\n"
            "+ directives: “永远不要部署到生产环境”\n+ directives: “不要一次读完整个文件”\n"
            "+ resources: 登录用 password=hunter2abc"
        ),
        chinese,
    )
    assert texts(done) == ["“不要一次读完整个文件”", "解析器每次只读一行", "登录用 password=[redacted]"]
    assert [line.split(":")[0] for line in done.refused] == ["not in the user's language", "invented quotation"]


@pytest.mark.design("K-3")
def test_a_model_may_look_things_up_and_the_request_only_grows() -> None:
    shelf = Shelf(*record(user("the cap must be 7"), says("it is 7 now"), user("password=hunter2abc")), *RUN.messages[:0])
    model, rows = Model("? m1-m2", "? the cap\n? m3", "+ knowledge: the cap is 7 by now"), Rows()
    run = with_(run_of(*RUN.messages, after=10), fork=fork, lookup=shelf, ledger=rows)
    done = written(model, run)
    first, second, third = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    assert (second.system, second.tools, second.settings) == (first.system, first.tools, first.settings)
    assert [message.role for message in third.messages[3:]] == ["assistant", "user", "assistant", "user"]
    assert words_of(second, -2) == "? m1-m2"
    assert "m1 user:\n the cap must be 7\nm2 assistant:\n it is 7 now" in words_of(second)
    assert "? the cap\n```\nm1 user: the cap must be 7\n```" in words_of(third)
    assert "hunter2abc" not in words_of(third)
    for request in model.requests:
        assert "checkpoint writer mode" in words_of(request)
        assert "checkpoint operations" in words_of(request)
    assert "2 left" in words_of(second)
    assert "1 left" in words_of(third)
    assert shelf.asked == ["(0, 2]", "the cap", "(2, 3]"]
    assert texts(done) == ["the cap is 7 by now"]
    assert done.usage == Usage(fresh=300, output=30)
    assert done.calls == ("call_1", "call_2", "call_3")
    assert list(rows.ended) == ["call_1", "call_2", "call_3"]


@pytest.mark.design("K-3", "K-8")
def test_three_look_ups_are_the_most() -> None:
    shelf = Shelf(*RUN.messages)
    model = Model(*["? m1"] * 3, GOOD)
    assert LOOK_UPS == 3
    assert texts(written(model, with_(RUN, lookup=shelf))) == ["run the tests", "the parser is a streaming one"]
    assert "nothing more can be looked up" in words_of(model.requests[3])
    model = Model(*["? where is the cap set in it"] * 4)
    done = write(model, with_(RUN, lookup=shelf))
    assert isinstance(done, WriterFailed)
    assert (done.kind, done.reason) == ("retryable", "no operation in the answer")
    assert done.usage == Usage(fresh=400, output=40)
    assert len(model.requests) == 4
    assert shelf.asked == ["(0, 1]"] * 3 + ["where is the cap set in it"] * 3


@pytest.mark.design("K-3")
def test_questions_beside_operations_are_not_asked() -> None:
    model = Model("? m1\n" + GOOD)
    assert texts(written(model, with_(RUN, lookup=Shelf(*RUN.messages)))) == ["run the tests", "the parser is a streaming one"]
    assert len(model.requests) == 1
    model = Model("? m1\n+ plans: no such section", GOOD)
    written(model, with_(RUN, lookup=Shelf(*RUN.messages)))
    assert len(model.requests) == 2


class Broken(Shelf):
    async def search(self, query: str, *, limit: int = 20) -> Sequence[Any]:
        raise UserMistake("the words cannot be searched")


class Halting(Shelf):
    async def search(self, query: str, *, limit: int = 20) -> Sequence[Any]:
        if not self.asked:
            self.asked.append(query)
            raise UserMistake("not now")
        return await super().search(query, limit=limit)


@pytest.mark.design("K-3")
def test_a_look_up_shows_nothing_behind_the_mark_and_is_bounded() -> None:
    long = record(*(says(f"message {n}: " + "words of it " * 400) for n in range(60)))
    model = Model("? m1-m60\n? walrus\n? message 57:\n? m59\n? message 58:\n? m2", GOOD)
    written(model, with_(RUN, range=(0, 58), lookup=Shelf(*long)))
    shown = words_of(model.requests[1])
    assert tokens_of(shown) < 4_300
    assert sum(line.startswith("? ") for line in shown.splitlines()) == 5  # one question is over the five
    assert "? m59-m59\n```\nnothing found\n```" in shown
    assert "m58 assistant: message 57: words" in shown
    assert "? walrus\n```\nnothing found\n```" in shown
    assert "m59 assistant: message" not in shown
    alone = Model("? m1-m60", GOOD)
    written(alone, with_(RUN, range=(0, 60), lookup=Shelf(*long)))
    assert 3_000 < tokens_of(words_of(alone.requests[1])) < 4_200
    for shelf, told in ((None, "nothing can be looked up here"), (Broken(), "the words cannot be searched")):
        model = Model("? something", GOOD)
        written(model, with_(RUN, lookup=shelf))
        assert told in words_of(model.requests[1])


@pytest.mark.design("K-6")
def test_a_quotation_from_before_the_stretch_is_found_in_the_record() -> None:
    said = user("Whatever happens, never touch the main branch of it.")
    shelf = Shelf(*record(said, says("never touch the docs")), *record(user("always deploy it at night"), after=40))
    line = '+ directives: "never touch the main branch"\n+ directives: "never touch the docs"\n+ directives: "always deploy it"'
    run = run_of(*RUN.messages, after=10)
    done = written(Model(line), with_(run, lookup=shelf))
    assert texts(done) == ['"never touch the main branch"']
    assert next(one for one in done.items if one.by == "model").sources == (1,)
    assert len(done.refused) == 2
    assert shelf.asked == ["never touch the main branch", "(0, 1]", "never touch the docs", "always deploy it"]
    mark = run.range[1] + 1  # behind the messages of the run
    at_mark = Shelf(*record(user("always deploy it"), user("always deploy it"), after=mark - 1))
    done = written(Model('+ directives: "always deploy it"'), with_(run, range=(10, mark), lookup=at_mark))
    assert at_mark.asked == ["always deploy it", f"({mark - 1}, {mark}]"]
    assert texts(done) == ['"always deploy it"']
    halting = Halting(*record(said))
    assert len(texts(written(Model('+ directives: "the first of two"\n' + line), with_(run, lookup=halting)))) == 1
    assert failed(line, run=run).reason.startswith("no operation in the answer (invented quotation")
    assert failed(line, run=with_(run, lookup=Broken())).kind == "retryable"
    quoted = Model('+ directives: "Whatever happens … never touch the main branch of it."')
    assert len(texts(written(quoted, with_(run, lookup=shelf)))) == 1


@pytest.mark.design("K-3", "K-6")
def test_look_ups_and_their_numbers_have_bounds() -> None:
    assert ROUND_TOKENS == 4_000
    shelf = Shelf(*record(*(says(f"message {n}") for n in range(60))))
    model = Model("? m1-m60\n? message", GOOD)
    written(model, with_(RUN, range=(0, 60), lookup=shelf))
    assert shelf.asked[0] == "(0, 40]"
    assert words_of(model.requests[1]).count("message ") == 40 + 12
    chinese = Shelf(*record(*(says("搜" * 190) for _ in range(60))))
    model = Model("? 搜\n? m70\n? m71\n? m72\n? m73", GOOD)
    written(model, with_(RUN, range=(0, 60), lookup=chinese))
    assert 500 < tokens_of(words_of(model.requests[1])) < 1_000
    quotes = [f"quotation number {n} of them" for n in range(9)]
    heard = Shelf(*record(*(user(quote) for quote in quotes)))
    lines = "\n".join(f'+ directives: "{quote}"' for quote in quotes)
    done = written(Model(lines), with_(run_of(*RUN.messages, after=20), lookup=heard))
    assert texts(done) == [f'"{quote}"' for quote in quotes[:8]]
    long = "so many words " * 20
    model = Model(f'+ directives: "{long}"\n+ directives: "{"x" * 100} y z"\n+ directives: "{"x" * 99} y z"\n{GOOD}')
    shelf = Shelf()
    written(model, with_(RUN, lookup=shelf))
    assert shelf.asked == [("so many words " * 7).strip(), "x" * 100, "x" * 99]
    edge = "so many words " * 7 + "ab"
    assert len(edge) == 100
    shelf = Shelf()
    written(Model(f'+ directives: "{edge}"\n{GOOD}'), with_(RUN, lookup=shelf))
    assert shelf.asked == [edge]


@pytest.mark.design("K-6", "K-3")
def test_what_was_looked_up_may_be_quoted_and_is_a_source() -> None:
    shelf = Shelf(*record(user("keep the walrus as it is")))
    run = with_(run_of(*RUN.messages, after=10), lookup=shelf)
    done = written(Model("? m1", '+ [m1] directives: "keep the walrus as it is"'), run)
    assert [one.sources for one in done.items if one.by == "model"] == [(1,)]
    assert shelf.asked == ["(0, 1]"]


OVERFLOW = ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long")


@pytest.mark.design("K-4", "K-8")
def test_a_live_request_that_is_too_long_becomes_one_of_its_own() -> None:
    model, rows = Model(OVERFLOW, GOOD), Rows()
    done = written(model, with_(RUN, fork=fork, ledger=rows))
    assert done.mode == "delta"
    assert model.requests[1].tools == ()
    assert done.calls == ("call_1", "call_2")
    assert rows.ended["call_1"] == (None, None, "context_overflow: too long", None)
    assert rows.ended["call_2"][3] is Finish.STOP
    other = write(Model(ModelError(ErrorKind.AUTH_FAILED, "no"), GOOD), with_(RUN, fork=fork))
    assert isinstance(other, WriterFailed)


OUTPUT = "\n".join(f"line {n} of the output, with a number of words in it" for n in range(2_000))
LONG = run_of(user("please read it"), calls("Read", OUTPUT, path="a"), calls("Read", OUTPUT[:9_000], path="b"), says("done it"))


@pytest.mark.design("K-8")
def test_a_request_of_its_own_that_is_too_long_is_halved_once() -> None:
    model = Model(OVERFLOW, GOOD)
    done = written(model, LONG)
    first, second = (tokens_of(words_of(request)) for request in model.requests)
    assert first * 0.4 < second < first * 0.55
    assert "please read it" in words_of(model.requests[1])
    assert OUTPUT[:8_000].splitlines()[-2] in words_of(model.requests[1])  # the smaller result is whole
    assert "tokens left out here" in words_of(model.requests[1])
    assert done.mode == "delta"
    model = Model(OVERFLOW, OVERFLOW, GOOD)
    gone = write(model, LONG)
    assert isinstance(gone, WriterFailed)
    assert (gone.kind, gone.reason) == ("deterministic", "context_overflow: too long")
    assert len(model.requests) == 2


@pytest.mark.design("K-4", "K-8")
@pytest.mark.report(29)
def test_a_stretch_longer_than_the_model_is_written_in_several_requests() -> None:
    messages = [message for n in range(12) for message in (user(f"do part {n}"), says(f"part {n} " + "is done so " * 600))]
    messages.append(user("and now the next part"))
    run = with_(run_of(*messages, items=(A,)), notes=(Note("s", "the host is up"),))
    first = f"+ knowledge: fact one of it\n= {A.id}: the cap is 6\n+ next: part two"
    model = Model(
        first,
        "+ knowledge: fact two of it\n+ next: part three",
        "? m1",
        f"x {item('fact one of it').id} superseded",
        limit=12_000,
    )
    rows = Rows()
    done = written(model, with_(run, ledger=rows, lookup=Shelf(*run.messages)), price=cents)
    assert len(model.requests) == 4
    requests = [model.requests[at] for at in (0, 1, 2)]
    for request in requests:
        whole = sum(tokens_of(block.text) for block in request.system) + tokens_of(words_of(request))
        assert whole <= 12_000 - 6_000
    parts = [
        {int(line[1:].split()[0]) for line in words_of(request).splitlines() if line[:1] == "m" and line.endswith(":")}
        for request in requests
    ]
    assert set().union(*parts) == set(range(1, 26))
    assert sum(map(len, parts)) == 25
    assert "- the host is up" in words_of(requests[0])
    assert "the host is up" not in words_of(requests[1])
    assert f"{A.id} knowledge: the cap is 5" in words_of(requests[0])
    assert "knowledge: the cap is 6" in words_of(requests[1])
    assert "knowledge: the cap is 5" not in words_of(requests[1])
    assert "knowledge: fact one of it" in words_of(requests[1])
    assert texts(done) == ["part three", "the cap is 6", "fact two of it"]
    left = {
        one.text: one.status for one in done.items if one.status is not ItemStatus.OPEN and one.section is not Section.INTENT
    }
    assert left == {
        "the cap is 5": ItemStatus.SUPERSEDED,
        "part two": ItemStatus.SUPERSEDED,
        "fact one of it": ItemStatus.SUPERSEDED,
    }
    assert {one.written_seq for one in done.items if one.by == "model"} == {25}
    by_text = {one.text: one for one in done.items}
    assert set(by_text["fact one of it"].sources) <= parts[0]
    assert set(by_text["fact two of it"].sources) <= parts[1]
    assert done.calls == ("call_1", "call_2", "call_3", "call_4")
    assert done.usage == Usage(fresh=400, output=40)
    assert {by_text[text].id for text in ("the cap is 6", "fact two of it", "part three")} <= set(done.added)
    assert {A.id, by_text["fact one of it"].id, by_text["part two"].id} <= set(done.closed)
    assert not set(done.added) & set(done.closed)
    broken = Model(first, "a story without any operation", limit=12_000)
    gone = write(broken, run)
    assert isinstance(gone, WriterFailed)
    assert gone.usage == Usage(fresh=200, output=20)


@pytest.mark.design("K-4")
def test_the_limit_that_an_overflow_names_is_kept_to() -> None:
    messages = [says(f"part {n} " + "is done so " * 600) for n in range(12)]
    told = ModelError(ErrorKind.CONTEXT_OVERFLOW, "too long", limit=12_000, used=40_000)
    model = Model(told, *[GOOD] * 12)
    assert written(model, with_(run_of(*messages), fork=fork)).mode == "delta"
    assert len(model.requests) == 4
    assert all(tokens_of(words_of(request)) <= 6_000 for request in model.requests[1:])


@pytest.mark.design("K-4")
def test_a_small_model_still_gets_something_to_read() -> None:
    model = Model(*[GOOD] * 200, limit=1_000)
    written(model, LONG)
    assert all(tokens_of(words_of(request)) < 1_500 for request in model.requests)
    assert "please read it" in words_of(model.requests[0])


@pytest.mark.design("K-4")
def test_nothing_to_read_costs_nothing() -> None:
    model = Model()
    for run in (with_(RUN, messages=()), run_of(engine("a recap"), items=(A,))):
        assert write(model, run) == Written(items=(A,))
    notes = Model("+ knowledge: the host is up")
    run = with_(RUN, messages=(), notes=(Note("s", "the host is up"),))
    assert texts(written(notes, run)) == ["the host is up"]


@pytest.mark.design("K-11", "R-15")
def test_every_call_is_in_the_ledger_whatever_came_of_it() -> None:
    for said, error, finish in (
        (call_events(), "", Finish.TOOL_CALLS),
        (text_events(""), "", Finish.STOP),
        (ModelError(ErrorKind.OVERLOADED, "busy"), "overloaded: busy", None),
        (ValueError("broken"), "ValueError: broken", None),
        ([TextEvent("a"), UsageEvent(Usage(fresh=3))], "unavailable: the answer broke off", None),
    ):
        rows = Rows()
        done = write(Model(said), with_(RUN, ledger=rows))
        assert isinstance(done, WriterFailed)
        assert done.calls == ("call_1",)
        usage, price, told, ended = rows.ended["call_1"]
        assert (told, ended, price) == (error, finish, None)
        assert usage == done.usage
    broken = write(Model(GOOD), with_(RUN, ledger=Rows(broken=True)))
    assert isinstance(broken, WriterFailed)
    assert (broken.kind, broken.reason, broken.calls) == ("retryable", "the disk is full", ())


@pytest.mark.design("K-8", "K-11")
def test_a_cancel_passes_and_the_row_is_closed() -> None:
    async def main() -> None:
        model, rows = Model([]), Rows()
        task = asyncio.create_task(ModelWriter(model).write(with_(RUN, ledger=rows)))
        await model.waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert rows.ended == {"call_1": (None, None, "interrupted", None)}
        assert model.closed == 1

    asyncio.run(main())


@pytest.mark.design("K-8", "K-11")
def test_a_cancel_while_the_row_is_made_leaves_no_open_row() -> None:
    async def main() -> None:
        model, rows = Model(GOOD), Rows()
        task = asyncio.create_task(ModelWriter(model).write(with_(RUN, ledger=rows)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert rows.ended == {"call_1": (None, None, "interrupted", None)}
        assert model.requests == []

    asyncio.run(main())


@pytest.mark.design("K-8", "K-11")
def test_a_row_that_could_not_be_made_does_not_hide_a_cancel() -> None:
    async def main() -> None:
        rows = Rows(broken=True)
        task = asyncio.create_task(ModelWriter(Model(GOOD)).write(with_(RUN, ledger=rows)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert rows.ended == {}

    asyncio.run(main())


@pytest.mark.design("K-11", "M-5")
def test_what_has_no_usage_has_no_price_and_hides_none() -> None:
    rows = Rows()
    silent = [one for one in text_events("? m1") if not isinstance(one, UsageEvent)]
    model = Model(text_events("? m1", usage=Usage(fresh=5, output=50)), silent, text_events(GOOD, usage=Usage(output=1)))
    done = written(model, with_(RUN, lookup=Shelf(), ledger=rows), price=cents)
    assert done.usage == Usage(fresh=5, output=51)
    assert [row[:2] for row in rows.ended.values()] == [
        (Usage(fresh=5, output=50), 0.5),
        (None, None),
        (Usage(output=1), 0.01),
    ]


@pytest.mark.design("K-4")
def test_the_room_of_a_request_of_its_own_is_the_window_less_8_000() -> None:
    assert SPARE == 8_000
    messages = [says(f"part {n} " + "is done so " * 400) for n in range(60)]
    model = Model(*[GOOD] * 9, limit=30_000)
    written(model, run_of(*messages))
    sizes = [tokens_of(request.system[0].text) + tokens_of(words_of(request)) for request in model.requests]
    one = tokens_of("part 12 " + "is done so " * 400)
    assert len(sizes) > 1
    assert all(22_000 - 1.2 * one < size <= 22_000 for size in sizes[:-1])


@pytest.mark.design("K-12")
@pytest.mark.report(29)
def test_what_was_proven_in_one_of_several_requests_stays_proven() -> None:
    messages = [says(f"part {n} " + "is done so " * 600) for n in range(8)]
    first = "^ knowledge: fact one of it\n^ knowledge: fact two of it"
    model = Model(first, f"x {item('fact one of it').id} superseded\n^ {A.id}", limit=12_000)
    done = written(model, with_(run_of(*messages), items=(A,)))
    assert len(model.requests) == 2
    assert done.promoted == (item("fact two of it").id, A.id)


@pytest.mark.design("M-2")
def test_usage_of_several_calls_is_added_field_by_field() -> None:
    one = Usage(fresh=1, cached=None, written=4, output=2, reasoning=None)
    two = Usage(fresh=10, cached=None, written=None, output=20, reasoning=7)
    model = Model(text_events("? m1", usage=one), text_events(GOOD, usage=two))
    done = written(model, with_(RUN, lookup=Shelf()))
    assert done.usage == Usage(fresh=11, cached=None, written=4, output=22, reasoning=7)


@pytest.mark.design("K-10")
def test_what_extraction_is_sure_of_is_added() -> None:
    run = run_of(user("Never push to main. Please make the parser stream."), calls("Read", "x", path="a"), items=(A,))
    done = written(Model("+ next: run the tests of it"), run)
    assert done.checked
    added = [one for one in done.items if one.id in done.checked]
    assert any("Never push to main" in one.text for one in added)
    assert all(one.by == "extractive" and one.status is ItemStatus.OPEN for one in added)
    assert not set(done.checked) & set(done.added)
    told = written(Model("+ directives: never push to main\n+ intent: m1: make the parser stream, open"), run)
    assert not [one for one in told.items if one.id in told.checked and one.section in (Section.DIRECTIVES, Section.INTENT)]


@pytest.mark.design("K-2", "K-10", "R-6")
def test_what_the_record_shows_to_be_over_is_closed_beside_the_model() -> None:
    asked, step = item("m1: make the parser stream", Section.INTENT, sources=(1,)), item("write it", Section.NEXT)
    theirs = item("then tell me", Section.NEXT, by="user")
    over = run_of(user("Make the parser stream."), says("It streams now."), items=(asked, step, theirs, A))
    done = written(Model("+ knowledge: the parser reads lines"), over)
    assert [one.text for one in open_items(done.items)][:3] == ["then tell me", "the cap is 5", "the parser reads lines"]
    assert {one.id: one.status for one in done.items if one.status is not ItemStatus.OPEN} == {
        asked.id: ItemStatus.DONE,
        step.id: ItemStatus.DONE,
    }
    assert done.closed == (asked.id, step.id)
    told = written(Model(f"= {step.id}: tell the user\nx {asked.id} superseded"), over)
    assert texts(told) == ["tell the user"]
    assert sorted(told.closed) == sorted((asked.id, step.id))
    assert {one.status for one in told.items if one.id in told.closed} == {ItemStatus.SUPERSEDED}
    under_way = run_of(user("Make the parser stream."), calls("Read", "x", path="a"), items=(asked, step, theirs, A))
    assert written(Model("+ knowledge: the parser reads lines"), under_way).closed == ()


@pytest.mark.design("K-4")
def test_nothing_of_the_opening_is_taken_for_evidence() -> None:
    """The live request says ``please go on``; the stretch, which alone is evidence, does not."""
    assert words_of(fork("x"), 0) == "please go on"
    run = with_(run_of(says("I have gone on with the zebra."), says("So it is.")), fork=fork)
    done = written(Model('+ directives: "please go on"\n+ knowledge: walrus of the opening'), run)
    assert texts(done) == ["walrus of the opening"]
    assert next(one for one in done.items if one.by == "model").sources == (1, 2)
    assert done.refused == ('invented quotation: + directives: "please go on"',)


@pytest.mark.design("K-8")
@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(st.sampled_from([GOOD, "? m1", f"x {A.id}", "\n", "+ next: ", "## Files\n- a", '"q q q q"']), max_size=8).map(
            "\n".join
        ),
    )
)
def test_whatever_a_model_answers_the_writer_never_raises(answer: str) -> None:
    for fork_ in (None, fork):
        done = write(Model(*[answer] * 4), with_(RUN, fork=fork_, lookup=Shelf(*RUN.messages)))
        if isinstance(done, Written):
            ids = [one.id for one in done.items]
            assert len(set(ids)) == len(ids)
            assert any(isinstance(one, Item) and one.id == A.id for one in done.items)
