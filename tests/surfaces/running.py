"""The real command, run in this process (fast) or in one of its own, and small transcripts for it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sojourn.surfaces.cli.app import run


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[Any]:
        """Standard output as JSON, one document a line."""
        assert "\x1b" not in self.out
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def row(self) -> Any:
        (only,) = self.rows
        return only


Command = Callable[..., Ran]


def in_process(capfd: pytest.CaptureFixture[str]) -> Command:
    def sojourn(*arguments: object) -> Ran:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        sys.stdout.flush()
        return Ran(code, *capfd.readouterr())

    return sojourn


def started(home: Path, *arguments: object, **options: Any) -> "subprocess.Popen[bytes]":
    """The command in a process of its own."""
    environ = {**os.environ, "SOJOURN_HOME": str(home), **options.pop("environ", {})}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([sys.executable, "-m", "sojourn", *map(str, arguments)], env=environ, **pipes)


def in_own_process(home: Path, *arguments: object, **options: Any) -> Ran:
    process = started(home, *arguments, **options)
    out, err = process.communicate(timeout=120)
    return Ran(process.returncode, (out or b"").decode(errors="replace"), (err or b"").decode())


# --- transcripts (Claude Code lines) ------------------------------------------------------------------------------


def said(text: str, number: int, session: str = "s1") -> dict[str, Any]:
    return {
        "type": "user", "sessionId": session, "uuid": f"u{number}", "parentUuid": None, "cwd": "/repo",
        "timestamp": f"2026-01-02T03:{number // 60 % 60:02}:{number % 60:02}Z", "message": {"role": "user", "content": text},
    }  # fmt: skip


def answered(text: str, number: int, session: str = "s1") -> dict[str, Any]:
    message = {"id": f"m{number}", "role": "assistant", "model": "model-x", "content": [{"type": "text", "text": text}]}
    return {**said("", number, session), "type": "assistant", "uuid": f"a{number}", "message": message}


def talk(turns: int, session: str = "s1", words: str = "") -> list[dict[str, Any]]:
    """So many questions, each with its answer."""
    lines = []
    for turn in range(turns):
        lines.append(said(f"question {turn} of {session} {words}", 2 * turn, session))
        lines.append(answered(f"answer {turn} of {session} {words}", 2 * turn + 1, session))
    return lines


def put(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return path


LONG = " ".join(f"word{i % 97} gauge{i % 31}" for i in range(300))
"""About a thousand tokens: forty turns of it fill a window of 16K more than twice."""
