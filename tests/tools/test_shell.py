"""Commands: where they run, how they end, what is kept of them (Y-5)."""

import asyncio
import os
import re
import time
from pathlib import Path

import pytest

from sojourn.models.catalogue import providers
from sojourn.tools import Desk, bash, by_name, run, spool
from sojourn.tools.plain import plain
from sojourn.tools.shell import PROVIDER_KEYS, environment
from sojourn.tools.spool import Spool
from tools.desks import hands

pytestmark = pytest.mark.design("Y-5")


def alive(pid: int) -> bool:
    """Whether the process runs: one that ended and was not collected yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        await asyncio.sleep(0.02)
    return False


def aged(text: str) -> str:
    return re.sub(r"\b\d+ s\]", "N s]", text)


async def written(path: Path) -> None:
    def there() -> bool:
        return path.exists() and path.read_text().endswith("\n")

    for _ in range(500):
        if there():
            return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "said", "error"),
    [
        ("echo hi", "hi", False),
        ("true", "(no output)", False),
        ("false", "[exit code 1]", True),
        ("echo out; echo err >&2; exit 3", "out\nerr\n[exit code 3]", True),
        ("kill -9 $$", "[ended by signal 9]", True),
        ("cat", "(no output)", False),
        ("printf '\\033[31mred\\033[0m\\n 10%%\\r 20%%\\rdone\\n'", "red\ndone", False),
        ("printf 'a\\0b'", "a\ufffdb", False),
        ("printf '\\xe4\\xb8'", "\ufffd", False),
        ("echo '中文 路'", "中文 路", False),
        ("  ", "command is empty.\nGive a command, or the id of a background job.", True),
        ("echo a\0b", "command holds a NUL character.\nLeave it out.", True),
        ("for i in 1 2; do\n  echo $i\ndone # end", "1\n2", False),
        ("cat <<'X'\n$a\nX", "$a", False),
    ],
)
def test_output_and_exit_code(tmp_path: Path, command: str, said: str, error: bool) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            outcome = await do("bash", command=command)
            assert (outcome.text, outcome.error, outcome.touches) == (said, error, ())
            assert do.desk.shell.jobs == {}

    asyncio.run(main())


def test_the_folder_is_kept_and_variables_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash, "_EARLY", 20.0)

    async def main() -> None:
        (tmp_path / "a b" / "中").mkdir(parents=True)
        async with hands(tmp_path) as do:
            assert await do.good("bash", command="pwd") == str(tmp_path)
            assert await do.good("bash", command="cd 'a b'; X=1") == f"[now in {tmp_path}/a b]"
            assert await do.good("bash", command="pwd; echo $X; (cd /)") == f"{tmp_path}/a b"
            assert await do.bad("bash", command="cd 中; exit 2") == f"[now in {tmp_path}/a b/中]\n[exit code 2]"
            assert await do.good("bash", command="pwd", background=True) == f"{tmp_path}/a b/中\n[exit code 0]"
            await do.good("bash", command="cd /", background=True)
            assert await do.good("bash", command="pwd") == f"{tmp_path}/a b/中"
            await do.good("bash", command="rmdir ../中")
            assert await do.good("bash", command="pwd") == (f"{tmp_path}\n[{tmp_path}/a b/中 is gone: back in {tmp_path}]")
            # Files are named from the root, wherever the shell stands.
            await do.good("bash", command="cd /")
            (tmp_path / "f").write_text("x")
            assert await do.good("read", path="f") == "x"

    asyncio.run(main())


def test_provider_keys_are_not_told_to_commands(tmp_path: Path) -> None:
    async def main() -> None:
        environ = dict(os.environ) | {
            "ANTHROPIC_API_KEY": "sk-1",
            "openai_api_key": "sk-2",
            "MY_TOKEN": "kept",
            "TERM": "xterm",
        }
        async with hands(tmp_path, environ=environ) as do:
            said = await do.good("bash", command="env")
            assert "sk-1" not in said
            assert "sk-2" not in said
            lines = said.split("\n")
            assert {"MY_TOKEN=kept", "TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"} <= {
                *lines
            }

    asyncio.run(main())


def test_every_variable_that_the_catalogue_names_as_a_key_is_one_of_them() -> None:
    named = {name for provider in providers() for name in provider.keys}
    assert len(named) > 12
    assert named <= set(PROVIDER_KEYS), named - set(PROVIDER_KEYS)
    assert all(environment({name: "k", name.lower(): "k"}).keys().isdisjoint({name, name.lower()}) for name in named)


def test_without_bash_it_is_sh(tmp_path: Path) -> None:
    async def main() -> None:
        programs = tmp_path / "bin"
        programs.mkdir()
        os.symlink("/bin/sh", programs / "sh")
        async with hands(tmp_path, environ={"PATH": str(programs)}) as do:
            assert await do.good("bash", command="echo $0; cd bin") == f"{programs}/sh\n[now in {programs}]"
            assert await do.good("bash", command="pwd") == str(programs)
        async with hands(tmp_path, environ={"PATH": str(tmp_path)}) as do:
            assert await do.good("bash", command="echo $0") == "/bin/sh"

    asyncio.run(main())


# --- ending -------------------------------------------------------------------------------------------------------


def test_a_command_that_takes_too_long_is_ended_with_its_children_and_its_output_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path, timeout=1) as do:
            start = time.monotonic()
            said = await do.bad("bash", command="sleep 60 & echo $! $$; sleep 60")
            assert 1 <= time.monotonic() - start < 30
            child, own = map(int, said.split("\n")[0].split())
            assert said.split("\n")[1:] == ["[stopped after 1 s; for more time set timeout, or background]"]
            assert await gone(child)
            assert await gone(own)
            assert do.desk.shell.jobs == {}
            # Its own time counts, not the desk's.
            assert await do.good("bash", command="sleep 1.2; echo done", timeout=30) == "done"

    asyncio.run(main())


def test_one_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            command = "trap 'echo not yet' TERM; echo $$; while true; do sleep 0.05; done"
            said = await do.bad("bash", command=command, timeout=1)
            pid, *rest = said.split("\n")
            # Bash tells of the child that it lost.
            assert [line for line in rest if line != "Terminated"] == [
                "not yet",
                "[stopped after 1 s; for more time set timeout, or background]",
            ]
            assert await gone(int(pid))

    asyncio.run(main())


@pytest.mark.parametrize("background", [False, True])
def test_a_cancelled_call_takes_its_processes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: bool) -> None:
    monkeypatch.setattr(bash, "_EARLY", 60.0)

    async def main() -> None:
        async with hands(tmp_path) as do:
            command = "sleep 60 & echo $! $$ > pids; sleep 60"
            task = asyncio.create_task(do("bash", command=command, background=background))
            await written(tmp_path / "pids")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            for pid in (tmp_path / "pids").read_text().split():
                assert await gone(int(pid))
            assert do.desk.shell.jobs == {}

    asyncio.run(main())


def test_closing_the_desk_ends_all_jobs_and_removes_its_files(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk(tmp_path)
        await desk.close()  # nothing to do yet
        for command in ("echo $$; exec sleep 60", "trap '' TERM; echo $$; while true; do sleep 0.05; done"):
            await run(by_name["bash"], {"command": f"({command}) > pid{len(desk.shell.jobs)}", "background": True}, desk)
        await run(by_name["bash"], {"command": "sleep 60 > log 2>&1 & echo $! > pid2"}, desk)
        assert list(desk.shell.jobs) == [1, 2, 3]
        folder = desk.shell._folder
        assert folder is not None
        assert folder.is_dir()
        for number in range(3):
            await written(tmp_path / f"pid{number}")
        pids = [int((tmp_path / f"pid{number}").read_text()) for number in range(3)]
        assert all(alive(pid) for pid in pids)
        start = time.monotonic()
        await desk.close()
        assert time.monotonic() - start < 20
        for pid in pids:
            assert await gone(pid)
        assert desk.shell.jobs == {}
        assert not folder.exists()

    asyncio.run(main())


# --- background ---------------------------------------------------------------------------------------------------


def test_a_job_is_started_looked_at_and_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            command = "echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 4"
            said = await do.good("bash", command=command, background=True)
            assert said.removeprefix("one\n") == "[job 1 runs; look at it with id 1]"
            while not said.startswith("one\n"):
                said = await do.good("bash", id=1)
            assert aged(await do.good("bash", id=1)) == "[job 1 still runs, N s]"
            assert await do.bad("bash", id=2) == "There is no job 2.\nJobs: 1. One that ended is told once."
            (tmp_path / "go").write_text("")
            assert await do.bad("bash", id="1", timeout=30) == "two\n[exit code 4]"
            assert await do.bad("bash", id=1) == "There is no job 1.\nJobs: none. One that ended is told once."
            assert await do.bad("bash", id=1, command="ls") == (
                "command and id were both given.\nGive command to run something, or id to look at a job."
            )

    asyncio.run(main())


def test_a_job_that_fails_at_once_says_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash, "_EARLY", 20.0)

    async def main() -> None:
        async with hands(tmp_path) as do:
            said = await do.bad("bash", command="no_such_program", background=True)
            assert said.endswith("[exit code 127]")
            assert "no_such_program" in said
            assert do.desk.shell.jobs == {}

    asyncio.run(main())


def test_a_job_is_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            command = "echo $$; trap 'echo bye; exit' TERM; while true; do sleep 0.02; done"
            await do.good("bash", command=command, background=True)
            job = do.desk.shell.jobs[1]
            outcome = await do("bash", id=1, stop=True)
            assert aged(outcome.text).removeprefix("Terminated\n") == "bye\n[job 1 stopped after N s]"
            assert not outcome.error
            assert not job.running
            await do.good("bash", command="until [ -e go ]; do sleep 0.02; done; echo x", background=True)
            (tmp_path / "go").write_text("")
            while do.desk.shell.jobs[2].running:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert await do.good("bash", id=2, stop=True) == "x\n[exit code 0]"

    asyncio.run(main())


@pytest.mark.parametrize("redirected", ["", " > log 2>&1"])
def test_what_a_command_leaves_running_becomes_a_job(tmp_path: Path, redirected: str) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            late = "until [ -e go ]; do sleep 0.02; done; echo late; sleep 60"
            start = time.monotonic()
            said = await do.good("bash", command=f"({late}){redirected} & echo $!")
            assert time.monotonic() - start < 30
            pid, note = said.split("\n")
            assert note == "[it left processes running: job 1]"
            (tmp_path / "go").write_text("")
            said = aged(await do.good("bash", id=1, timeout=1))
            while not redirected and not said.startswith("late\n"):
                said = aged(await do.good("bash", id=1))
            assert said == ("[job 1 still runs, N s]" if redirected else "late\n[job 1 still runs, N s]")
            assert aged(await do.good("bash", id=1, stop=True)) == "[job 1 stopped after N s]"
            assert await gone(int(pid))

    asyncio.run(main())


def test_two_commands_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            start = time.monotonic()
            texts = await asyncio.gather(*(do.good("bash", command=f"sleep 3; echo {n}") for n in range(3)))
            assert texts == ["0", "1", "2"]
            assert time.monotonic() - start < 8

    asyncio.run(main())


# --- large output -------------------------------------------------------------------------------------------------


def test_output_beyond_memory_keeps_its_ends_and_the_rest_in_a_file(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            said = await do.good("bash", command="seq 1 2000000", timeout=60)
            whole = "\n".join(map(str, range(1, 2_000_001))) + "\n"
            half = 4 << 20
            head, line, tail = said[:half], said[half:].split("\n")[1], said[-half + 1 :]
            assert head == whole[:half]
            assert tail == whole[-half:].rstrip("\n")
            left_out = len(whole) - 2 * half
            assert line.startswith(f"[... {left_out:,} bytes left out; all of the output: ")
            files.append(Path(line.partition("output: ")[2].removesuffix(" ...]")))
            assert await asyncio.to_thread(files[0].read_text) == whole

    files: list[Path] = []
    asyncio.run(main())
    assert not files[0].exists()


@pytest.mark.parametrize(("size", "left_out"), [(100, 0), (101, 1), (160, 60), (350, 250)])
def test_the_spool_at_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, left_out: int) -> None:
    monkeypatch.setattr(spool, "MEMORY_MOST", 100)
    monkeypatch.setattr(spool, "_END", 50)
    monkeypatch.setattr(spool, "FILE_MOST", 300)
    data = bytes(32 + index % 90 for index in range(size))
    for step in (1, 7, 50, 64, 400):
        kept = Spool(lambda: tmp_path / "out")
        for _ in range(2):  # it is as new after each taking
            for start in range(0, size, step):
                kept.add(data[start : start + step])
            text = kept.take(final=False)
            if not left_out:
                assert text == data.decode()
                continue
            what = "all" if size <= 300 else "the first 300 bytes"
            where = f"{what} of the output: {tmp_path}/out"
            assert text == f"{data[:50].decode()}\n[... {left_out} bytes left out; {where} ...]\n{data[-50:].decode()}"
            assert (tmp_path / "out").read_bytes() == data[:300]
        assert kept.take(final=True) == ""


def test_a_spool_without_disk_still_keeps_the_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MEMORY_MOST", 10)
    monkeypatch.setattr(spool, "_END", 5)
    kept = Spool(lambda: tmp_path / "no" / "folder")
    kept.add(b"0123456789abcdef")
    assert kept.take(final=True) == "01234\n[... 6 bytes left out; they could not be kept on disk ...]\nbcdef"


def test_a_character_cut_by_a_look_is_whole_in_the_next(tmp_path: Path) -> None:
    kept = Spool(lambda: tmp_path / "out")
    kept.add("中".encode()[:2])
    assert kept.take(final=False) == ""
    kept.add("中".encode()[2:])
    assert kept.take(final=True) == "中"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\x1b[1;31mred\x1b[m \x1b[38;5;1mx\x1b[K", "red x"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b(Ba\x1b=b\x1bMc", "abc"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("1%\r2%\r\n3%\r4%", "2%\n4%"),
        ("no escape [31m", "no escape [31m"),
    ],
)
def test_plain_text(text: str, clean: str) -> None:
    assert plain(text) == clean


def test_an_endless_talker_does_not_hold_up_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.01)

            ticker = asyncio.create_task(tick())
            said = await do.bad("bash", command="yes", timeout=1)
            ticker.cancel()
            assert said.startswith("y\ny\n")
            assert said.endswith("[stopped after 1 s; for more time set timeout, or background]")
            assert ticks > 3

    asyncio.run(main())


def test_the_schema_bounds_the_timeout(tmp_path: Path) -> None:
    async def main() -> None:
        async with hands(tmp_path) as do:
            for seconds in (0, bash.TIMEOUT_MOST + 1):
                assert "`timeout` must be" in await do.bad("bash", command="true", timeout=seconds)
            assert await do.good("bash", command="true", timeout=bash.TIMEOUT_MOST) == "(no output)"
            said = await do.bad("bash", command=f"echo {'x' * 200_000}")
            assert said.startswith("Argument list too long")
            assert said.endswith("\nThe command is too long: write it to a file and run that.")
            assert do.desk.shell.jobs == {}

    asyncio.run(main())
