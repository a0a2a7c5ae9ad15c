"""Several processes, and processes that are killed (Y-2, report 80)."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.shelf import MEMORY, NOTES, session
from sojourn.memory import layout, path_of, versions

_APPENDS = """
import asyncio, sys
from pathlib import Path
from memory.shelf import MEMORY, session
async def main(root, name):
    store = session(Path(root))
    for number in range(100):
        await store.append(MEMORY, f"- {name} {number}", who="agent")
        print(number, flush=True)
asyncio.run(main(*sys.argv[1:]))
"""
_REWRITES = """
import asyncio, sys
from pathlib import Path
from memory.shelf import NOTES, session
async def main(root):
    store = session(Path(root))
    document = await store.read(NOTES)
    number = 0
    while True:
        text = f"{number:07}\\n" * 20_000
        document = await store.write(NOTES, text, who="agent", expected=document.sha if document else None)
        print(number, flush=True)
        number += 1
asyncio.run(main(sys.argv[1]))
"""
_SEARCHES = """
import asyncio, sys
from pathlib import Path
from memory.shelf import OWN, session
async def main(root):
    store = session(Path(root))
    for number in range(60):
        await store.search("fact", OWN)
        await store.entries(OWN)
asyncio.run(main(sys.argv[1]))
"""


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)


@pytest.mark.design("Y-2")
@pytest.mark.report(80)
def test_two_processes_append_100_entries_each(tmp_path: Path) -> None:
    both = [started(_APPENDS, tmp_path, name) for name in ("a", "b")]
    assert [process.communicate(timeout=120)[0].count("\n") for process in both] == [100, 100]
    text = path_of(tmp_path, MEMORY).read_text()
    entries = text.rstrip("\n").split("\n\n")
    assert sorted(entries) == sorted(f"- {name} {number}" for name in "ab" for number in range(100))
    for name in "ab":
        assert [entry for entry in entries if name in entry] == [f"- {name} {number}" for number in range(100)]
    kept = asyncio.run(session(tmp_path).versions(MEMORY))
    assert [version.text.count("- ") for version in kept] == list(range(199, 149, -1))


@pytest.mark.design("Y-2")
def test_killed_in_the_middle_it_is_old_or_new_never_half(tmp_path: Path) -> None:
    rng = random.Random(7)
    for _ in range(8):
        process = started(_REWRITES, tmp_path)
        assert process.stdout is not None
        process.stdout.readline()  # it is at work
        time.sleep(rng.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        said = process.communicate(timeout=30)[0].split()
        text = path_of(tmp_path, NOTES).read_text()
        lines = text.split("\n")
        assert len(lines) == 20_001
        assert set(lines[:-1]) == {lines[0]}
        assert int(lines[0]) >= int(said[-1] if said else 0)  # what it said was done is there
        begun = time.monotonic()
        document = asyncio.run(session(tmp_path).append(NOTES, "after", who="agent"))  # the lock is free
        assert time.monotonic() - begun < 5
        assert document.text == f"{text}\nafter\n"
        assert [path.name for path in path_of(tmp_path, NOTES).parent.iterdir()] == ["notes.md"]  # no leavings
        kept = asyncio.run(session(tmp_path).versions(NOTES))
        assert kept[0].text == text
        assert all(set(version.text.replace("\nafter\n", "").split()) <= {version.text[:7], "after"} for version in kept)
    assert len(list(versions.folder_of(tmp_path, layout.parts_of(NOTES)).iterdir())) <= versions.KEPT


@pytest.mark.design("Y-1")
def test_processes_search_while_another_writes(tmp_path: Path) -> None:
    asyncio.run(session(tmp_path).append(MEMORY, "- fact", who="agent"))
    processes = [started(_SEARCHES, tmp_path), started(_SEARCHES, tmp_path), started(_APPENDS, tmp_path, "fact")]
    for process in processes:
        process.communicate(timeout=120)
    assert [process.returncode for process in processes] == [0, 0, 0]
