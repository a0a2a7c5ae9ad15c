"""A change of a whole text made as an edit of the part that differs (K-12): nobody's other lines are written over."""

from collections.abc import Callable

from sojourn.base import UserMistake, WorkFailed
from sojourn.memory.types import Document, Locator, MemoryStore, Who

_TRIES = 20


async def revise(store: MemoryStore, locator: Locator, change: Callable[[str], str], *, who: Who) -> Document | None:
    """The document after ``change`` (from the text that stands there, "" for none, to the new one); None = still none.

    The change is made anew on a newer text where somebody was faster. Raises what ``MemoryStore.edit`` raises.
    """
    present = await store.read(locator)
    for _ in range(_TRIES):
        text = present.text if present else ""
        wanted = change(text)
        if wanted == text:
            return present
        try:
            if not text.strip():
                return await store.append(locator, wanted, who=who)
            old, new = difference(text, wanted)
            return await store.edit(locator, old, new, who=who)
        except UserMistake:
            newer = await store.read(locator)
            if (newer.text if newer else "") == text:
                raise
            present = newer
    raise WorkFailed(f"{locator.key} is being changed all the time", next_step="Try again when the others have ended.")


def difference(before: str, after: str) -> tuple[str, str]:
    """(old, new): the lines that differ, with as many around them as it takes for ``old`` to stand in ``before`` once."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    while True:
        passage = "".join(old[start : len(old) - end])
        if passage and before.find(passage) == before.rfind(passage):
            return passage, "".join(new[start : len(new) - end])
        start, end = max(start - 1, 0), max(end - 1, 0)
