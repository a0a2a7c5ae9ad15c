"""``sojourn run``: text and JSON, exit codes, which session, trust and questions, interrupts (S-1, Y-6)."""

import asyncio
import io
import json
import os
import pty
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, get_args

import msgspec
import pytest

from sojourn.agent.asking import Asked
from sojourn.agent.permissions import Rules, parse_rule
from sojourn.agent.types import (
    AgentEvent,
    Called,
    CheckpointEvent,
    Metered,
    Noticed,
    Reminded,
    Retrying,
    Returned,
    Said,
    SessionOpened,
    StepStarted,
    Thought,
    TurnEnded,
    TurnStarted,
    WindowOpened,
)
from sojourn.base import ErrorKind, Finish, SystemClock, Usage, UserMistake
from sojourn.models.types import Choice
from sojourn.record import Session, Source
from sojourn.record.sqlite import SqliteStore
from sojourn.surfaces.cli import running
from sojourn.surfaces.cli.asking import TerminalAsker, question
from sojourn.surfaces.cli.refused import refused_lines, remedy
from sojourn.surfaces.cli.running import TextTeller, aside, exit_code
from surfaces.running import Command, in_own_process, started
from surfaces.test_startup import command, modules_after

pytestmark = pytest.mark.design("S-1")

USAGE = Usage(fresh=100, cached=900, written=50, output=40)
OPENED = SessionOpened("ses_1", "new", "acme/m1", 64_000, "ask", "/w", 1, ("/w/AGENTS.md", "/w/sub/AGENTS.md"))
END = TurnEnded(Finish.STOP, 2, "All good.", USAGE, 0.0123)
TALK: list[AgentEvent] = [
    OPENED,
    TurnStarted(1, "do it"),
    StepStarted(1, "call_1", 900, 50_000, True, 1),
    Thought("hm"),
    Said("Let me "),
    Said("look."),
    Called("c1", "bash", {"command": "ls -la"}),
    Metered("call_1", USAGE, 0.01, "hit"),
    Returned("c1", "bash", "completed", "\nfirst line\nsecond\nthird", 12),
    Reminded("date", "It is late."),
    StepStarted(2, "call_2", 1_000, 50_000, False, 1),
    Said("All good."),
    END,
]


class FakeAgent:
    """Plays events; remembers how it was opened and what it was asked."""

    events: ClassVar[list[AgentEvent]] = TALK
    during: ClassVar[Callable[["FakeAgent"], Any] | None] = None
    opened: ClassVar[dict[str, Any]] = {}
    prompts: ClassVar[list[str]] = []
    closed: ClassVar[int] = 0
    session_id = "ses_1"

    @classmethod
    async def open(cls, **options: Any) -> "FakeAgent":
        FakeAgent.opened = options
        return cls()

    async def turn(self, prompt: str) -> TurnEnded:
        FakeAgent.prompts.append(prompt)
        tell = self.opened["on_event"]
        for event in self.events[:-1]:
            tell(event)
        ended = self.events[-1]
        assert isinstance(ended, TurnEnded)
        if FakeAgent.during is not None:
            ended = await FakeAgent.during(self) or ended
        tell(ended)
        return ended

    async def close(self) -> None:
        FakeAgent.closed += 1


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[type[FakeAgent]]:
    monkeypatch.setattr("sojourn.agent.Agent", FakeAgent)
    monkeypatch.setattr(FakeAgent, "events", TALK)
    monkeypatch.setattr(FakeAgent, "during", None)
    FakeAgent.opened, FakeAgent.prompts, FakeAgent.closed = {}, [], 0
    with open(os.devnull) as nobody:
        monkeypatch.setattr("sys.stdin", nobody)
        yield FakeAgent


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.report(115)
def test_the_answer_on_standard_output_all_else_beside_it(sojourn: Command, agent: type[FakeAgent]) -> None:
    done = sojourn("run", "--trust", "do", "it")
    assert done.code == 0
    assert done.out == "Let me look.\nAll good.\n"
    assert done.err.splitlines() == [
        f"{Path.cwd()} is trusted from now on.",
        "ses_1 (new session)  acme/m1, window 64,000, mode ask",
        "rules: /w/AGENTS.md, /w/sub/AGENTS.md",
        "> bash ls -la",
        "  first line (+2 lines)",
        "2 steps, input 1,050 tokens (900 from the cache), output 40, price $0.0123",
    ]
    assert agent.prompts == ["do it"]
    assert agent.closed == 1


