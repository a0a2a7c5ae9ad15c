"""From operations to the new list of items: each operation is judged by itself (K-2, K-6). Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from sojourn.base import Item, ItemStatus, Section, open_items
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.extract.found import item_id
from sojourn.checkpoint.language import is_foreign, script_of
from sojourn.checkpoint.operations import Add, Close, LookUp, Operation, Promote, Read, Refused, Replace, Search
from sojourn.checkpoint.quoting import heard, normal, quotations, spoken
from sojourn.checkpoint.redact import redact
from sojourn.checkpoint.room import HEADING, Rank, cost, fitting
from sojourn.checkpoint.sources import find_sources
from sojourn.checkpoint.writer import WriterInput, Written
from sojourn.meter import fit_line
from sojourn.record import Message, Text
from sojourn.window import budgets

MODEL_WEIGHT = 2.0
"""Of an item that the model wrote: above what extraction only supposes, below the user's own words."""
_MOST_REFUSED = 100
_SHOWN = 160
"""Characters of a refused operation that the ledger shows."""
_USERS_WORDS = frozenset({Section.INTENT, Section.DIRECTIVES})


class Applied(msgspec.Struct, frozen=True):
    written: Written
    """Without usage, mode and calls."""
    valid: int
    """Operations that hold, those that change nothing among them: 0 = the run has failed (K-6)."""


def apply(
    operations: Iterable[Operation | LookUp | Refused],
    run: WriterInput,
    *,
    beside: Sequence[Message] = (),
) -> Applied:
    """The whole new list: open items in schema order, then those that left with their status.

    Items that no operation touches stay byte for byte and keep their order; each section keeps to its budget. ``beside``:
    messages beyond the run's that the model has looked up, or in which a quotation was found.
    """
    draft = _Draft(run, beside)
    known = tuple(operations)
    newest = {one.id: one for one in known if isinstance(one, Replace | Close)}
    for one in known:
        match one:
            case Refused():
                draft.refuse(one.line, one.reason)
            case Read() | Search():
                pass
            case Replace() | Close() if newest[one.id] is not one:
                draft.refuse(told(one), "said again later")
            case _:
                draft.take(one)
    return draft.settled()


def user_texts(messages: Iterable[Message]) -> tuple[str, ...]:
    """What a person said in these messages, a text each."""
    return tuple(
        part.text
        for message in messages
        if message.origin == "user"
        for part in message.parts
        if isinstance(part, Text) and part.text.strip()
    )


def unheard(
    operations: Iterable[Operation | LookUp | Refused], run: WriterInput, *, beside: Sequence[Message] = ()
) -> tuple[str, ...]:
    """Quotations of the user that neither the messages nor the present items hold: to be looked for in the record."""
    said = _said(run, beside)
    found = (
        quote
        for one in operations
        if isinstance(one, Add | Replace)
        for quote in quotations(_section_of(one, run), one.text)
        if not heard(quote, said)
    )
    return tuple(dict.fromkeys(found))


def told(operation: Operation) -> str:
    """The operation as the model writes it."""
    match operation:
        case Add():
            return f"{'^' if operation.durable else '+'} {operation.section.value}: {operation.text}"
        case Replace():
            return f"= {operation.id}: {operation.text}"
        case Close():
            return f"x {operation.id}"
        case Promote():
            return f"^ {operation.id}"


def _section_of(operation: Add | Replace, run: WriterInput) -> Section:
    if isinstance(operation, Add):
        return operation.section
    mine = next((item.section for item in run.items if item.id == operation.id), Section.KNOWLEDGE)
    return operation.section or mine


def _messages(run: WriterInput, beside: Sequence[Message]) -> tuple[Message, ...]:
    """Every message that the model may rest on, once each, in order; nothing after the mark."""
    mark = run.range[1]
    every = {message.seq: message for message in (*beside, *run.original, *run.messages) if message.seq <= mark}
    return tuple(every[seq] for seq in sorted(every))


def _said(run: WriterInput, beside: Sequence[Message]) -> tuple[str, ...]:
    return (*spoken(user_texts(_messages(run, beside))), *(normal(item.text) for item in run.items))


