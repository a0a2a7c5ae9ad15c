"""The reminders' words, one Markdown file a kind."""

from functools import cache
from importlib.resources import files


@cache
def template(name: str) -> str:
    """The text of ``<name>.md`` in this folder, without the line break at its end; ``{fields}`` are filled in by bodies."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").rstrip("\n")
