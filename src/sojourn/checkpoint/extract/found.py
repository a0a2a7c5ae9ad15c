"""One thing found in the record, before the budget decides: it becomes an item (K-2)."""

import hashlib
import re
from collections.abc import Sequence

import msgspec

from sojourn.base import Item, Section
from sojourn.checkpoint.redact import redact

_PATH = re.compile(r"`([^`]+)`")
_SETS = re.compile(r"(`[^`]+`: )(?:[a-z]+ ){0,4}[\"']?([A-Za-z][\w.-]*)[\"']?\s*(?::[^:=]+=|:?=|:)")
_STATE = re.compile(r"(?:done|under way|remaining): ")


class Found(msgspec.Struct, frozen=True):
    """A candidate for a section."""

    section: Section
    text: str
    sources: tuple[int, ...]
    weight: float = 1.0
    group: str = ""
    """Members of one group stay or leave together (a rule and its correction)."""


def item_id(section: Section, text: str) -> str:
    """The same id for the same section and text, in every run: ``kn-3f9a01c2``."""
    digest = hashlib.sha256((section.value + "\n" + text).encode(errors="surrogatepass")).hexdigest()
    return f"{section.value[:2]}-{digest[:8]}"


def subject(section: Section, text: str) -> str:
    """What a line is about: a newer line about the same subject supersedes an older one.

    The file of a files line, the state a resources line tells, the step of a frontier line, the request of an intent, the value
    that a file sets; the text itself where a section has no such thing.
    """
    match section:
        case Section.FILES:
            found = _PATH.match(text)
            return found[1] if found else text
        case Section.RESOURCES | Section.INTENT:
            return text.split(": ", 1)[0]
        case Section.FRONTIER:
            return _STATE.sub("", text, count=1)
        case Section.ERRORS:
            return text.split(" -> ", 1)[0]
        case Section.KNOWLEDGE:
            found = _SETS.match(text)
            return found[1] + found[2] if found else text
        case Section.NEXT:
            return "next"
        case _:
            return text


def as_item(found: Found, written_seq: int) -> Item:
    """The item of a candidate."""
    return Item(
        id=item_id(found.section, found.text),
        section=found.section,
        text=found.text,
        sources=found.sources,
        written_seq=written_seq,
        weight=round(found.weight, 3),
    )


def cleaned(found: Sequence[Found]) -> list[Found]:
    """Redacted once more, empty ones left out: a line may have been put together from pieces."""
    found = [one for one in found if one.text.strip()]
    whole = "\n".join(one.text for one in found)
    if len(whole.lower()) == len(whole) and redact(whole) == whole:
        return found
    return [msgspec.structs.replace(one, text=redact(one.text)) for one in found]
