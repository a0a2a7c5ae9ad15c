"""From a model's reply to operations on the items, a line each (K-3).

Everything else in the reply is ignored: what a model says around them, stories, JSON, calls written as text. Weak models
answer with Markdown: bullets under a section's heading are additions.
"""

import re
from collections.abc import Iterator

import msgspec

from sojourn.base import ItemStatus, Section, unescape_reminders
from sojourn.checkpoint.naming import section_named

MOST_CHARACTERS = 200_000
"""Of a reply; what comes after them is cut."""


class Add(msgspec.Struct, frozen=True):
    """``+ knowledge: text``; ``^ knowledge: text`` where it is worth keeping for the project (K-12)."""

    section: Section
    text: str
    sources: tuple[int, ...] = ()
    durable: bool = False


class Replace(msgspec.Struct, frozen=True):
    """``= <id>: text``."""

    id: str
    text: str
    sources: tuple[int, ...] = ()
    section: Section | None = None
    """Where it stands from now on; None = where it stood."""


class Close(msgspec.Struct, frozen=True):
    """``x <id>``, ``x <id> superseded``."""

    id: str
    status: ItemStatus = ItemStatus.DONE


class Promote(msgspec.Struct, frozen=True):
    """``^ <id>``: proven durable (K-12)."""

    id: str


class Read(msgspec.Struct, frozen=True):
    """``? m12-m20``: messages from the first to the last, as far as there are any."""

    first: int
    last: int


class Search(msgspec.Struct, frozen=True):
    """``? words``."""

    words: str


class Refused(msgspec.Struct, frozen=True):
    """A line that looks like an operation and is none."""

    line: str
    """Its first 200 characters."""
    reason: str


Operation = Add | Replace | Close | Promote
LookUp = Read | Search

_SHOWN = 200
_DEEPEST = 6
"""Level of a heading that is no Markdown heading: any of these ends its section."""
_BLOCK = re.compile(
    r"^[ \t]*<((?:think(?:ing)?|reasoning|tool_calls?|function_calls?|tool_use|invoke|function)\b)[^<>\n]*>", re.M | re.I
)
"""Thoughts and calls written as text: what stands in them is said to nobody."""
_THOUGHT_ENDS = re.compile(r"^[ \t]*</think(?:ing)?>[ \t]*$", re.M | re.I)
"""Some servers cut off the tag that begins the thoughts."""
_LEAD = re.compile(r"(?:[-*•·]|\d{1,3}[.)、])[ \t]+(?=[+＋=＝xX×✗✘^＾?？][ \t\[［a-z])")
_BULLET = re.compile(r"(?:[-*+•·–—]|\d{1,3}[.)、])[ \t]+(.*)")
_HEADING = re.compile(r"(#{1,6})[ \t]*(.*)")
_EMPHASISED = re.compile(r"(?:[-*•][ \t]+)?((?:\d{1,2}[.)、][ \t]*)?(?:\*\*|__)[^*_]+(?:\*\*|__)[:：]?)")
_NOTHING = re.compile(r"\(?(?:none|nothing|n/?a|empty|no change[sd]?|unchanged|无|没有|暂无|无变化)(?: yet)?\)?[.。]?", re.I)