def told(*some: AgentEvent) -> list[str]:
    return [line for event in some for line in aside(event)]


@pytest.mark.design("A-7", "M-5")
@pytest.mark.report(57, 115)
def test_what_is_told_beside_the_answer(home: Path) -> None:
    assert told(WindowOpened(3, "usage", "rebuilt", 180_000, 32_000, 812)) == [
        "context rebuilt: window 3 (rebuilt, because of usage), 180,000 -> 32,000 tokens;"
        " messages up to m812 stand in the record"
    ]
    cold = told(WindowOpened(3, "cold_cache", "rebuilt", 90_000, 9_000, 812, saved=81_000))
    assert cold[1:] == ["the provider's cache had expired: 81,000 tokens need not be read anew"]
    spent = told(CheckpointEvent("written", "model", 40, 7, usage=Usage(fresh=500, cached=9_500, output=300)))
    assert spent == [
        "checkpoint written up to m40: 7 items, by the model writer"
        " (input 10,000 tokens, 9,500 of them from the cache, output 300)"
    ]
    assert told(CheckpointEvent("started")) == []
    assert told(CheckpointEvent("written", "model", 40, 7)) == ["checkpoint written up to m40: 7 items, by the model writer"]
    assert told(CheckpointEvent("failed", reason="no\nanswer")) == [
        "no checkpoint was written: no answer; the next one is tried later"
    ]
    for verdict in ("", "first", "hit", "new_window", "not_reported"):
        assert told(Metered("c", USAGE, None, verdict)) == []
    for verdict in ("ttl_expired", "prefix_changed: tools", "unknown"):
        assert told(Metered("c", USAGE, None, verdict)) == [f"cache: {verdict}; 150 tokens of input were not read from it"]
    assert told(Metered("c", Usage(fresh=7), None, "unknown")) == ["cache: unknown; 7 tokens of input were not read from it"]
    assert told(SessionOpened("s", "forked", "m", 1_000, "plan", "/w"))[1] == "rules: none found for /w"
    for how, word in (("new", "new session"), ("continued", "continued"), ("resumed", "resumed"), ("forked", "forked")):
        assert f"s ({word})" in told(SessionOpened("s", how, "m", 1, "ask", "/w"))[0]  # type: ignore[arg-type]
    unknown = TurnEnded(Finish.STOP, 1, "", Usage(fresh=5, output=1), None)
    assert running.summary(unknown) == "1 step, input 5 tokens (unknown from the cache), output 1, price unknown"


@pytest.mark.parametrize(
    ("key", "detail", "text"),
    [
        ("checkpoint_off", {}, "Checkpoints are switched off"),
        ("waiting_for_writer", {"milliseconds": 180_000}, "Waiting for the checkpoint that is being written, at most 180 s."),
        ("limit_learned", {"limit": 65_536}, "window is 65,536 tokens"),
        ("incoming_cut", {"messages": [3]}, "its middle is out of view"),
        ("lease_not_renewed", {"problem": "disk\nfull"}, "disk full"),
        ("prefix_warning", {"message": "/w/AGENTS.md: is empty", "path": "x"}, "/w/AGENTS.md: is empty"),
        ("something_new", {"a": 1, "b": "x\ny"}, "something new: a 1, b x y"),
        ("something_else", {}, "something else"),
        ("limit_learned", {}, "limit learned"),
    ],
)
def test_notices(home: Path, key: str, detail: dict[str, Any], text: str) -> None:
    (line,) = told(Noticed(key, detail))
    assert text in line
    assert "\n" not in line


