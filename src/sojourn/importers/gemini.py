"""Gemini CLI sessions: one JSON document (older), or JSON lines with updates (since 0.40).

Counts: messages = records with a type, each id once; calls = ``toolCalls``; results = calls with a ``result``.
In the lines form the last version of an id wins and stands where the first one stood, ``$set.messages`` replaces all
and ``$rewindTo`` takes that message and all after it back; so such a file is read twice, by position, and only the
positions are held in memory. A grown file's records begin with the old ones only where no old message was rewritten.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from sojourn.base import Finish, Usage
from sojourn.importers.content import joined_text, picture, result_text
from sojourn.importers.desk import Desk, Draft
from sojourn.importers.documents import document
from sojourn.importers.drive import Tally, Used, forget, opened
from sojourn.importers.fields import count, listing, mapping, millis, optional_count, string
from sojourn.importers.lines import Line, decode, is_blank, lines
from sojourn.importers.outline import document as outline
from sojourn.importers.outline import heads
from sojourn.importers.touches import touches
from sojourn.importers.types import Done, ImportRecord, Progress, SessionStart, Skipped, SkippedLine
from sojourn.record import Notice, Part, Reasoning, ResultPart, Text, ToolCall
from sojourn.record.types import CallState

_SPEAKERS = frozenset({"user", "gemini"})
_NOTES = frozenset({"info", "warning", "error"})
_STEP = 500


class Gemini:
    """Importer of Gemini CLI's session files."""

    name = "gemini"
    looks_for = 'a JSON object, or a first JSON line, with "sessionId" and "projectHash"'

    def matches(self, sample: bytes) -> bool:
        _, head, _ = outline(sample)
        return any("sessionId" in found and "projectHash" in found for found in (head, *heads(sample)))

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_gemini(path)


