"""The continuity table of docs/benchmarks.md: what later work needed and still found in view, per strategy (T-6).

Usage: ``python scripts/continuity_table.py FOLDER [WINDOW ...]`` (a folder with transcripts; windows such as 32K 64K).
Files that fit into one window, or that no importer reads, are left out. Deterministic.
"""

import asyncio
import sys
from pathlib import Path

from sojourn.base import SojournError, parse_quantity
from sojourn.lab.replay import Kept, replay
from sojourn.lab.report import read_transcript

STRATEGIES = ("sojourn", "drop_oldest", "keep_last", "clear_results")


def row(name: str, window: str, windows: int, kept: dict[str, Kept]) -> str:
    """One line of the table."""
    cells = ["-" if kept[one].recall is None else f"{kept[one].recall:.2f}" for one in STRATEGIES]
    asked = kept["sojourn"].asked
    tokens = kept["sojourn"].opening_tokens // max(1, windows)
    return f"| {name} | {window} | {windows} | {asked} | {tokens:,} | {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    folder, *windows = arguments
    sizes = windows or ["32K", "64K", "128K"]
    head = "| transcript | window | boundaries | needed | tokens in view after | " + " | ".join(STRATEGIES) + " |"
    print(head + "\n|" + " --- |" * (head.count("|") - 1))
    sums: dict[tuple[str, str], list[int]] = {}
    boundaries: dict[str, int] = {}
    for path in sorted(path for path in Path(folder).rglob("*.json*") if path.name != "MANIFEST.json"):
        try:
            transcript = read_transcript(path)
        except SojournError:
            continue
        for size in sizes:
            done = asyncio.run(replay(transcript.messages, window=parse_quantity(size, key="window")))
            if not done.continuity or not done.continuity["sojourn"].asked:
                continue
            print(row(path.stem, size, len(done.windows) - 1, done.continuity))
            boundaries[size] = boundaries.get(size, 0) + len(done.windows) - 1
            for name, kept in done.continuity.items():
                total = sums.setdefault((size, name), [0, 0, 0])
                total[0] += kept.visible
                total[1] += kept.asked
                total[2] += kept.opening_tokens
    for size in boundaries:
        all_kept = {}
        for name in STRATEGIES:
            visible, asked, tokens = sums[size, name]
            all_kept[name] = Kept(visible / asked, asked, visible, tokens)
        print(row("**all**", size, boundaries[size], all_kept))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
