"""Speed and memory of an import (R-14): megabytes a second, and the peak of memory for a file ten times as long."""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench._row import Row

_CHILD = """
import resource, sys, time
from sojourn.importers import Done, read
begun = time.process_time()
for record in read(sys.argv[1]):
    pass
spent = time.process_time() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert isinstance(record, Done)
print(spent, peak * (1 if sys.platform == "darwin" else 1024), record.counts.messages)
"""


def run(quick: bool) -> list[Row]:
    """MB/s on a generated Claude Code file, and peak memory of one and of one ten times as long."""
    small, large = (5, 50) if quick else (50, 500)
    with tempfile.TemporaryDirectory() as folder:
        rates: dict[int, float] = {}
        peaks: dict[int, float] = {}
        for size in (small, large):
            path = Path(folder) / f"session-{size}.jsonl"
            write_session(path, size * 1_000_000)
            rates[size], peaks[size] = _measure(path)
    ratio = peaks[large] / peaks[small]
    return [
        Row("import.claude_code.speed", rates[large], "MB/s", f"{large} MB file, processor time"),
        Row("import.claude_code.memory", peaks[large] / 1e6, "MB", f"peak for {large} MB"),
        Row("import.claude_code.memory_ratio", ratio, "x", f"peak for {large} MB over peak for {small} MB: 1 = flat"),
    ]


def _measure(path: Path) -> tuple[float, float]:
    """``(MB/s, peak bytes)`` of one import in a process of its own."""
    answer = subprocess.run([sys.executable, "-c", _CHILD, str(path)], check=True, capture_output=True, text=True)
    spent, peak, messages = answer.stdout.split()
    if int(messages) == 0:
        raise AssertionError(f"nothing was imported from {path.name}")
    return path.stat().st_size / 1e6 / float(spent), float(peak)


def write_session(path: Path, size: int) -> None:
    """A session of at least ``size`` bytes in the proportions of real ones: prompts, thinking, calls, results."""
    rng = random.Random(7)
    words = [f"word{n}" for n in range(400)]
    written = turn = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < size:
            for line in _turn(turn, rng, words):
                written += file.write(json.dumps(line) + "\n")
            turn += 1


def _turn(turn: int, rng: random.Random, words: list[str]) -> list[dict[str, object]]:
    def text(count: int) -> str:
        return " ".join(rng.choices(words, k=count))

    shared = {"sessionId": "bench", "cwd": "/repo", "version": "2.0.0", "isSidechain": False, "gitBranch": "main"}
    stamp = f"2026-01-{turn // 1440 % 28 + 1:02}T{turn // 60 % 24:02}:{turn % 60:02}:00.000Z"
    lines: list[dict[str, object]] = []

    def add(kind: str, **fields: object) -> None:
        lines.append({**shared, "type": kind, "uuid": f"u{turn}-{len(lines)}", "timestamp": stamp, **fields})

    add("user", message={"role": "user", "content": text(30)})
    for step in range(4):
        call = f"toolu_{turn}_{step}"
        message = {"id": f"msg_{turn}_{step}", "role": "assistant", "model": "claude", "usage": {"input_tokens": 9}}
        add("assistant", message={**message, "content": [{"type": "thinking", "thinking": text(60), "signature": "s"}]})
        add("assistant", message={**message, "content": [{"type": "text", "text": text(40)}]})
        use = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": f"/repo/{step}.py"}}
        add("assistant", message={**message, "content": [use]})
        output = text(500)
        result = {"type": "tool_result", "tool_use_id": call, "content": output}
        add("user", message={"role": "user", "content": [result]}, toolUseResult={"stdout": output})
        add("progress", data={"type": "bash_progress", "output": text(20)})
    return lines
