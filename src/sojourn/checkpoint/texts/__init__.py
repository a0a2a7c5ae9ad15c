"""What the writing model is told, one Markdown file each."""

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """The text of ``<name>.md`` in this folder, without the line break at its end; ``{fields}`` are filled in by prompt."""
    return files(__name__).joinpath(f"{name}.md").read_text("utf-8").rstrip("\n")
