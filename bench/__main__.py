"""All benchmarks in one run: ``python -m bench [--quick] [--json] [NAME ...]``.

Each benchmark runs in a process of its own, so that the heap of one does not slow down the next; ratios compare things
measured by the same benchmark. A goal stands in a row's note ("goal under 50", "goal at least 10") and is judged here.
"""

import importlib
import json
import pkgutil
import re
import subprocess
import sys
import time
from pathlib import Path

import bench
from bench._row import Row

_GOAL = re.compile(r"\bgoal:? (under|at most|at least|over)? ?(\d[\d,]*(?:\.\d+)?)")
_HERE = Path(bench.__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """Runs the benchmarks named (all without names); a table, or a JSON line for each with ``--json``.

    Exit code 1 where a benchmark itself failed (its error is on stderr), 2 for a name that is none. A goal missed is
    said in the row, not by the exit code: a busy machine misses goals.
    """
    quick, as_json = "--quick" in arguments, "--json" in arguments
    asked = [argument for argument in arguments if not argument.startswith("--")]
    names = sorted(m.name.removeprefix("bench_") for m in pkgutil.iter_modules([str(_HERE)]) if m.name.startswith("bench_"))
    unknown = [name for name in asked if name not in names]
    if unknown:
        print(f"no such benchmark: {' '.join(unknown)}; there are: {' '.join(names)}", file=sys.stderr)
        return 2
    failed, missed, met = [], 0, 0
    for name in asked or names:
        started = time.perf_counter()
        rows = _rows(name, quick)
        if rows is None:
            failed.append(name)
            continue
        verdicts = [goal_met(row) for row in rows]
        met, missed = met + verdicts.count(True), missed + verdicts.count(False)
        if as_json:
            lines = [{**row._asdict(), "goal_met": verdict} for row, verdict in zip(rows, verdicts, strict=True)]
            print(json.dumps({"bench": name, "quick": quick, "rows": lines}), flush=True)
            continue
        print(f"\n{name}  ({time.perf_counter() - started:.1f} s)")
        for row, verdict in zip(rows, verdicts, strict=True):
            said = "" if verdict is None else "  [met]" if verdict else "  [MISSED]"
            print(f"  {row.name:<62} {row.value:>12,.2f} {row.unit:<10} {row.note}{said}", flush=True)
    if not as_json:
        print(f"\n{met} goals met, {missed} missed" + (f"; failed: {' '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def goal_met(row: Row) -> bool | None:
    """Whether the value keeps the goal that the note names; None = the note names none. Without a word: at most."""
    found = _GOAL.search(row.note)
    if found is None:
        return None
    goal = float(found[2].replace(",", ""))
    match found[1]:
        case "at least":
            return row.value >= goal
        case "over":
            return row.value > goal
        case "under":
            return row.value < goal
        case _:
            return row.value <= goal


def _rows(name: str, quick: bool) -> list[Row] | None:
    """What the benchmark measured; None where it failed."""
    code = "import sys; from bench.__main__ import measured; measured(sys.argv[1], sys.argv[2] == 'quick')"
    child = [sys.executable, "-c", code, name, "quick" if quick else "full"]
    answer = subprocess.run(child, stdout=subprocess.PIPE, text=True, cwd=_HERE.parent, check=False)
    if answer.returncode:
        print(f"{name}: the benchmark failed (exit code {answer.returncode})", file=sys.stderr)
        return None
    return [Row(**row) for row in json.loads(answer.stdout.splitlines()[-1])]


def measured(name: str, quick: bool) -> None:
    """In the child: one benchmark, its rows as the last line of stdout."""
    rows = importlib.import_module(f"bench.bench_{name}").run(quick)
    print(json.dumps([row._asdict() for row in rows]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
