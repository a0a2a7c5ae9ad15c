"""``sojourn undo``: windows and turns, files with them, both or neither (W-12)."""

import asyncio
import shutil
from pathlib import Path

import pytest

from sojourn.agent.turn_snapshots import Files
from sojourn.base import SystemClock
from sojourn.engine import Engine
from sojourn.record import Message, Session, Text, ToolCall
from sojourn.record.sqlite import SqliteStore
from surfaces.recorded import keep, window
from surfaces.running import Command

pytestmark = [
    pytest.mark.design("W-12", "C-13"),
    pytest.mark.report(109),
    pytest.mark.skipif(shutil.which("git") is None, reason="snapshots need git"),
]


@pytest.fixture
def worked(home: Path) -> Path:
    """Two turns in the working folder: the first makes a.txt and b.txt, the second changes a.txt, removes b.txt and adds
    c.txt. Answers the folder."""
    root = Path.cwd()

    async def main() -> None:
        (home / "data").mkdir(parents=True, mode=0o700)
        store = await SqliteStore.open(home / "data" / "sojourn.db", clock=SystemClock())
        session = Session(id="ses_one", title="files", cwd=str(root))
        async with await Engine.open(store=store, session=session) as engine:
            files = Files(home / "data", root)

            async def turn(words: str, changes: dict[str, str | None]) -> None:
                await engine.observe(Message(id="", role="user", origin="user", parts=(Text(words),)))
                await files.before_turn(engine)
                for name, text in changes.items():
                    root.joinpath(name).unlink() if text is None else root.joinpath(name).write_text(text)
                ran = ToolCall(call_id=words, name="bash", arguments={"command": "x"}, state="completed", result=(Text("ok"),))
                await engine.observe(Message(id="", role="assistant", origin="model", parts=(ran,)))
                await engine.observe(Message(id="", role="assistant", origin="model", parts=(Text("done"),)))
                await files.after_turn(engine)

            await turn("make the first files", {"a.txt": "one\n", "b.txt": "bee\n"})
            await turn("now change\nthem", {"a.txt": "two\n", "b.txt": None, "c.txt": "sea\n"})
        await store.close()

    asyncio.run(main())
    return root


def held(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(root.iterdir())}


def seqs(sojourn: Command) -> list[int]:
    return [message["seq"] for message in sojourn("show", "ses_one", "--json").row["messages"]]


SECOND = {"a.txt": "two\n", "c.txt": "sea\n"}
FIRST = {"a.txt": "one\n", "b.txt": "bee\n"}


def test_a_turn_takes_its_files_with_it_and_redo_brings_them_back(sojourn: Command, worked: Path) -> None:
    assert held(worked) == SECOND
    done = sojourn("undo", "ses_one")
    assert done.code == 0
    first, *lines = done.out.splitlines()
    assert first.startswith("Taken back: the turn at message 4. The view holds ")
    assert lines == [
        "  It began: now change them",
        "  files put back (2): a.txt, b.txt",
        "  files removed (1): c.txt",
    ]
    assert done.err == "It comes back, until the next message, with: sojourn undo --redo ses_one\n"
    assert (held(worked), seqs(sojourn)) == (FIRST, [1, 2, 3])
    row = sojourn("undo", "--redo", "ses_one", "--json").row
    assert (row["session"], row["kind"], row["restored"], row["removed"]) == ("ses_one", "turn", ["a.txt", "c.txt"], ["b.txt"])
    assert {"what", "prompt", "level", "over_hard", "forced", "left", "steps"} <= set(row)
    assert (held(worked), seqs(sojourn)) == (SECOND, [1, 2, 3, 4, 5, 6])
    assert sojourn("undo", "--redo", "ses_one").code == 2


def test_to_a_message_takes_back_every_turn_since(sojourn: Command, worked: Path) -> None:
    done = sojourn("undo", "ses_one", "--to", "m1")
    first, *lines = done.out.splitlines()
    assert first.startswith("Taken back: 2 turns, back to before message 1.")
    assert lines[0] == "  It began: make the first files"
    assert (held(worked), seqs(sojourn)) == ({}, [])


