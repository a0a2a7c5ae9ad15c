"""What an opening says elsewhere already is no item of the checkpoint beside it (W-3: nothing stands twice)."""

from collections.abc import Sequence

from sojourn.base import Item, Section

_LEAST_QUOTED = 12
"""Characters: something shorter may stand in the user's words by chance."""


def not_in_working_set(items: Sequence[Item], working_set: str) -> tuple[Item, ...]:
    """The items without the lines that extraction made of files which the working set shows as well."""
    names = {line[2:].partition(" (")[0] for line in working_set.split("\n") if line.startswith("- ")}
    return tuple(item for item in items if not (_is_found_file(item) and _stands(item.text, names)))


def not_in_user_words(items: Sequence[Item], shown: Sequence[str]) -> tuple[Item, ...]:
    """The items without those that only say again what the user's words say, as they are quoted in ``shown``."""
    quoted = (line[2:] for text in shown for line in text.split("\n") if line.startswith("> "))
    said = " ".join(" ".join(quoted).split())
    return tuple(item for item in items if len(item.text) < _LEAST_QUOTED or " ".join(item.text.split()) not in said)


def _is_found_file(item: Item) -> bool:
    return item.section is Section.FILES and item.by == "extractive" and item.text.startswith("`")


def _stands(text: str, names: set[str]) -> bool:
    """Whether the path that the line begins with is one of them, or ends in one."""
    path = text[1:].partition("`")[0]
    return path in names or any(path[index + 1 :] in names for index, sign in enumerate(path) if sign == "/")