def read_gemini(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    with opened(path) as file:
        kind, head, _ = outline(file.read(64 * 1024))
    is_document = kind == "object" and "messages" in head
    return _read_document(path, used) if is_document else _read_lines(path, used)


def _read_document(path: str, used: Used) -> Iterator[ImportRecord]:
    """Here ``used`` and reasons are given by the number of the message, from 1."""
    found = document(path, "messages", lambda value: isinstance(value, dict) and "id" in value and "type" in value)
    yield from (SkippedLine(Skipped(0, reason)) for reason in found.problems)
    run = _Run(path)
    run.start(found.fields)
    for number, message in enumerate(found.records, 1):
        reason = run.take(message, 0)
        if reason:
            yield SkippedLine(Skipped(number, reason))
        else:
            used(number)
        yield from run.desk.leave()
    yield from run.desk.finish()
    yield Done(run.tally.counts(), found.lines, found.bytes)


class _Spot(NamedTuple):
    """Where the current version of a message stands."""

    line: int
    offset: int
    """Byte offset of the line."""
    value: int
    """Index among the JSON values of the line: more than one where lines were glued together."""
    item: int = -1
    """Index in the value's ``$set.messages``; -1 = the value itself."""


def _read_lines(path: str, used: Used) -> Iterator[ImportRecord]:
    index = _Index()
    with opened(path) as file:
        for line in lines(file):
            yield from index.take(line)
        run = _Run(path)
        run.start(index.header)
        for line_number in index.links:
            used(line_number)
        for number, spot in enumerate(index.spots.values(), 1):
            reason = run.take(_read_spot(file, spot), 0)
            if reason:
                yield SkippedLine(Skipped(spot.line, reason))
            else:
                used(spot.line)
            yield from run.desk.leave()
            if number % _STEP == 0:
                yield Progress(index.bytes)
    yield from run.desk.finish()
    yield Done(run.tally.counts(), index.lines, index.bytes)


def _read_spot(file: BinaryIO, spot: _Spot) -> Any:
    file.seek(spot.offset)
    raw = file.readline()
    values = decode(Line(spot.line, raw, len(raw), True), _DECODER).values
    if spot.value >= len(values):  # the file was changed while it was read
        return None
    value = values[spot.value]
    return value if spot.item < 0 else mapping(value["$set"])["messages"][spot.item]


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_Reason = tuple[int, str]
"""Line number and why."""


class _Index:
    """First pass: where the messages stand that are left at the end."""

    def __init__(self) -> None:
        self.header: dict[str, Any] = {}
        self.spots: dict[str, _Spot] = {}
        self.links: list[int] = []
        self.lines = 0
        self.bytes = 0

    def take(self, line: Line) -> Iterator[ImportRecord]:
        offset = self.bytes
        self.lines = line.number
        self.bytes += line.size
        if is_blank(line):
            return
        values, problems = decode(line, _DECODER)
        yield from (SkippedLine(Skipped(line.number, reason)) for reason in problems)
        for at, value in enumerate(values):
            for number, reason in self._take_value(value, _Spot(line.number, offset, at)):
                yield SkippedLine(Skipped(number, reason))

    def _take_value(self, value: Any, spot: _Spot) -> Iterable[_Reason]:
        if not isinstance(value, dict):
            return [(spot.line, "not a JSON object")]
        changed = value.get("$set")
        target = value.get("$rewindTo")
        if isinstance(changed, dict):
            return self._set(changed, spot)
        if isinstance(target, str):
            return self._rewind(target, spot.line)
        if "sessionId" in value and "type" not in value:
            return self._take_header(value, spot.line)
        if name := string(value.get("id")):
            return self._put(name, spot)
        return [(spot.line, "a record without an id")]

    def _take_header(self, header: dict[str, Any], line: int) -> Iterable[_Reason]:
        if self.header:
            return [(line, "bookkeeping: header again")]
        self.header = header
        self.links.append(line)
        return []

    def _set(self, changed: dict[str, Any], spot: _Spot) -> Iterable[_Reason]:
        messages = changed.get("messages")
        if not isinstance(messages, list):
            return [(spot.line, "bookkeeping: $set")]
        dropped = self._drop(list(self.spots), f"replaced by line {spot.line}")
        for index, message in enumerate(messages):
            name = string(mapping(message).get("id")) or f"{spot.line}:{index}"
            self.spots[name] = spot._replace(item=index)
        self.links.append(spot.line)
        return dropped

    def _rewind(self, target: str, line: int) -> Iterable[_Reason]:
        names = list(self.spots)
        if target not in self.spots:
            return [(line, "bookkeeping: $rewindTo a message that is not in the file")]
        self.links.append(line)
        return self._drop(names[names.index(target) :], f"taken back by the rewind in line {line}")

    def _drop(self, names: list[str], why: str) -> list[_Reason]:
        return [(self.spots.pop(name).line, why) for name in names]

    def _put(self, name: str, spot: _Spot) -> Iterable[_Reason]:
        known = self.spots.get(name)
        self.spots[name] = spot
        return [] if known is None else [(known.line, f"older version of the message in line {spot.line}")]


class _Run:
    def __init__(self, path: str) -> None:
        self.desk = Desk()
        self.tally = Tally()
        self._session = Path(path).stem

    def start(self, header: dict[str, Any]) -> None:
        self._session = string(header.get("sessionId")) or self._session
        is_child = string(header.get("kind")) == "subagent"
        self.desk.begin(
            SessionStart(
                self._session,
                title=string(header.get("summary")),
                created=millis(header.get("startTime")),
                agent="subagent" if is_child else "main",
            )
        )

    def take(self, message: Any, size: int) -> str:
        fields = mapping(message)
        kind = string(fields.get("type"))
        if not kind:
            return "a record without a type"
        self.tally.message(string(fields.get("id")))
        if kind not in _SPEAKERS | _NOTES:
            return f"unknown record type: {kind}"
        draft = Draft(self._session, "user", "import", source=kind, size=size)
        draft.created = millis(fields.get("timestamp"))
        draft.foreign_id = string(fields.get("id"))
        draft.parts = _parts(fields.get("content"), draft.blobs)
        if kind == "user":
            draft.origin, draft.source = "user", ""
        elif kind == "gemini":
            self._fill_answer(draft, fields)
        if kind in _NOTES:  # shown to the person, never sent to the model
            draft.parts = [Notice(kind, part.text) for part in draft.parts if isinstance(part, Text)]
        if not draft.parts:
            return f"{kind} message without content"
        self.desk.add(draft)
        return ""

    def _fill_answer(self, draft: Draft, fields: dict[str, Any]) -> None:
        draft.role, draft.origin, draft.source = "assistant", "model", ""
        draft.model = string(fields.get("model"))
        draft.usage = _usage(mapping(fields.get("tokens")))
        thoughts = [_thought(mapping(thought)) for thought in listing(fields.get("thoughts"))]
        draft.parts[:0] = [Reasoning(text, provider="google", model=draft.model) for text in thoughts if text]
        for index, call in enumerate(listing(fields.get("toolCalls"))):
            if isinstance(call, dict):
                draft.parts.append(self._call(call, draft, index))
        if any(isinstance(part, ToolCall) for part in draft.parts):
            draft.finish = Finish.TOOL_CALLS

    def _call(self, call: dict[str, Any], draft: Draft, index: int) -> ToolCall:
        call_id = string(call.get("id")) or f"{draft.foreign_id}-{index}"
        self.tally.call(call_id)
        name = string(call.get("name")) or "unknown"
        arguments = mapping(call.get("args"))
        result, failed = _result(call.get("result"), draft.blobs)
        status = string(call.get("status"))
        state: CallState = "interrupted"
        if call.get("result") is not None:
            self.tally.result(call_id)
            state = "error" if failed or status in ("error", "cancelled") else "completed"
        return ToolCall(
            call_id=call_id,
            name=name,
            arguments=arguments,
            state=state,
            result=result,
            started=draft.created or None,
            ended=millis(call.get("timestamp")) or None,
            touches=touches(name, arguments),
        )


def _thought(thought: dict[str, Any]) -> str:
    return ": ".join(text for text in (string(thought.get("subject")), string(thought.get("description"))) if text)


def _result(value: Any, blobs: dict[str, bytes]) -> tuple[tuple[ResultPart, ...], bool]:
    """Parts of ``result`` and whether it tells of an error."""
    parts: list[ResultPart] = []
    failed = False
    for item in [value] if isinstance(value, (str, dict)) else listing(value):
        fields = {"text": item} if isinstance(item, str) else mapping(item)
        response = mapping(mapping(fields.get("functionResponse")).get("response"))
        error = string(response.get("error"))
        failed = failed or bool(error)
        text = string(fields.get("text")) or string(response.get("output")) or error
        inline = mapping(fields.get("inlineData"))
        image = picture(inline.get("data"), inline.get("mimeType"), blobs) if inline else None
        if image is not None:
            parts.append(image)
        if not text and response:
            text = msgspec.json.encode(response).decode()
        if text:
            parts.append(result_text(text, blobs))
    return tuple(parts), failed


def _parts(content: Any, blobs: dict[str, bytes]) -> list[Part]:
    parts: list[Part] = []
    for block in [content] if isinstance(content, (str, dict)) else listing(content):
        inline = mapping(mapping(block).get("inlineData"))
        if inline:
            image = picture(inline.get("data"), inline.get("mimeType"), blobs)
            parts.append(image or Notice("import", "[picture not readable]"))
        elif text := joined_text([block]):
            parts.append(Text(text))
    return parts


def _usage(tokens: dict[str, Any]) -> Usage | None:
    """``input`` includes what the cache gave; ``output`` excludes the thoughts."""
    cached = optional_count(tokens.get("cached"))
    thoughts = optional_count(tokens.get("thoughts"))
    usage = Usage(
        fresh=max(0, count(tokens.get("input")) - (cached or 0)),
        cached=cached,
        output=count(tokens.get("output")) + (thoughts or 0),
        reasoning=thoughts,
    )
    return usage if usage.input or usage.output else None
