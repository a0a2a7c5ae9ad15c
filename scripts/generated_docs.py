"""Writes the pages and pictures of docs/ that are made from the code."""

import asyncio
from pathlib import Path

from sojourn.config.docs import reference
from sojourn.lab.demo import demonstrate
from sojourn.lab.journey import svg

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    (ROOT / "docs" / "configuration.md").write_text(reference(), "utf-8")
    done = asyncio.run(demonstrate()).replay
    picture = svg(done.points, done.stays, "A day of work, 150,000 tokens, in 40,000", done.marks)
    (ROOT / "docs" / "journey.svg").write_text(picture, "utf-8")
