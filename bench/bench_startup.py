"""How much processor time an import and the smallest commands take over a bare interpreter (S-1)."""

import os
import resource
import subprocess
import sys
import tempfile

from bench._row import Row


def run(quick: bool) -> list[Row]:
    """Milliseconds of processor time (user and system), the least of several runs, minus those of ``pass``."""
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "SOJOURN_HOME": home}
        bare = _least(["-c", "pass"], environ, rounds)
        rows = [Row("bare interpreter", bare, "ms", f"least of {rounds}; subtracted below")]
        for name, arguments, goal in (
            ("import sojourn", ["-c", "import sojourn"], "goal under 150"),
            ("sojourn --version", ["-m", "sojourn", "--version"], "goal under 150"),
            ("sojourn --help", ["-m", "sojourn", "--help"], ""),
            ("sojourn sessions (no record yet)", ["-m", "sojourn", "sessions"], ""),
            ("import sojourn; sojourn.Engine", ["-c", "import sojourn; sojourn.Engine"], ""),
        ):
            taken = _least(arguments, environ, rounds) - bare
            rows.append(Row(name, taken, "ms", f"{taken / bare:.1f} times a bare start" + (f"; {goal}" if goal else "")))
    return rows


def _least(arguments: list[str], environ: dict[str, str], rounds: int) -> float:
    return min(_processor_ms(arguments, environ) for _ in range(rounds))


def _processor_ms(arguments: list[str], environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environ, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1_000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
