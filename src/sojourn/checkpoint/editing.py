"""A person's change of a checkpoint's rendering, as operations (R-6)."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sojourn.base import Item, ItemStatus, Section, UserMistake, open_items
from sojourn.checkpoint.documents import heaviest, leaves_out, render_checkpoint
from sojourn.checkpoint.extract.found import item_id
from sojourn.checkpoint.naming import section_named
from sojourn.checkpoint.operations import Add, Close, Operation, Replace, split_sources
from sojourn.checkpoint.redact import redact
from sojourn.checkpoint.writer import Written
from sojourn.record import Checkpoint
from sojourn.window import SCHEMA

USER_WEIGHT = 10.0
"""What a person wrote down stays longest."""
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t#]*")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,4}[.)])(?:[ \t]+(.*))?")
_WITH_ID = re.compile(r"\[([^\[\]\s]+)\](?:[ \t]+(.*))?")
_LIKE_AN_ID = re.compile(r"[a-z]{2}-[0-9a-f]{8}")
WRITERS = {"extractive": ("extraction", "提取"), "model": ("model", "模型"), "user": ("you", "你")}
"""Who wrote an item, as the page for people says it."""
_WHO = "|".join(word for words in WRITERS.values() for word in words)
_RESTS_ON = re.compile(rf" \((m\d+(?:, m\d+)*); (?:{_WHO})\)$")
"""How that page ends a line: the messages that an item rests on, and who wrote it."""
_BY = re.compile(rf" \((?:{_WHO})\)$")
"""The same for an item that rests on none."""
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2400-\u2421\ufffd]")
"""Control characters, and the pictures that a page has for them."""
_OURS = re.compile(r"Checkpoint(?:$|:)|(?:left|refused)$")
"""Headings of the rendering that tell what happened: changes under them change nothing."""


class _Bullet(msgspec.Struct, frozen=True):
    line: int
    """From 1."""
    section: Section
    text: str


def edited(before: Checkpoint, text: str, *, newest: int | None = None) -> tuple[Operation, ...]:
    """What a person has changed in the rendering of ``before``: a changed bullet replaces, one that is gone closes, a new
    one under a section's heading adds. An unedited rendering gives no operations. ``newest``: the session's newest message;
    None = what a line rests on is not looked at.

    Raises UserMistake, with the line's number, for a heading that is no section, an id that is not there, text that is no
    bullet, or a message that is not there; and for a text in which nothing is left.
    """
    present = {item.id: item for item in open_items(before.items)}
    read = tuple(_bullets(text))
    bullets = tuple(_without_writer(bullet, present) for bullet in read)
    if any(one is not other for one, other in zip(read, bullets, strict=True)):
        bullets = tuple(_new_without_writer(bullet) for bullet in bullets)
    if present and not any(_section(line) for line in text.splitlines()):
        raise UserMistake(
            "the edited checkpoint is empty, so nothing was changed",
            next_step="To close items, remove their lines and keep the headings.",
        )
    shown = {_id_of(one.text): one.text for one in _bullets(_stored(render_checkpoint(before)))}
    known = frozenset(item.id for item in before.items)
    operations: list[Operation] = []
    met: dict[str, int] = {}
    for bullet in bullets:
        found = _WITH_ID.fullmatch(bullet.text)
        if found is None or not (found[1] in known or _LIKE_AN_ID.fullmatch(found[1])):
            if bullet.text:
                _check_messages(bullet, newest)
                told, sources = split_sources(_without_messages_writer(bullet).text)
                operations.append(Add(bullet.section, told or bullet.text, sources if told else ()))
            continue
        one = found[1]
        if one not in present:
            raise _mistake(bullet, f"there is no open item {one}", "Write it without an id to add it.")
        if one in met:
            raise _mistake(bullet, f"{one} stands in line {met[one]} already", "Write the second one without an id to add it.")
        if not (found[2] or "").strip():
            continue
        met[one] = bullet.line
        if not _alike(bullet.text, shown[one]) or bullet.section is not present[one].section:
            if present[one].sources:
                _check_messages(bullet, newest)
            operations += _replacement(present[one], bullet, found[2].strip())
    seen = {item.id for item in heaviest(before.items)} if leaves_out(text) else present.keys()
    closed = [Close(one, ItemStatus.SUPERSEDED) for one in present if one not in met and one in seen]
    return (*operations, *closed)


def apply_user(before: Checkpoint, operations: Sequence[Operation], mark: int) -> Written:
    """The new list after a person's operations: theirs is the last word, so they replace and close whatever is open.

    What they wrote carries ``by="user"``. Raises UserMistake for the id of an item that is not open.
    """
    items = {item.id: item for item in open_items(before.items)}
    place = dict.fromkeys(items)
    left: dict[str, Item] = {}
    added: dict[str, None] = {}
    order: dict[str, list[str]] = {}
    for operation in operations:
        match operation:
            case Add():
                new = _item(operation.section, operation.text, operation.sources, mark)
                order.setdefault("", []).append(new.id)
            case Replace():
                old = _open(items, operation.id)
                section = operation.section or old.section
                new = _item(section, operation.text, operation.sources, mark)
                left[old.id] = msgspec.structs.replace(items.pop(old.id), status=ItemStatus.SUPERSEDED)
                order.setdefault(old.id if section is old.section else "", []).append(new.id)
            case Close():
                old = _open(items, operation.id)
                left[old.id] = msgspec.structs.replace(items.pop(old.id), status=operation.status)
                continue
            case _:
                continue
        items[new.id] = new
        added[new.id] = None
    in_order = dict.fromkeys(one for old in (*place, "") for one in (old, *order.get(old, ())) if one in items)
    return Written(
        items=(
            *(items[one] for rule in SCHEMA for one in in_order if items[one].section is rule.section),
            *(item for item in left.values() if item.id not in items),
        ),
        added=tuple(added),
        closed=tuple(one for one in left if one not in items),
    )


def _bullets(text: str) -> Iterator[_Bullet]:
    """The bullets under sections' headings, each on one line however it was wrapped."""
    section: Section | None = None
    begun: _Bullet | None = None
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if heading := _HEADING.fullmatch(raw):
            if begun is not None:
                yield begun
            begun = None
            title = (heading[2] or "").strip()
            section = section_named(title)
            if section is None and not _OURS.match(title):
                names = ", ".join(one.value for one in Section)
                raise UserMistake(f"line {number}: {title!r} is no section", next_step=f"The sections are: {names}.")
        elif section is None:
            continue
        elif bullet := _BULLET.fullmatch(raw):
            if begun is not None:
                yield begun
            begun = _Bullet(number, section, _one_line(bullet[1] or ""))
        elif raw.strip():
            if begun is None:
                raise UserMistake(
                    f"line {number}: {raw.strip()[:60]!r} is no bullet",
                    next_step="An item is a line that begins with '- ', under the heading of its section.",
                )
            begun = msgspec.structs.replace(begun, text=_one_line(f"{begun.text} {raw}"))
        elif begun is not None:
            yield begun
            begun = None
    if begun is not None:
        yield begun