def test_results_are_one_line_and_name_their_call_where_it_is_not_the_newest(sojourn: Command, agent: type[FakeAgent]) -> None:
    agent.events = [
        OPENED,
        Called("c1", "read", {"path": "a.py", "offset": 3}),
        Called("c2", "bash", {"command": "x" * 300}),
        Called("c3", "odd", {"n": 1}),
        Returned("c1", "read", "error", "there is no a.py"),
        Returned("c3", "odd", "completed", " \n"),
        Returned("c2", "bash", "interrupted", "y\x1b[31m" * 100),
        END,
    ]
    lines = sojourn("run", "--trust", "x").err.splitlines()[3:-1]
    assert lines[0] == "> read a.py"
    assert lines[1].startswith("> bash xxx")
    assert lines[1].endswith("x…")
    assert lines[2:5] == ["> odd", "  read a.py: error: there is no a.py", "  (nothing)"]
    assert "interrupted: y␛[31my" in lines[5]
    assert all(len(line) <= 100 for line in lines[:5])


def test_a_step_that_is_asked_again_leaves_nothing_behind_in_a_pipe(sojourn: Command, agent: type[FakeAgent]) -> None:
    retry = Retrying(1, 2.5, ErrorKind.OVERLOADED, "too\nbusy")
    agent.events = [OPENED, StepStarted(1, "a", 1, 2, True, 1), Said("Half an ans"), retry, Said("All good."), END]
    done = sojourn("run", "--trust", "x")
    assert done.out == "All good.\n"
    assert "asked again (attempt 1) in 2.5 s: overloaded: too busy\n" in done.err
    assert "void" not in done.err


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_the_answer_as_it_streams(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setattr("sys.stderr", screen)
    teller = TextTeller(lambda: None)
    teller(Said("Half \x1b[2J"))
    assert screen.getvalue() == "Half ␛[2J"
    teller(Retrying(1, 1, ErrorKind.UNAVAILABLE, "gone"))
    teller(Said("Whole.\n"))
    teller(Called("c", "bash", {"command": "ls"}))
    teller(Said("End"))
    teller(TurnEnded(Finish.STOP, 1, "End", USAGE, None))
    assert screen.getvalue().splitlines()[:-1] == [
        "Half ␛[2J",
        "asked again (attempt 1) in 1.0 s: unavailable: gone What was said above in this step is void.",
        "Whole.",
        "> bash ls",
        "End",
    ]


def test_colour_on_a_terminal_only(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    for stream, colour, painted in ((Screen(), "", True), (Screen(), "1", False), (io.StringIO(), "", False)):
        monkeypatch.setenv("NO_COLOR", colour)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr("sys.stderr", stream)
        TextTeller(lambda: None)(OPENED)
        assert ("\x1b[2m" in stream.getvalue()) is painted


def test_an_answer_that_was_not_streamed_is_printed(sojourn: Command, agent: type[FakeAgent]) -> None:
    agent.events = [OPENED, END]
    assert sojourn("run", "--trust", "x").out == "All good.\n"
    agent.events = [OPENED, TurnEnded(Finish.STOP, 1, " ", USAGE, None)]
    assert sojourn("run", "x").out == ""


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_json_is_every_event_as_it_is(sojourn: Command, agent: type[FakeAgent]) -> None:
    agent.events = [*TALK[:-1], Noticed("x", {"y": "\u2028"}), WindowOpened(2, "usage", "rebuilt", 2, 1, 3), END]
    done = sojourn("run", "--output", "json", "--trust", "x")
    assert done.code == 0
    assert done.rows == [msgspec.json.decode(msgspec.json.encode(event)) for event in agent.events]
    assert len(done.out.splitlines()) == len(agent.events)
    assert [row["type"] for row in done.rows][:4] == ["session", "turn", "step", "reasoning"]
    assert done.err == f"{Path.cwd()} is trusted from now on.\n"
    assert sojourn("run", "--json", "x").out == done.out


def test_the_reference_names_every_event_and_field() -> None:
    reference = running.__doc__ or ""
    table = {line.split()[0]: line for line in reference.splitlines() if line[:1].isalpha()}
    for event in get_args(AgentEvent):
        tag = event.__struct_config__.tag
        for field in event.__struct_fields__:
            assert field in table[tag], (tag, field)
    ends = {finish.value: finish.value in table["end"] for finish in Finish}
    assert ends.pop("tool_calls") is False, "a turn never ends with calls that wait: there is no step limit"
    assert all(ends.values()), ends


def test_each_line_leaves_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            Counting.flushed += 1

    monkeypatch.setattr("sys.stdout", Counting())
    teller = running.Teller(lambda: None)
    for number, event in enumerate(TALK, 1):
        teller(event)
        assert Counting.flushed == number


# --- exit codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "error", "code", "words"),
    [
        (Finish.STOP, "", 0, ""),
        (Finish.STOP, "stopped", 1, "sojourn: stopped\n  do this\n"),
        (Finish.ERROR, "refused", 1, "sojourn: refused\n  do this\n"),
        (Finish.LENGTH, "", 3, "The answer is cut"),
        (Finish.INTERRUPTED, "", 130, "Interrupted. Nothing is lost"),
    ],
)
def test_exit_codes(sojourn: Command, agent: type[FakeAgent], finish: Finish, error: str, code: int, words: str) -> None:
    ended = TurnEnded(finish, 1, "", USAGE, None, error, "do this" if error else "")
    agent.events = [OPENED, ended]
    done = sojourn("run", "--trust", "x")
    assert done.code == exit_code(ended) == code
    assert words in done.err
    assert agent.closed == 1


def test_the_help_says_what_the_exit_codes_mean(sojourn: Command) -> None:
    codes = [line.strip() for line in sojourn("run", "--help").out.partition("Exit codes:")[2].splitlines() if line.strip()]
    assert codes == [
        "0    finished",
        "1    the work failed: refused by model or provider, or stopped",
        "2    a mistake in the command",
        "3    cut at the output limit",
        "130  interrupted",
    ]


def test_a_mistake_when_it_opens(sojourn: Command, agent: type[FakeAgent], monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(**_: Any) -> None:
        raise UserMistake("no key", next_step="Set one.")

    monkeypatch.setattr(agent, "open", fail)
    done = sojourn("run", "--trust", "x")
    assert (done.code, done.err.splitlines()[1:]) == (2, ["sojourn: no key", "  Set one."])


def test_an_interrupt_settles_the_turn(sojourn: Command, agent: type[FakeAgent]) -> None:
    async def wait(_: FakeAgent) -> TurnEnded:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
        return TurnEnded(Finish.INTERRUPTED, 1, "", USAGE, None)

    agent.during = wait  # type: ignore[assignment]
    done = sojourn("run", "--trust", "--output", "json", "x")
    assert done.code == 130
    last = {"type": "end", "finish": "interrupted", "steps": 1, "text": "", "price": None}
    assert done.rows[-1] == {**last, "usage": msgspec.to_builtins(USAGE)}
    assert agent.closed == 1


def test_a_reader_that_goes_away_stops_the_turn(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "gone")

    monkeypatch.setattr("sys.stdout", Gone())
    stopped: list[int] = []
    teller = running.Teller(lambda: stopped.append(1))
    teller.check()
    teller(OPENED)
    teller(END)
    assert stopped == [1]
    with pytest.raises(BrokenPipeError):
        teller.check()


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_closed_pipe_makes_no_noise(home: Path, output: str) -> None:
    process = started(
        home, "run", "--trust", "--model", "scripted", "--output", output, "look around", stdin=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(60) == 0
    assert "Traceback" not in err
    assert "Exception" not in err
    process.stderr.close()


# --- options and sessions --------------------------------------------------------------------------------------------


def test_options_reach_the_agent(sojourn: Command, agent: type[FakeAgent], home: Path) -> None:
    done = sojourn(
        "run",
        "--trust",
        "--model",
        "acme/m1",
        "--window",
        "64K",
        "--api",
        "chat",
        "--base-url",
        "http://localhost:1/v1",
        "--api-key",
        "k",
        "--mcs",
        "force",
        "--mode",
        "plan",
        "--set",
        "tools.bash_timeout=7",
        "x",
    )
    assert done.code == 0
    opened = agent.opened
    assert opened["choice"] == Choice("acme/m1", "chat", "http://localhost:1/v1", "k", 64_000)
    assert (opened["mode"], opened["how"], opened["session_id"]) == ("plan", "new", None)
    assert (opened["cwd"], opened["trusted"], opened["asker"]) == (Path.cwd(), True, None)
    assert opened["documents"] == home / "data" / "memory"
    assert opened["settings"].mid_conversation_system.mode == "force"
    assert opened["settings"].tools.bash_timeout == 7
    sojourn("run", "x")
    assert agent.opened["choice"] == Choice()
    assert agent.opened["mode"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--continue", "--resume", "last", "x"], "--continue, --resume and --fork"),
        (["--resume", "a", "--fork", "b", "x"], "--continue, --resume and --fork"),
        (["--resume", "nobody", "x"], "there is no session 'nobody'"),
        (["--fork", "nobody", "x"], "there is no session 'nobody'"),
        (["--window", "big", "x"], "--window"),
        (["--mode", "yolo", "x"], "--mode"),
        (["--mcs", "on", "x"], "--mcs"),
        (["--set", "permissions.mode=yolo", "x"], "permissions.mode"),
        ([], "there is no prompt"),
        ([" "], "there is no prompt"),
    ],
)
def test_mistakes(sojourn: Command, agent: type[FakeAgent], arguments: list[str], words: str) -> None:
    done = sojourn("run", *arguments)
    assert done.code == 2
    assert words in done.err
    assert agent.prompts == []


@pytest.mark.parametrize(
    ("arguments", "typed", "prompt"),
    [
        (["fix", "it"], "ignored", "fix it"),
        ([], "from a pipe\n", "from a pipe"),
        (["-"], "from a\npipe", "from a\npipe"),
        (["review", "this", "-"], "diff\n", "review this\n\ndiff"),
        (["-", "review"], "\ufeff水", "review\n\n水"),
    ],
)
def test_the_prompt(
    sojourn: Command,
    agent: type[FakeAgent],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    typed: str,
    prompt: str,
) -> None:
    (tmp_path / "typed").write_text(typed, "utf-8")
    with (tmp_path / "typed").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert sojourn("run", "--trust", *arguments).code == 0
    assert agent.prompts == [prompt]


def stored(home: Path, *sessions: Session) -> None:
    async def main() -> None:
        (home / "data").mkdir(parents=True, mode=0o700)
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        for session in sessions:
            await store.create(session)
        await store.close()

    asyncio.run(main())


def test_continue_begins_a_session_where_there_is_none(sojourn: Command, agent: type[FakeAgent]) -> None:
    done = sojourn("run", "--trust", "--continue", "x")
    assert "There is no session in this folder yet: a new one begins.\n" in done.err
    assert (agent.opened["how"], agent.opened["session_id"]) == ("new", None)


def test_continue_takes_the_newest_session_of_the_folder(sojourn: Command, agent: type[FakeAgent], home: Path) -> None:
    here = str(Path.cwd().resolve())

    def one(id: str, age: int, cwd: str = here, **rest: Any) -> Session:
        return Session(id=id, project_id=here, cwd=cwd, created=1_000 - age, updated=1_000 - age, **rest)

    stored(
        home,
        one("ses_old", 9),
        one("ses_mine", 5),
        one("ses_elsewhere", 4, cwd=f"{here}/sub"),
        one("ses_child", 3, parent_id="ses_mine"),
        one("ses_taken", 2, source=Source("claude-code", "f")),
        Session(id="ses_other", project_id="/other", cwd="/other", created=1_000, updated=1_000),
    )
    assert sojourn("run", "--continue", "x").code == 0
    assert (agent.opened["how"], agent.opened["session_id"]) == ("continued", "ses_mine")
    for option, how in (("--resume", "resumed"), ("--fork", "forked")):
        assert sojourn("run", option, "ses_ol", "x").code == 0
        assert (agent.opened["how"], agent.opened["session_id"]) == (how, "ses_old")
    assert sojourn("run", "--resume", "last", "x").code == 0
    assert agent.opened["how"] == "resumed"
    assert sojourn("run", "--resume", "ses_", "x").code == 2


def test_continue_takes_no_session_of_another_folder(sojourn: Command, agent: type[FakeAgent], home: Path) -> None:
    here = str(Path.cwd().resolve())
    stored(home, Session(id="ses_sub", project_id=here, cwd=f"{here}/sub"), Session(id="ses_x", project_id="/x", cwd="/x"))
    said = sojourn("run", "--continue", "x")
    assert (agent.opened["how"], agent.opened["session_id"]) == ("new", None)
    assert "a new one begins" in said.err


# --- trust and questions (Y-6) ---------------------------------------------------------------------------------------


@pytest.mark.design("Y-6")
def test_an_untrusted_folder_is_told_once_a_run_and_its_settings_are_not_heard(
    sojourn: Command, agent: type[FakeAgent]
) -> None:
    Path(".sojourn").mkdir()
    Path(".sojourn/config.toml").write_text(
        'output_style = "x"\n[permissions]\nmode = "full"\nallow = ["bash"]\ndeny = ["fetch"]\n[model]\ndefault = "a/b"'
    )
    done = sojourn("run", "x")
    assert done.err.count("is not trusted") == 1
    assert "To trust it: sojourn run --trust\n" in done.err
    assert "are not heard: model.default, output_style, permissions.allow, permissions.mode. " in " ".join(done.err.split())
    assert agent.opened["trusted"] is False
    permissions = agent.opened["settings"].permissions
    assert (permissions.mode, permissions.allow, permissions.deny) == ("ask", (), ("fetch",))
    assert (agent.opened["settings"].output_style, agent.opened["settings"].model.default) == (None, None)
    sojourn("run", "--trust", "x")
    assert agent.opened["trusted"] is True
    done = sojourn("run", "x")
    assert "trust" not in done.err
    assert agent.opened["settings"].permissions.mode == "full"
    assert (agent.opened["settings"].output_style, agent.opened["settings"].model.default) == ("x", "a/b")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Standard input as a terminal at which somebody types."""
    master, slave = pty.openpty()
    stdin = os.fdopen(slave, "r")
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr("sojourn.surfaces.cli.asking.at_terminal", lambda: True)
    yield lambda text: os.write(master, text.encode()) and None
    stdin.close()
    os.close(master)


@pytest.mark.design("Y-6")
@pytest.mark.parametrize(("typed", "yes"), [("y\n", True), ("是\n", True), ("\n", False), ("n\n", False), ("maybe\n", False)])
def test_a_person_is_asked_for_trust_once(
    sojourn: Command, agent: type[FakeAgent], terminal: Callable[[str], None], typed: str, yes: bool
) -> None:
    terminal(typed)
    done = sojourn("run", "x")
    assert done.err.startswith(f"Trust {Path.cwd()}? ")
    assert agent.opened["trusted"] is yes
    assert isinstance(agent.opened["asker"], TerminalAsker)
    done = sojourn("run", "x")
    assert "Trust " not in done.err.replace("To trust", "")
    assert agent.opened["trusted"] is yes
    assert ("is not trusted" in done.err) is not yes


@pytest.mark.design("Y-6")
def test_a_question_shows_the_whole_call(home: Path) -> None:
    asked = Asked("bash", "execute", "git push \x1b[1A\n&& x" + "y" * 2_000, {}, "mode ask asks before commands")
    text = question(asked, "bash(git push *)")
    assert text.startswith("May bash run this? (mode ask asks before commands)\n  git push ␛[1A\n  && xyyy")
    assert "y" * 2_000 in text
    assert text.endswith("\n  always means: bash(git push *)\n")
    exact = Asked("bash", "execute", "rm x", {}, "r")
    assert question(exact, "bash(rm x)") == "May bash run this? (r)\n  rm x\n"
    assert "{'n': 1}" in question(Asked("odd", "execute", "", {"n": 1}, "r"), "odd")


@pytest.mark.design("Y-6")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [("y\n", "once"), ("A\n", "always"), ("n\n", "no"), ("\n", "no"), ("what\nno really\nyes\n", "once"), ("\x04", "no")],
)
def test_answers(
    home: Path, terminal: Callable[[str], None], capsys: pytest.CaptureFixture[str], typed: str, answer: str
) -> None:
    async def main() -> str:
        asker = TerminalAsker(Path.cwd())
        running_task = asyncio.ensure_future(asker(Asked("bash", "execute", "git push x", {}, "why")))
        for line in typed.splitlines(keepends=True):
            await asyncio.sleep(0.05)
            terminal(line)
        return await asyncio.wait_for(running_task, 20)

    assert asyncio.run(main()) == answer
    err = capsys.readouterr().err
    assert err.count("May bash run this?") == 1
    assert err.count("y = once") == (3 if typed.startswith("what") else 1)
    assert "always means: bash(git push *)" in err


@pytest.mark.design("Y-6")
def test_an_interrupt_while_a_question_stands_ends_the_waiting(home: Path, terminal: Callable[[str], None]) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(TerminalAsker(Path.cwd())(Asked("bash", "execute", "x", {}, "why")))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = threading.active_count()
    asyncio.run(main())
    terminal("late\n")  # lets the reading thread end; nobody hears it
    until = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.design("Y-6")
def test_refused_calls_are_listed_with_what_would_allow_them(sojourn: Command, agent: type[FakeAgent]) -> None:
    denied = "not run: mode ask asks before commands, and nobody is there to answer."
    agent.events = [
        OPENED,
        Called("c1", "bash", {"command": "npm test"}),
        Returned("c1", "bash", "denied", denied),
        Called("c2", "bash", {"command": "npm test"}),
        Returned("c2", "bash", "denied", denied),
        Called("c3", "write", {"path": "a.py", "content": ""}),
        Returned("c3", "write", "denied", "not run: x"),
        Called("c4", "bash", {"command": "ls"}),
        Returned("c4", "bash", "completed", "fine"),
        END,
    ]
    lines = sojourn("run", "--trust", "x").err.splitlines()
    at = lines.index("Not run (2):")
    assert lines[at + 1 :] == [
        f"  bash npm test: {denied}",
        "    to allow it: sojourn run --set 'permissions.allow=[\"bash(npm test *)\"]'",
        "  write a.py: not run: x",
        "    to allow it: sojourn run --mode accept-edits",
    ]
    assert "Not run" not in sojourn("run", "--output", "json", "x").out


@pytest.mark.design("Y-6")
@pytest.mark.parametrize(
    ("call", "mode", "trusted", "options"),
    [
        (Asked("bash", "execute", "ls", {}, ""), "ask", False, "--trust"),
        (
            Asked("bash", "execute", 'rm "x y"', {}, ""),
            "ask",
            True,
            """--set 'permissions.allow=["fetch", "bash(rm \\"x y\\")"]'""",
        ),
        (
            Asked("bash", "execute", "make", {}, ""),
            "ask",
            False,
            """--trust --set 'permissions.allow=["fetch", "bash(make)"]'""",
        ),
        (Asked("edit", "edit", "a.py", {"path": "a.py"}, ""), "ask", False, "--trust --mode accept-edits"),
        (Asked("bash", "execute", "make", {}, ""), "plan", True, ""),
        (Asked("bash", "execute", "deploy now", {}, ""), "ask", True, ""),
        (Asked("bash", "execute", "ask me", {}, ""), "ask", True, ""),
        (Asked("read", "read", "a.py", {"path": "a.py"}, ""), "ask", True, ""),
    ],
)
def test_the_fewest_options_that_help(tmp_path: Path, call: Asked, mode: str, trusted: bool, options: str) -> None:
    rules = Rules(allow=(parse_rule("fetch"),), deny=(parse_rule("bash(deploy *)"),), ask=(parse_rule("bash(ask *)"),))
    assert remedy(call, mode=mode, rules=rules, root=tmp_path, trusted=trusted, given=False) == options


@pytest.mark.design("Y-6")
def test_a_rare_tool_is_judged_as_itself(tmp_path: Path, home: Path) -> None:
    call = Called("c", "more", {"name": "deploy", "arguments": {"to": "x"}})
    lines = refused_lines([(call, "not run")], mode="ask", rules=Rules(), root=tmp_path, trusted=True, given=False)
    assert lines[2] == """    to allow it: sojourn run --set 'permissions.allow=["deploy"]'"""
    assert refused_lines([], mode="ask", rules=Rules(), root=tmp_path, trusted=True, given=False) == []


# --- the real thing --------------------------------------------------------------------------------------------------


def test_help_loads_no_sdk_no_engine_and_no_agent() -> None:
    loaded = modules_after(command("run", "--help"))
    assert "sojourn.surfaces.cli.commands.run" in loaded
    assert loaded.isdisjoint(
        {"anthropic", "openai", "google", "httpx", "httpx2", "apsw", "genai_prices", "pydantic", "PIL", "pathspec"}
    )
    assert not {
        name for name in loaded if name.startswith(("sojourn.engine", "sojourn.agent", "sojourn.models", "sojourn.tools"))
    }


def test_a_run_from_end_to_end(home: Path) -> None:
    Path("notes.txt").write_text("the gauge stands at seven\n")
    done = in_own_process(home, "run", "--model", "scripted", "--output", "json", "where is gauge?", stdin=subprocess.DEVNULL)
    assert done.code == 0, done.err
    kinds = [row["type"] for row in done.rows]
    assert (kinds[0], kinds[1], kinds[-1]) == ("session", "turn", "end")
    assert {"step", "text", "call", "result", "usage"} <= set(kinds)
    assert "".join(row["text"] for row in done.rows if row["type"] == "text").endswith(done.rows[-1]["text"])
    assert "is not trusted" in done.err
    again = in_own_process(home, "run", "--continue", "--model", "scripted", "and again", stdin=subprocess.DEVNULL)
    assert again.code == 0, again.err
    assert f"{done.rows[0]['session_id']} (continued)" in again.err
    shown = json.loads(in_own_process(home, "cost", "last", "--json").out)
    assert shown["session"] == done.rows[0]["session_id"]
    assert shown["totals"][0]["purpose"] == "main"
    assert len(shown["calls"]) > len([kind for kind in kinds if kind == "usage"])


def test_completion_offers_sessions(home: Path) -> None:
    words = {"_SOJOURN_COMPLETE": "bash_complete", "COMP_WORDS": "sojourn run --resume ", "COMP_CWORD": "3"}
    assert in_own_process(home, environ=words).out.split() == ["plain,last"]
    stored(home, Session(id="ses_a", title="one"), Session(id="ses_b"))
    offered = in_own_process(home, environ=words).out.split()
    assert offered[0] == "plain,last"
    assert sorted(offered[1:]) == ["plain,ses_a", "plain,ses_b"]
    narrow = {**words, "COMP_WORDS": "sojourn cost ses_b", "COMP_CWORD": "2"}
    assert in_own_process(home, environ=narrow).out.split() == ["plain,ses_b"]
