"""Plain message lists of the two large APIs: a JSON list, an object with ``messages``, or a message a line.

Counts: messages = records with a role (system and tool too); calls and results as they stand, each id once. In a JSON
document the numbers of skipped records are those of the messages, from 1; in a lines file those of the lines.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sojourn.importers.anthropic_blocks import call_of, is_call, is_result, plain_part, take_result, usage_of
from sojourn.importers.content import any_image, joined_text, missing_picture, result_parts
from sojourn.importers.desk import Desk, Draft
from sojourn.importers.documents import document
from sojourn.importers.drive import Run, Tally, Used, drive, forget, opened
from sojourn.importers.fields import listing, mapping, millis, string, title_of
from sojourn.importers.lines import decode_text
from sojourn.importers.outline import Head, heads
from sojourn.importers.outline import document as outline
from sojourn.importers.touches import touches
from sojourn.importers.types import Done, ImportRecord, SessionStart, Skipped, SkippedLine
from sojourn.record import Notice, Part, Text, ToolCall

_OPENAI_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_SYSTEM_ROLES = frozenset({"system", "developer"})


def _roles(sample: bytes) -> list[Head]:
    """Heads of the messages, or nothing where the file is no message list."""
    kind, head, elements = outline(sample)
    if kind == "object" and "role" in head:
        elements = heads(sample)
    elif kind == "object" and "messages" not in head:
        return []
    return elements if elements and all(found.get("role") in _OPENAI_ROLES for found in elements) else []


def _is_anthropic(sample: bytes) -> bool:
    marks = (b'"tool_use"', b'"tool_result"', b'"thinking"', b'"redacted_thinking"')
    return any(b'"type": ' + mark in sample or b'"type":' + mark in sample for mark in marks)


class AnthropicMessages:
    """Importer of Anthropic message lists."""

    name = "anthropic-messages"
    looks_for = 'a JSON list of {"role", "content"} with content blocks of type tool_use, tool_result or thinking'

    def matches(self, sample: bytes) -> bool:
        return bool(_roles(sample)) and _is_anthropic(sample)

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_anthropic(path)


class OpenAIMessages:
    """Importer of OpenAI chat message lists."""

    name = "openai-messages"
    looks_for = 'a JSON list of {"role", "content"}, or a JSON object with such a list under "messages"'

    def matches(self, sample: bytes) -> bool:
        return bool(_roles(sample)) and not _is_anthropic(sample)

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_openai(path)


def read_anthropic(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    return _read(path, _AnthropicRun(path), used)


def read_openai(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    return _read(path, _OpenAIRun(path), used)


def _read(path: str, run: "_ListRun", used: Used) -> Iterator[ImportRecord]:
    with opened(path) as file:
        kind, head, _ = outline(file.read(64 * 1024))
    if kind == "object" and "role" in head and "messages" not in head:
        yield from drive(path, run, msgspec.json.Decoder(), used)
        return
    found = document(path, "messages", lambda value: isinstance(value, dict) and "role" in value)
    run.start(found.fields)
    yield from (SkippedLine(Skipped(0, reason)) for reason in found.problems)
    for number, message in enumerate(found.records, 1):
        reason = run.take(message, number, 0)
        if reason:
            yield SkippedLine(Skipped(number, reason))
        else:
            used(number)
        yield from run.desk.leave()
    yield from run.desk.finish()
    yield Done(run.tally.counts(), found.lines, found.bytes)


class _ListRun(Run):
    def __init__(self, path: str) -> None:
        self.desk = Desk()
        self.tally = Tally()
        self._session = Path(path).stem

    def start(self, fields: dict[str, Any]) -> None:
        """What the document says besides its messages."""
        model = string(fields.get("model")) or string(mapping(fields.get("response")).get("model"))
        title = title_of(string(fields.get("title")))
        self.desk.begin(SessionStart(self._session, title=title, model=model, created=millis(fields.get("timestamp"))))
        system = joined_text(fields.get("system"))
        if system:
            draft = self._draft("user", {}, 0)
            draft.origin, draft.source = "import", "system"
            draft.parts.append(Text(system))
            self.desk.add(draft)

    def take(self, value: Any, line: int, size: int) -> str:
        if not isinstance(value, dict):
            return "not a JSON object"
        role = string(value.get("role"))
        if role not in _OPENAI_ROLES:
            return f"unknown role: {role}" if role else "a record without a role"
        self.tally.message()
        if role in _SYSTEM_ROLES:
            draft = self._draft("user", value, size)
            draft.origin, draft.source = "import", role
            draft.parts = self._parts(value.get("content"), draft)
            return self._add(draft, role)
        return self._take_role(role, value, line, size)

    def finish(self) -> None:
        return

    def _take_role(self, role: str, message: dict[str, Any], line: int, size: int) -> str:
        raise AssertionError(role)

    def _draft(self, role: str, message: dict[str, Any], size: int) -> Draft:
        created = millis(message.get("timestamp") or message.get("created_at"))
        assistant = role == "assistant"
        draft = Draft(self._session, "assistant" if assistant else "user", "model" if assistant else "user")
        draft.created, draft.size = created, size
        draft.foreign_id = string(message.get("id"))
        draft.model = string(message.get("model")) if assistant else ""
        return draft

    def _add(self, draft: Draft, role: str) -> str:
        if not draft.parts:
            return f"{role} message without content"
        self.desk.add(draft)
        return ""

    def _parts(self, content: Any, draft: Draft) -> list[Part]:
        parts: list[Part] = []
        for block in [content] if isinstance(content, (str, dict)) else listing(content):
            part = _openai_part(block, draft.blobs)
            if part is not None:
                parts.append(part)
        return parts


def _openai_part(block: Any, blobs: dict[str, bytes]) -> Part | None:
    fields = mapping(block)
    if string(fields.get("type")) in ("image_url", "input_image"):
        return any_image(fields, blobs) or Notice("import", missing_picture(fields))
    text = block if isinstance(block, str) else string(fields.get("text")) or string(fields.get("refusal"))
    return Text(text) if text else plain_part(block, "", "", blobs)


class _OpenAIRun(_ListRun):
    def _take_role(self, role: str, message: dict[str, Any], line: int, size: int) -> str:
        if role in ("tool", "function"):
            return self._take_result(message, size)
        draft = self._draft(role, message, size)
        draft.parts = self._parts(message.get("content"), draft)
        if role == "assistant":
            legacy = message.get("function_call")
            calls = [{"function": legacy}] if isinstance(legacy, dict) else listing(message.get("tool_calls"))
            for index, call in enumerate(calls):
                self._take_call(mapping(call), draft, f"line-{line}-{index}")
        return self._add(draft, role)

    def _take_call(self, call: dict[str, Any], draft: Draft, fallback: str) -> None:
        function = mapping(call.get("function"))
        call_id = string(call.get("id"))
        self.tally.call(call_id or fallback)
        name = string(function.get("name")) or string(call.get("name")) or "unknown"
        arguments, raw = _arguments(function.get("arguments"))
        made = ToolCall(
            call_id=call_id or fallback,
            name=name,
            arguments=arguments,
            raw_arguments=raw,
            started=draft.created or None,
            touches=touches(name, arguments, raw),
        )
        self.desk.call(draft, made, call_id or f"\0{draft.session}")

    def _take_result(self, message: dict[str, Any], size: int) -> str:
        call_id = string(message.get("tool_call_id"))
        draft = self._draft("user", message, size)
        self.tally.result(call_id)
        result = result_parts(message.get("content"), draft.blobs)
        key = call_id or f"\0{draft.session}"
        if not self.desk.answer(key, result, failed=False, ended=draft.created, blobs=draft.blobs, size=size):
            draft.origin, draft.source = "import", "orphan_result"
            self.desk.orphan(draft.session, call_id, result, draft)
        return ""


def _arguments(given: Any) -> tuple[dict[str, Any], str]:
    """``(arguments, raw)``: raw only where the model's text is not a JSON object."""
    if isinstance(given, dict):
        return given, ""
    text = string(given)
    try:
        value = decode_text(text) if text else {}
    except (ValueError, RecursionError):
        return {}, text
    return (value, "") if isinstance(value, dict) else ({}, text)


class _AnthropicRun(_ListRun):
    def _take_role(self, role: str, message: dict[str, Any], line: int, size: int) -> str:
        draft = self._draft(role, message, size)
        content = message.get("content")
        answered = False
        for index, block in enumerate([content] if isinstance(content, str) else listing(content)):
            if is_result(block):
                call_id = string(block.get("tool_use_id"))
                self.tally.result(call_id)
                take_result(self.desk, draft.session, block, call_id or f"\0{draft.session}", draft.created, size)
                answered = True
            elif is_call(block):
                call_id = string(block.get("id"))
                self.tally.call(call_id)
                call = call_of(block, f"line-{line}-{index}", draft.created)
                self.desk.call(draft, call, call_id or f"\0{draft.session}")
            elif (part := plain_part(block, "anthropic", draft.model, draft.blobs)) is not None:
                draft.parts.append(part)
        if role == "assistant":
            draft.usage = usage_of(message.get("usage"))
        if not draft.parts and answered:
            return ""
        return self._add(draft, role)