class _Draft:
    """The list while operations change it."""

    def __init__(self, run: WriterInput, beside: Sequence[Message]) -> None:
        self._mark = run.range[1]
        self._room = budgets(run.trigger, economic=run.economic)
        self._messages = _messages(run, beside)
        users = user_texts(self._messages)
        self._script = script_of(users) or script_of(item.text for item in run.items if item.section in _USERS_WORDS)
        self._said = _said(run, beside)
        self._evidence = gather(self._messages)
        self._known = {message.seq for message in self._messages} | {seq for item in run.items for seq in item.sources}
        self._open = {item.id: item for item in open_items(run.items)}
        self._texts = {normal(item.text): item.id for item in self._open.values()}
        self._place = {item_id: item_id for item_id in self._open}
        """Where an item stands: behind the place of the one that it replaces."""
        self._left = {item.id: item for item in run.items if item.status is not ItemStatus.OPEN}
        self._added: dict[str, None] = {}
        self._closed: dict[str, None] = {}
        self._promoted: dict[str, None] = {}
        self._refused: list[str] = []
        self._unsourced: dict[str, tuple[int, ...]] = {}
        """New items whose messages are still to be found, with those of the item that each replaces."""
        self._spoke = max((message.seq for message in run.messages if user_texts([message])), default=0)
        """The newest message of the stretch in which the user says something; 0 = there is none."""
        self._valid = 0

    def refuse(self, line: str, reason: str) -> None:
        if len(self._refused) < _MOST_REFUSED:
            self._refused.append(f"{reason}: {fit_line(redact(line), _SHOWN)}")

    def take(self, operation: Operation) -> None:
        problem = self._problem(operation)
        if problem:
            self.refuse(told(operation), problem)
            return
        self._valid += 1
        match operation:
            case Add():
                self._add(operation)
            case Replace():
                self._replace(operation)
            case Close() if operation.id in self._open:
                self._close(operation.id, operation.status)
            case Close():
                pass
            case Promote():
                self._promoted[operation.id] = None

    def settled(self) -> Applied:
        self._find_sources()
        kept: list[Item] = []
        for section in Section:
            mine = [item for item in self._in_order() if item.section is section]
            stays, leaves = fitting(mine, self._room[section], [self._staying(item, at) for at, item in enumerate(mine)])
            kept += stays
            for item in leaves:
                self._leave(item)
        left = [item for item in self._left.values() if item.id not in self._open]
        written = Written(
            items=(*kept, *left),
            refused=tuple(self._refused),
            added=tuple(one for one in self._added if one in self._open),
            closed=tuple(self._closed),
            promoted=tuple(one for one in self._promoted if one in self._open),
        )
        return Applied(written, self._valid)

    def _problem(self, operation: Operation) -> str:
        """Why the operation does not hold; "" = it does."""
        if isinstance(operation, Replace | Close | Promote):
            present = self._open.get(operation.id)
            if isinstance(operation, Close) and operation.id in self._closed:
                return ""  # what it wrote has closed it already
            if present is None:
                return "no open item has this id"
            if present.by == "user" and not isinstance(operation, Promote):
                return "a person wrote this item"
            if isinstance(operation, Promote):
                return ""
            standing = present.section is Section.DIRECTIVES and not self._revoked(present)
            held = "the user has said nothing since" if standing else ""
            if isinstance(operation, Close):
                return held
            return self._unfit(operation.section or present.section, operation.text) or held
        return self._unfit(operation.section, operation.text)

    def _revoked(self, rule: Item) -> bool:
        """Whether the user may have taken a rule back: only what they said after it can, never a tool's or the model's word."""
        return self._spoke > max(rule.sources, default=rule.written_seq)

    def _unfit(self, section: Section, text: str) -> str:
        if not text.strip():
            return "no text"
        if cost(redact(text)) > self._room[section] - HEADING:
            return f"longer than all of {section.value} may be"
        if any(not heard(quote, self._said) for quote in quotations(section, text)):
            return "invented quotation"
        if is_foreign(text, self._script) and not self._shown(text):
            return "not in the user's language"
        return ""

    def _shown(self, text: str) -> bool:
        """Whether it was copied: a line of output is in whatever language it is."""
        return any(text in one.text for one in (*self._evidence.user, *self._evidence.assistant)) or any(
            text in act.output for act in self._evidence.acts
        )

    def _add(self, operation: Add) -> None:
        item = self._item(operation.section, operation.text, operation.sources)
        there = self._same(item)
        if there is None and item.id in self._left:
            self.refuse(told(operation), "closed by the same answer")
            return
        if there is None:
            self._put(item, item.id, ())
        if operation.durable:
            self._promoted[there or item.id] = None

    def _replace(self, operation: Replace) -> None:
        old = self._open[operation.id]
        section = operation.section or old.section
        item = self._item(section, operation.text, operation.sources)
        if item.text == old.text and section is old.section:
            return
        if item.id in self._left:
            self.refuse(told(operation), "closed by the same answer")
            return
        place = self._place[old.id] if section is old.section else item.id
        self._close(old.id, ItemStatus.SUPERSEDED)
        if self._same(item) is None:
            self._put(item, place, old.sources)

    def _same(self, item: Item) -> str | None:
        """The open item that says the same."""
        same = self._texts.get(normal(item.text), item.id)
        return next((one for one in (same, item.id) if one in self._open), None)

    def _item(self, section: Section, text: str, named: tuple[int, ...]) -> Item:
        text = redact(text.strip())
        return Item(
            id=item_id(section, text),
            section=section,
            text=text,
            sources=tuple(seq for seq in named if seq in self._known),
            written_seq=self._mark,
            weight=MODEL_WEIGHT,
            by="model",
        )

    def _put(self, item: Item, place: str, before: tuple[int, ...]) -> None:
        self._supersede(item)
        self._open[item.id] = item
        self._texts[normal(item.text)] = item.id
        self._place[item.id] = place
        self._added[item.id] = None
        if not item.sources:
            self._unsourced[item.id] = before

    def _supersede(self, new: Item) -> None:
        """There is a single next step, and one line for a request."""
        for item in tuple(self._open.values()):
            if item.section is not new.section or item.by == "user" or item.id in self._added:
                continue
            if new.section is Section.NEXT or (new.section is Section.INTENT and _request(item) == _request(new) != ""):
                self._close(item.id, ItemStatus.SUPERSEDED)

    def _close(self, item_id: str, status: ItemStatus) -> None:
        item = self._open.pop(item_id)
        if item_id in self._added:  # it came and went in one answer
            del self._added[item_id]
        else:
            self._closed[item_id] = None
            self._left[item_id] = msgspec.structs.replace(item, status=status)

    def _leave(self, item: Item) -> None:
        """Over the budget: it stays in the record (K-2)."""
        del self._open[item.id]
        self._left[item.id] = msgspec.structs.replace(item, status=ItemStatus.SUPERSEDED)
        if item.id in self._added:
            self.refuse(item.text, f"over the budget of {item.section.value}")

    def _find_sources(self) -> None:
        mine = [self._open[one] for one in self._unsourced if one in self._open]
        found = find_sources([(item.section, item.text) for item in mine], self._evidence)
        ends = tuple(dict.fromkeys(message.seq for message in (self._messages[:1] + self._messages[-1:])))
        for item, sources in zip(mine, found, strict=True):
            self._open[item.id] = msgspec.structs.replace(item, sources=sources or self._unsourced[item.id] or ends)

    def _in_order(self) -> list[Item]:
        """Present items as they stood, a replacement in the place of what it replaces, new ones behind them."""
        at = {one: index for index, one in enumerate(self._place)}
        return sorted(self._open.values(), key=lambda item: at[self._place[item.id]])

    def _staying(self, item: Item, index: int) -> Rank:
        """The user's own directives before all others, then what this run wrote, then the older by weight."""
        users = item.section is Section.DIRECTIVES and item.by != "model"
        return users, item.id in self._added, item.weight, item.written_seq, index


def _request(item: Item) -> str:
    """The message that a line of intent is about."""
    name = item.text.split(":", 1)[0].strip()
    return name if name[:1] == "m" and name[1:].isdigit() else ""
