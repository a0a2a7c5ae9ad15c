"""Pi sessions (JSONL, versions 1 to 3).

Counts: messages = ``message`` entries of any role (results and shell commands too); calls = ``toolCall`` blocks;
results = ``toolResult`` entries. All entries are imported in file order, branches that were left too; compaction and
branch summaries become ``summary`` messages. A grown file's records begin with those of the shorter one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sojourn.base import Finish, Usage
from sojourn.importers.content import any_image, joined_text, missing_picture, result_parts, result_text
from sojourn.importers.desk import Desk, Draft
from sojourn.importers.drive import Tally, Used, drive, find_lines, forget
from sojourn.importers.fields import count, listing, mapping, millis, optional_count, string, title_of
from sojourn.importers.lines import decode_text
from sojourn.importers.outline import heads
from sojourn.importers.touches import touches
from sojourn.importers.types import ImportRecord, SessionStart
from sojourn.record import Notice, Part, Reasoning, Text, ToolCall

_BOOKKEEPING = frozenset({"custom", "label", "model_change", "session_info", "thinking_level_change"})
_FINISHES = {"length": Finish.LENGTH, "error": Finish.ERROR, "aborted": Finish.INTERRUPTED}


class Pi:
    """Importer of pi's session files."""

    name = "pi"
    looks_for = 'a first JSON line {"type": "session", "id", "timestamp", "cwd"}'

    def matches(self, sample: bytes) -> bool:
        found = heads(sample)
        if any(head.get("type") == "session" and "id" in head and "cwd" in head for head in found):
            return True
        return any(head.get("type") == "message" and "message" in head and "sessionId" not in head for head in found)

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_pi(path)


