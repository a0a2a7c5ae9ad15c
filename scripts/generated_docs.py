"""Writes the pages of docs/ that are made from the code."""

from pathlib import Path

from sojourn.config.docs import reference

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    (ROOT / "docs" / "configuration.md").write_text(reference(), "utf-8")