_SOURCES = r"[\[［【]([^\]］】]{0,200})[\]］】]"
_ADD = re.compile(rf"[+＋^＾][ \t]*(?:{_SOURCES}[ \t]*)?([^:：\[\]［］【】]{{1,60}}?)[ \t]*(?:{_SOURCES}[ \t]*)?[:：](.*)")
_OPENS_LIKE_ADD = re.compile(r"[+＋^＾][ \t]*(?:\[[^\]]{0,200}\][ \t]*)?([\w*]+)")
_ID = r"[a-z]{2}-[0-9a-f]{8}"
_REPLACE = re.compile(
    rf"[=＝][ \t]*[\[［]?([\w.-]{{1,64}})[\]］]?[ \t]*(?:{_SOURCES}[ \t]*)?([^:：\[\]]{{0,60}}?)[ \t]*[:：](.*)"
)
_CLOSE = re.compile(
    rf"[xX×✗✘][ \t]+((?:[\[［]?{_ID}[\]］]?[ \t,，、]*)+|[\[［]?[\w.-]{{1,64}}[\]］]?(?=[ \t]*(?:$|done|superseded)))(.*)"
)
_OVER = re.compile(r"supersede|obsolete|no longer|void|取代|作废|过时|不再", re.I)
_PROMOTE = re.compile(rf"[\^＾][ \t]*[\[［]?({_ID}|[\w.-]{{1,64}}(?=[\]］]?[ \t]*$))[\]］]?.*")
_ASK = re.compile(r"[?？][ \t]*(\S.*)")
_RANGE = re.compile(r"[\[［]?[m#]?(\d{1,9})(?:\s*(?:-|–|—|~|\.\.+|to|到|至)\s*[m#]?(\d{1,9}))?[\]］]?[.?。]?", re.I)
_KNOWN_ID = re.compile(rf"[\[［]?({_ID})[\]］]?[:：]?[ \t]+(.*)")
_SEQ = re.compile(r"[m#]?(\d{1,9})", re.I)
_SEQS = re.compile(r"[m#]?\d{1,9}(?:[\s,，、;~–-]+[m#]?\d{1,9})*", re.I)
_TAIL = re.compile(r"\s*\((m\d{1,9}(?:, m\d{1,9})*)\)$")


def parse(reply: str, *, whole: bool = True) -> tuple[Operation | LookUp | Refused, ...]:
    """Everything in the reply that is an operation, in order. ``whole`` False: the reply was cut off, so its last line is
    not taken. Never raises."""
    if len(reply) > MOST_CHARACTERS:
        reply, whole = reply[:MOST_CHARACTERS], False
    lines = unescape_reminders(_spoken(reply)).splitlines()
    if not whole and lines:
        lines.pop()
    return tuple(_read(lines))


def seqs(text: str) -> tuple[int, ...]:
    """Message numbers: ``m12, m15``; () where the text is something else."""
    if not _SEQS.fullmatch(text.strip()):
        return ()
    return tuple(dict.fromkeys(int(found[1]) for found in _SEQ.finditer(text)))


def split_sources(text: str) -> tuple[str, tuple[int, ...]]:
    """An item's text without the ``(m12, m15)`` at its end, and these."""
    found = _TAIL.search(text[-_SHOWN:])
    return (text[: len(text) - len(found[0])], seqs(found[1])) if found else (text, ())


def _spoken(reply: str) -> str:
    """The reply without thoughts and without calls written as text."""
    ends = _THOUGHT_ENDS.search(reply)
    begins = _BLOCK.search(reply)
    if ends and (begins is None or begins.start() > ends.start()):
        reply = reply[ends.end() :]
    kept: list[str] = []
    at = 0
    low = reply.lower()
    while found := _BLOCK.search(reply, at):
        kept.append(reply[at : found.start()])
        close = f"</{found[1].lower()}>"
        end = low.find(close, found.end()) if len(low) == len(reply) else -1
        if end < 0:
            return "".join(kept)
        at = end + len(close)
    return "".join((*kept, reply[at:]))


def _read(lines: list[str]) -> Iterator[Operation | LookUp | Refused]:
    section: Section | None = None
    depth = 0
    for raw in lines:
        line = raw.strip()
        if heading := _heading(line):
            level, named = heading
            if named is not None or level <= depth:
                section, depth = named, level
            continue
        found = _operation(line, section)
        if found:
            yield from found
        elif section is not None and (bullet := _BULLET.match(line)):
            yield from _bullet(section, bullet[1].strip())


