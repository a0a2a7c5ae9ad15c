"""The tools' descriptions, one Markdown file each: what a model reads in every request, so every word is paid for (P-8)."""

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """The text of ``<name>.md`` in this folder, without the line break at its end."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").rstrip("\n")