def _without_writer(bullet: _Bullet, present: Mapping[str, Item]) -> _Bullet:
    """A line of the page for people as the rendering has it. An ending that the item's own text has is the text's, but
    for the second one of a kind."""
    item = present.get(_id_of(bullet.text))
    if item is None:
        return bullet
    by = _RESTS_ON.search(bullet.text)
    if by is not None:
        bare, kept = bullet.text[: by.start()], f" ({by[1]})"
    else:
        word = next((word for word in WRITERS[item.by] if bullet.text.endswith(f" ({word})")), None)
        if word is None:
            return bullet
        bare, kept = bullet.text.removesuffix(f" ({word})"), ""
    ending = bullet.text[len(bare) :]
    if _one_line(item.text).endswith(ending) and not bare.endswith(ending):
        return bullet
    return msgspec.structs.replace(bullet, text=bare + kept)


def _new_without_writer(bullet: _Bullet) -> _Bullet:
    """A line without an id on the page for people: one that was copied from it."""
    if _WITH_ID.fullmatch(bullet.text):
        return bullet
    return msgspec.structs.replace(bullet, text=_BY.sub("", bullet.text))


def _without_messages_writer(bullet: _Bullet) -> _Bullet:
    return msgspec.structs.replace(bullet, text=_RESTS_ON.sub(r" (\1)", bullet.text))


def _check_messages(bullet: _Bullet, newest: int | None) -> None:
    """The ``(m3, m12)`` at a line's end name messages of the session."""
    named = split_sources(_without_messages_writer(bullet).text)[1]
    absent = [seq for seq in named if newest is not None and not 1 <= seq <= newest]
    if absent:
        raise _mistake(bullet, f"there is no message m{absent[0]}", f"The newest message is m{newest}.")


def _section(line: str) -> Section | None:
    heading = _HEADING.fullmatch(line)
    return section_named(heading[2] or "") if heading else None


def _id_of(text: str) -> str:
    found = _WITH_ID.fullmatch(text)
    return found[1] if found else ""


def _replacement(item: Item, bullet: _Bullet, text: str) -> list[Operation]:
    """None where only the numbers of its messages were taken away."""
    told, sources = split_sources(text) if item.sources else (text, ())
    same = not told or _alike(told, _stored(_one_line(item.text)))
    moved = bullet.section if bullet.section is not item.section else None
    if same and moved is None and sources in ((), item.sources):
        return []
    return [Replace(item.id, item.text if same else told, sources or item.sources, moved)]


def _alike(text: str, shown: str) -> bool:
    """The same but for control characters, which a page shows otherwise."""
    return text == shown or _UNSEEN.sub("", text) == _UNSEEN.sub("", shown)


def _item(section: Section, text: str, sources: tuple[int, ...], mark: int) -> Item:
    text = redact(text)
    return Item(
        id=item_id(section, text),
        section=section,
        text=text,
        sources=sources,
        written_seq=mark,
        weight=USER_WEIGHT,
        by="user",
    )


def _open(items: dict[str, Item], item_id: str) -> Item:
    if item_id not in items:
        raise UserMistake(f"there is no open item {item_id}", next_step="Look at the newest checkpoint and edit it again.")
    return items[item_id]


def _mistake(bullet: _Bullet, what: str, next_step: str) -> UserMistake:
    return UserMistake(f"line {bullet.line}: {what}", next_step=next_step)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _stored(text: str) -> str:
    """The text as it comes back from a file: half a character does not survive it."""
    return text.encode("utf-8", "replace").decode()