@pytest.mark.design("S-9")
def test_what_was_taken_back_is_told_in_the_persons_language(sojourn: Command, worked: Path, home: Path) -> None:
    chinese = ("--set", "language=zh", "--no-files")
    assert sojourn("undo", "ses_one", *chinese).out.startswith("已撤销：从消息 4 开始的一轮。")
    assert sojourn("undo", "--redo", "ses_one").out.startswith("Taken back: the undo of the turn at message 4. ")
    assert sojourn("undo", "ses_one", "--to", "m4", *chinese).out.startswith("已撤销：1 轮，回到消息 4 之前。")
    assert sojourn("undo", "--redo", "ses_one", *chinese).out.startswith("已撤销：对从消息 4 开始的一轮的撤销。")
    assert sojourn("undo", "ses_one", "--to", "m4").out.startswith("Taken back: 1 turn, back to before message 4.")
    keep(home, Session(id="ses_one"), window(1, 6, digest=1))
    assert sojourn("undo", "ses_one").out.startswith("Taken back: window 1. ")
    assert sojourn("undo", "--redo", "ses_one").out.startswith("Taken back: the undo of window 1. ")


def test_files_can_be_left_alone(sojourn: Command, worked: Path) -> None:
    done = sojourn("undo", "ses_one", "--no-files")
    assert len(done.out.splitlines()) == 2
    assert (held(worked), seqs(sojourn)) == (SECOND, [1, 2, 3])
    assert sojourn("undo", "--redo", "--no-files", "ses_one").code == 0
    assert (held(worked), seqs(sojourn)) == (SECOND, [1, 2, 3, 4, 5, 6])
    assert sojourn("undo", "ses_one", "--to", 4, "--no-files").code == 0
    assert (held(worked), seqs(sojourn)) == (SECOND, [1, 2, 3])


def test_a_file_changed_since_stops_it_unless_forced(sojourn: Command, worked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (worked / "a.txt").write_text("mine\n")
    done = sojourn("undo", "ses_one")
    assert (done.code, done.out) == (1, "")
    assert "a.txt" in done.err
    assert "--force takes them back all the same, --no-files leaves files alone." in done.err
    assert (held(worked), seqs(sojourn)) == ({**SECOND, "a.txt": "mine\n"}, [1, 2, 3, 4, 5, 6])
    asked: list[str] = []

    async def no(question: str) -> bool:
        asked.append(question)
        return False

    monkeypatch.setattr("sojourn.surfaces.cli.commands.undo.at_terminal", lambda: True)
    monkeypatch.setattr("sojourn.surfaces.cli.commands.undo.says_yes", no)
    refused = sojourn("undo", "ses_one", "--force")
    assert (refused.code, refused.err) == (
        2,
        "sojourn: nothing was done: the answer was no\n  Run it again to be asked once more.\n",
    )
    assert len(asked) == 1
    assert held(worked)["a.txt"] == "mine\n"
    assert sojourn("undo", "ses_one").code == 1, "without --force nobody is asked"
    assert len(asked) == 1
    monkeypatch.setattr("sojourn.surfaces.cli.commands.undo.at_terminal", lambda: False)
    forced = sojourn("undo", "ses_one", "--force")
    assert forced.code == 0
    assert "  of these, changed since and taken back by force: a.txt\n" in forced.out
    assert (held(worked), seqs(sojourn), len(asked)) == (FIRST, [1, 2, 3], 1)


def test_mistakes(sojourn: Command, worked: Path) -> None:
    for options in (["--redo", "--to", "m1"], ["--force", "--no-files"]):
        done = sojourn("undo", "ses_one", *options)
        assert (done.code, done.err.splitlines()[0]) == (
            2,
            "sojourn: --redo and --to, or --force and --no-files, contradict each other",
        )
    for to in ("m2", "m40"):
        done = sojourn("undo", "ses_one", "--to", to)
        assert (done.code, "no turn in view begins with message" in done.err) == (2, True)
    assert sojourn("undo", "ses_one", "--to", "x").err.startswith("sojourn: 'x' is no message's number")
    assert (held(worked), seqs(sojourn)) == (SECOND, [1, 2, 3, 4, 5, 6])


def test_many_files_are_counted(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from sojourn.agent.undoing import UndoneTurn
    from sojourn.surfaces.cli.commands.undo import _tell

    names = tuple(f"f{number:02}" for number in range(22))
    _tell(UndoneTurn("turn", "the turn", "", 5, False, (), restored=names[:20], removed=names, left=("big\nname",)), "the turn")
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "Taken back: the turn. The view holds 5 tokens.",
        f"  files put back (20): {', '.join(names[:20])}",
        f"  files removed (22): {', '.join(names[:20])}, and 2 more",
    ]
    assert err == "  left as they are, no snapshot holds them: big name\n"