def _heading(line: str) -> tuple[int, Section | None] | None:
    """Level and section of a heading: ``## 6. Knowledge``, ``**Knowledge**``, ``Knowledge:``. None = it is no heading."""
    if found := _HEADING.match(line):
        return len(found[1]), section_named(found[2])
    emphasised = _EMPHASISED.fullmatch(line)
    if emphasised or line.endswith((":", "：")):
        named = section_named(emphasised[1] if emphasised else line)
        return (_DEEPEST, named) if named else None
    return None


def _operation(line: str, section: Section | None) -> list[Operation | LookUp | Refused]:
    lead = _LEAD.match(line)
    if lead:
        line = line[lead.end() :]
    elif line[:1] == line[-1:] == "`":
        line = line.strip("`").strip()
    match line[:1]:
        case "+" | "＋":
            return _addition(line, section, durable=False)
        case "^" | "＾":
            return _durable(line)
        case "=" | "＝":
            return _replacement(line)
        case "x" | "X" | "×" | "✗" | "✘":
            return _closing(line)
        case "?" | "？":
            return _asking(line)
        case _:
            return []


def _addition(line: str, heading: Section | None, *, durable: bool) -> list[Operation | LookUp | Refused]:
    found = _ADD.fullmatch(line)
    named = section_named(found[2]) if found else None
    if found and named:
        text = _unmarked(found[4])
        if _NOTHING.fullmatch(text):
            return []
        return [Add(named, text, seqs(found[1] or found[3] or ""), durable)] if text else [_refused(line, "no text")]
    if heading is not None:
        return []  # a plus sign is a Markdown bullet, too
    if found and len(found[2].split()) <= 3:
        return [_refused(line, f"there is no section {found[2].strip()!r}")]
    opens = _OPENS_LIKE_ADD.match(line)
    return [_refused(line, "no ':' behind the section")] if opens and section_named(opens[1]) else []


def _durable(line: str) -> list[Operation | LookUp | Refused]:
    if ":" not in line and "：" not in line and (found := _PROMOTE.fullmatch(line)):
        return [Promote(found[1])]
    return _addition(line, None, durable=True)


def _replacement(line: str) -> list[Operation | LookUp | Refused]:
    found = _REPLACE.fullmatch(line)
    named = section_named(found[3]) if found and found[3] else None
    if found is None or (found[3] and named is None):
        return [_refused(line, "no ':' behind the id")] if re.match(rf"[=＝][ \t]*[\[［]?{_ID}", line) else []
    text = _unmarked(found[4])
    return [Replace(found[1], text, seqs(found[2] or ""), named)] if text else [_refused(line, "no text")]


def _closing(line: str) -> list[Operation | LookUp | Refused]:
    found = _CLOSE.fullmatch(line)
    if found is None:
        return []
    status = ItemStatus.SUPERSEDED if _OVER.search(found[2]) else ItemStatus.DONE
    return [Close(one, status) for one in re.findall(r"[\w.-]+", found[1])]


def _asking(line: str) -> list[Operation | LookUp | Refused]:
    found = _ASK.fullmatch(line)
    if found is None:
        return []
    if span := _RANGE.fullmatch(found[1].strip()):
        first, last = sorted((int(span[1]), int(span[2] or span[1])))
        return [Read(first, last)]
    return [Search(found[1].strip()[:_SHOWN])]


def _bullet(section: Section, text: str) -> Iterator[Operation]:
    if known := _KNOWN_ID.fullmatch(text):
        name, colon, rest = known[2].partition(":")
        told, sources = split_sources(rest.strip() if colon and section_named(name) is not None else known[2])
        if told:
            yield Replace(known[1], told, sources, section)
    elif text and not _NOTHING.fullmatch(text):
        yield Add(section, text)


def _unmarked(text: str) -> str:
    """Without what closes the emphasis that stood around the section's name."""
    text = text.strip()
    return text[2:].strip() if text.startswith(("** ", "__ ")) else text


def _refused(line: str, reason: str) -> Refused:
    return Refused(line[:_SHOWN], reason)
