"""``sojourn show ID --request N``: a request block by block, what the cache should hold, what is different (S-1, M-4, A-7)."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from sojourn.surfaces.cli.requests import RequestBlock, blocks, difference, difference_report, request_report
from sojourn.wire import (
    About,
    CallPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    ResultPart,
    SystemBlock,
    TextPart,
    Tool,
    WireMessage,
)
from surfaces.running import Command

pytestmark = pytest.mark.design("S-1", "M-4")


def text(words: str, kind: str = "user", seq: int | None = None, name: str = "") -> TextPart:
    return TextPart(words, About(kind, name, seq, len(words)))


PICTURE = ImagePart("image/png", "ab" * 32, About("image", tokens=90))
RESULT = ResultPart("c", "read", (text("file text", "result", 2), PICTURE), True, About("result", "read", 2))
FIRST = ModelRequest(
    system=(SystemBlock("be good", About("system", "role", tokens=4), "stable"),),
    tools=(Tool("read", "Reads.", {"type": "object"}, About("tools", "", tokens=9)),),
    messages=(WireMessage("user", (text("opening", "opening", None, "label"), text("question", seq=1)), "last"),),
    settings=RequestSettings("m1", 500),
)
THINKING = ReasoningPart("hm", "sig", "", About("assistant", tokens=1))
ANSWER = WireMessage("assistant", (THINKING, CallPart("c", "read", {"path": "a"}, About("assistant", "read", 2, 5))))
SECOND = msgspec.structs.replace(
    FIRST,
    messages=(msgspec.structs.replace(FIRST.messages[0], mark="previous"), ANSWER, WireMessage("user", (RESULT,), "last")),
    settings=RequestSettings("m1", 900),
)


def test_every_block_in_the_order_of_the_cache() -> None:
    found = blocks(SECOND)
    assert [(one.number, one.role, one.part, one.kind, one.name, one.seq, one.tokens, one.mark) for one in found] == [
        (0, "settings", "settings", "settings", "", None, 0, None),
        (1, "tool", "schema", "tools", "read", None, 9, None),
        (2, "system", "text", "system", "role", None, 4, "stable"),
        (3, "user", "text", "opening", "label", None, 7, None),
        (4, "user", "text", "user", "", 1, 8, "previous"),
        (5, "assistant", "reasoning", "assistant", "", None, 1, None),
        (6, "assistant", "call", "assistant", "read", 2, 5, None),
        (7, "user", "result", "result", "read", 2, 99, "last"),
    ]
    assert [one.text for one in found][1:3] == ['Reads.\n{"type":"object"}', "be good"]
    assert found[6].text == 'read({"path":"a"})'
    assert found[7].text == f"[error] file text\n[image/png {'ab' * 32}]"
    assert {one.cache for one in found} == {""}


@pytest.mark.design("A-7")
def test_what_the_cache_should_hold() -> None:
    assert [one.cache for one in blocks(SECOND, FIRST)] == ["read"] * 5 + ["new"] * 3
    assert [one.cache for one in blocks(SECOND, SECOND)] == ["read"] * 8
    assert [one.cache for one in blocks(FIRST, SECOND)] == ["read"] * 5
    for field, value, read in (
        ("tools", (), 1),
        ("system", (SystemBlock("be better", About("system"), "stable"),), 2),
        ("settings", RequestSettings("m2", 500), 0),
        ("settings", RequestSettings("m1", 500, thinking="high"), 0),
    ):
        before = msgspec.structs.replace(FIRST, **{field: value})
        assert [one.cache for one in blocks(SECOND, before)] == ["read"] * read + ["new"] * (8 - read), field


def test_marks_and_what_we_know_of_a_block_are_no_difference() -> None:
    again = msgspec.structs.replace(
        FIRST,
        system=(SystemBlock("be good", About("context", "other", 9, 1)),),
        messages=(WireMessage("user", (text("opening"), text("question"))),),
    )
    assert difference(blocks(FIRST), blocks(again)) == (None, [], [])
    assert difference_report(1, 2, blocks(FIRST), blocks(again), full=False) == "Requests 1 and 2 are the same."


def test_the_difference_of_two_requests() -> None:
    one, two = blocks(SECOND), blocks(FIRST)
    assert difference(one, two) == (5, one[5:], [])
    assert difference(two, one) == (5, [], one[5:])
    other = msgspec.structs.replace(FIRST, system=(SystemBlock("be better", About("system", "role")),))
    first, ours, theirs = difference(one, blocks(other))
    assert first == 2
    assert [block.number for block in ours] == [2, 5, 6, 7]
    assert [block.text for block in theirs] == ["be better"]
    told = difference_report(4, 3, one, blocks(other), full=False).splitlines()
    assert told[0] == "First difference at block 2 (system text system role); - only in 4, + only in 3:"
    assert told[1] == "-    2 system text system role: be good"
    assert told[-1] == "+    2 system text system role: be better"
    assert len(told) == 6


def test_the_same_blocks_in_another_order_and_twice() -> None:
    def asked(*words: str) -> list[RequestBlock]:
        return blocks(msgspec.structs.replace(FIRST, messages=(WireMessage("user", tuple(map(text, words))),)))

    assert difference(asked("a", "b"), asked("b", "a")) == (3, [], [])
    assert difference_report(1, 2, asked("a", "b"), asked("b", "a"), full=False).splitlines()[1:] == [
        "The same blocks stand in both, in another order."
    ]
    first, ours, theirs = difference(asked("a", "a", "b"), asked("a", "b"))
    assert (first, [block.text for block in ours], theirs) == (4, ["a"], [])


def test_short_and_full(home: Path) -> None:
    long = msgspec.structs.replace(FIRST, messages=(WireMessage("user", (text("line\n" + "x" * 600 + "\x1b[2J"),)),))
    short = request_report(blocks(long, FIRST), "head", full=False).splitlines()
    assert short[0] == "head"
    assert short[2].split() == ["no.", "role", "part", "source", "tokens", "mark", "cache", "text"]
    assert all(len(line) <= 80 for line in short)
    assert short[-1].split()[:7] == ["3", "user", "text", "user", "608", "new", "line"] or "line xxx" in short[-1]
    full = request_report(blocks(long, FIRST), "head", full=True)
    assert "    line\n    " + "x" * 600 + "␛[2J\n" in full
    assert "\x1b" not in full
    diff = difference_report(2, 1, blocks(long), blocks(FIRST), full=True)
    assert "x" * 600 in diff
    assert "x" * 100 not in difference_report(2, 1, blocks(long), blocks(FIRST), full=False)


# --- the command, on a session that was run -------------------------------------------------------------------------


@pytest.fixture
def ran(sojourn: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    Path("notes.txt").write_text("the gauge stands at seven\n")
    with open(os.devnull) as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        assert sojourn("run", "--trust", "--model", "scripted", "where is the gauge?").code == 0
    return sojourn


@pytest.mark.design("A-7")
def test_the_requests_of_a_run(ran: Command) -> None:
    calls = ran("cost", "last", "--json").row["calls"]
    assert len(calls) >= 2
    first = ran("show", "last", "--request", 1, "--json").rows
    second = ran("show", "last", "--request", 2, "--json").rows
    assert {row["cache"] for row in first} == {""}
    assert [row["number"] for row in second] == list(range(len(second)))
    assert [row["cache"] for row in second] == ["read"] * len(first) + ["new"] * (len(second) - len(first))
    assert [row["text"] for row in first] == [row["text"] for row in second[: len(first)]]
    assert first[-1]["text"] == "where is the gauge?"
    shown = ran("show", "last", "--request", 2)
    assert shown.out.startswith("Request 2 of ses_")
    assert f"{len(second) - 1} blocks" in shown.out
    assert "Cache as reported: hit" in shown.err
    assert "where is the gauge?\n" in ran("show", "last", "--request", 1, "--full").out
    diff = ran("show", "last", "--request", 2, "--diff", 1)
    assert diff.out.startswith(f"First difference at block {len(first)} ")
    assert "- only in 1, + only in 2" in diff.out
    assert {line[0] for line in diff.out.splitlines()[1:]} == {"+"}, "what the newer one has more is added"
    assert ran("show", "last", "--request", 1, "--diff", 2).out == diff.out
    assert len(diff.out.splitlines()) == 1 + len(second) - len(first)
    row = ran("show", "last", "--request", 2, "--diff", 1, "--json").row
    assert (row["first_difference"], len(row["only_in_2"]), row["only_in_1"]) == (len(first), len(second) - len(first), [])
    assert ran("show", "last", "--request", 1, "--diff", 1).out == "Requests 1 and 1 are the same.\n"
    assert json.loads(first[0]["text"])["model"] == "scripted"


def test_mistakes(ran: Command) -> None:
    last = len(ran("cost", "last", "--json").row["calls"])
    assert ran("show", "last", "--request", last).code == 0
    beyond = last + 1
    for arguments in (["--request", beyond], ["--request", 0], ["--request", 1, "--diff", beyond], ["--diff", 1], ["--full"]):
        done = ran("show", "last", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
    assert "--diff and --full belong to --request" in ran("show", "last", "--full").err
    assert "give one of them" in ran("show", "last", "--number", 1, "--request", 1).err