def read_pi(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    return drive(path, _Run(path), msgspec.json.Decoder(), used)


def _title(path: str) -> str:
    title = ""
    for raw in find_lines(path, (b'"session_info"',)):
        try:
            entry = mapping(decode_text(raw.decode(errors="replace")))
        except (ValueError, RecursionError):
            continue
        if entry.get("type") == "session_info":
            title = string(entry.get("name")) or title
    return title_of(title)


class _Run:
    def __init__(self, path: str) -> None:
        self.desk = Desk()
        self.tally = Tally()
        self._session = ""
        self._stem = Path(path).stem
        self._title = _title(path)

    def take(self, value: Any, line: int, size: int) -> str:
        if not isinstance(value, dict):
            return "not a JSON object"
        kind = string(value.get("type"))
        created = millis(value.get("timestamp"))
        if kind == "session":
            return self._take_header(value, created)
        if kind == "message":
            return self._take_message(value, created, line, size)
        if kind in ("compaction", "branch_summary"):
            return self._speak(value, "summary", string(value.get("summary")), created, size)
        if kind == "custom_message":
            return self._speak(value, "custom", joined_text(value.get("content")), created, size)
        if kind == "session_info" and string(value.get("name")):
            return ""
        return f"bookkeeping: {kind}" if kind in _BOOKKEEPING else f"unknown record type: {kind or 'none'}"

    def finish(self) -> None:
        return

    def _take_header(self, header: dict[str, Any], created: int) -> str:
        if self._session:
            return "bookkeeping: session header again"
        self._session = string(header.get("id")) or self._stem
        model = string(header.get("modelId"))
        cwd = string(header.get("cwd"))
        self.desk.begin(SessionStart(self._session, title=self._title, cwd=cwd, model=model, created=created))
        return ""

    def _draft(self, entry: dict[str, Any], created: int, size: int) -> Draft:
        self._session = self._session or self._stem
        return Draft(self._session, "user", "import", created=created, foreign_id=string(entry.get("id")), size=size)

    def _speak(self, entry: dict[str, Any], source: str, text: str, created: int, size: int) -> str:
        if not text:
            return f"{string(entry.get('type'))} without text"
        draft = self._draft(entry, created, size)
        draft.source = source
        draft.parts.append(Text(text))
        self.desk.add(draft)
        return ""

    def _take_message(self, entry: dict[str, Any], created: int, line: int, size: int) -> str:
        message = entry.get("message")
        if not isinstance(message, dict) or not string(message.get("role")):
            return "message without a role"
        role = string(message.get("role"))
        created = millis(message.get("timestamp")) or created
        self.tally.message()
        if role == "toolResult":
            return self._take_result(entry, message, created, size)
        draft = self._draft(entry, created, size)
        if role == "assistant":
            return self._take_assistant(draft, message, line)
        if role == "user":
            draft.origin = "user"
            draft.parts = _parts(message.get("content"), draft.blobs, "", "")
        elif role == "bashExecution":
            draft.source = "command"
            command, output = string(message.get("command")), string(message.get("output"))
            text = result_text(output, draft.blobs) if output else None
            draft.parts = [Text(f"$ {command}"), *([text] if text else [])]
        else:
            draft.source = role
            draft.parts = _parts(message.get("content"), draft.blobs, "", "")
        if not draft.parts:
            return f"{role} message without content"
        self.desk.add(draft)
        return ""

    def _take_assistant(self, draft: Draft, message: dict[str, Any], line: int) -> str:
        draft.role, draft.origin = "assistant", "model"
        draft.model = string(message.get("model"))
        draft.finish = _FINISHES.get(string(message.get("stopReason")))
        draft.usage = _usage(mapping(message.get("usage")))
        provider = string(message.get("provider"))
        content = message.get("content")
        for index, block in enumerate([content] if isinstance(content, str) else listing(content)):
            fields = mapping(block)
            if fields.get("type") == "toolCall":
                self._take_call(draft, fields, f"line-{line}-{index}")
            else:
                draft.parts.extend(_parts([block], draft.blobs, provider, draft.model))
        error = string(message.get("errorMessage"))
        if error:
            draft.parts.append(Notice("error", error))
        if not draft.parts:
            return "assistant message without content"
        self.desk.add(draft)
        return ""

    def _take_call(self, draft: Draft, block: dict[str, Any], fallback: str) -> None:
        call_id = string(block.get("id"))
        self.tally.call(call_id)
        name = string(block.get("name")) or "unknown"
        given = block.get("arguments")
        arguments = mapping(given)
        raw = given if isinstance(given, str) else ""
        signature = string(block.get("thoughtSignature"))
        call = ToolCall(
            call_id=call_id or fallback,
            name=name,
            arguments=arguments,
            raw_arguments=raw,
            started=draft.created or None,
            touches=touches(name, arguments, raw),
            extra={"thought_signature": signature} if signature else {},
        )
        self.desk.call(draft, call, call_id or f"\0{draft.session}")

    def _take_result(self, entry: dict[str, Any], message: dict[str, Any], created: int, size: int) -> str:
        call_id = string(message.get("toolCallId"))
        self.tally.result(call_id)
        blobs: dict[str, bytes] = {}
        result = result_parts(message.get("content"), blobs)
        failed = message.get("isError") is True
        draft = self._draft(entry, created, size)
        key = call_id or f"\0{draft.session}"
        if not self.desk.answer(key, result, failed=failed, ended=created, blobs=blobs, size=size):
            draft.source, draft.blobs = "orphan_result", blobs
            self.desk.orphan(draft.session, call_id, result, draft)
        return ""


def _parts(content: Any, blobs: dict[str, bytes], provider: str, model: str) -> list[Part]:
    parts: list[Part] = []
    for block in [content] if isinstance(content, str) else listing(content):
        fields = {"type": "text", "text": block} if isinstance(block, str) else mapping(block)
        kind = string(fields.get("type"))
        if kind == "image":
            parts.append(any_image(fields, blobs) or Notice("import", missing_picture(fields)))
        elif kind == "thinking":
            signature = string(fields.get("thinkingSignature"))
            parts.append(Reasoning(string(fields.get("thinking")), provider, model, signature))
        elif string(fields.get("text")):
            parts.append(Text(string(fields["text"])))
    return parts


def _usage(fields: dict[str, Any]) -> Usage | None:
    """``input`` excludes what the cache gave or took."""
    usage = Usage(
        fresh=count(fields.get("input")),
        cached=optional_count(fields.get("cacheRead")),
        written=optional_count(fields.get("cacheWrite")),
        output=count(fields.get("output")),
    )
    return usage if usage.input or usage.output else None
