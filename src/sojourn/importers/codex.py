"""Codex rollouts (JSONL), with or without the envelope of the newer versions.

Counts: messages = ``response_item`` messages of any role; calls and results = distinct ``call_id`` of function, custom
and local shell calls and of their outputs (searches on the provider's side have no call of ours).

``event_msg`` lines mirror the items for display. Only ``user_message`` is used: it is the surest sign of what a person
typed, so a message with the same text gets origin ``user``; one without its mirror is judged by its first words.
A grown file's records begin with those of the shorter one, save the last message of each kind still open.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sojourn.base import Finish, Usage
from sojourn.importers.content import any_image, joined_text, missing_picture, picture, result_parts
from sojourn.importers.desk import Desk, Draft
from sojourn.importers.drive import Tally, Used, drive, find_lines, forget
from sojourn.importers.fields import count, listing, mapping, millis, optional_count, string, title_of
from sojourn.importers.lines import decode_text
from sojourn.importers.outline import heads
from sojourn.importers.touches import touches
from sojourn.importers.types import ImportRecord, SessionStart
from sojourn.record import Notice, Part, Reasoning, Text, ToolCall

_ENVELOPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
_BARE = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_UNCOUNTED = frozenset({"tool_search_call", "tool_search_output"})
_DONE_CALLS = {"web_search_call": "web_search", "image_generation_call": "image_generation"}
_BOUNDARIES = frozenset({"task_started", "task_complete", "turn_aborted", "context_compacted"})
_INJECTED = re.compile(r"\s*(?:# AGENTS\.md instructions|<[a-z][a-z_-]*(?: [a-z]+=[^>]*)?>)")
_REMEMBERED = 8


class Codex:
    """Importer of Codex rollout files."""

    name = "codex"
    looks_for = 'JSON lines with "type" (session_meta, response_item, event_msg, ...) and "payload"'

    def matches(self, sample: bytes) -> bool:
        found = heads(sample)
        if any(head.get("type") in _ENVELOPES and "payload" in head for head in found):
            return True
        bare = any(head.get("type") in _BARE and ("call_id" in head or "content" in head) for head in found)
        return bare and any("instructions" in head or "record_type" in head for head in found)

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_codex(path)


def read_codex(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    return drive(path, _Run(path), msgspec.json.Decoder(), used)


def _title(path: str) -> str:
    title = ""
    for raw in find_lines(path, (b'"thread_name_updated"',)):
        try:
            payload = mapping(mapping(decode_text(raw.decode(errors="replace"))).get("payload"))
        except (ValueError, RecursionError):
            continue
        if payload.get("type") == "thread_name_updated":
            title = string(payload.get("thread_name")) or title
    return title_of(title)


class _Run:
    def __init__(self, path: str) -> None:
        self.desk = Desk()
        self.tally = Tally()
        self._session = ""
        self._stem = Path(path).stem
        self._title = _title(path)
        self._model = ""
        self._cwd = ""
        self._answer: Draft | None = None
        self._answer_ended = False
        self._typed: deque[str] = deque(maxlen=_REMEMBERED)  # said by an event, its item has not come yet
        self._unsure: deque[tuple[str, Draft]] = deque(maxlen=_REMEMBERED)  # items whose event may still come

    def take(self, value: Any, line: int, size: int) -> str:
        if not isinstance(value, dict):
            return "not a JSON object"
        kind = string(value.get("type"))
        created = millis(value.get("timestamp"))
        payload = value.get("payload")
        if kind in _BARE and not isinstance(payload, dict):
            return self._take_item(value, created, line, size)
        if not kind and ("instructions" in value or "record_type" in value):
            return self._take_meta(value, created)
        if not isinstance(payload, dict):
            return f"{kind or 'record'} without a payload"
        if kind == "session_meta":
            return self._take_meta(payload, created)
        if kind == "response_item":
            return self._take_item(payload, created, line, size)
        if kind == "event_msg":
            return self._take_event(payload, created, size)
        if kind == "compacted":
            return self._take_compacted(payload, created, size)
        if kind == "turn_context":
            self._model = string(payload.get("model")) or self._model
            self.desk.begin(SessionStart(self._name(), model=self._model))
        return f"bookkeeping: {kind}" if kind in _ENVELOPES or kind.endswith("_metadata") else f"unknown type: {kind}"

    def finish(self) -> None:
        return

    def _take_meta(self, meta: dict[str, Any], created: int) -> str:
        """The first one names the session; it is repeated at every resume."""
        name = string(meta.get("id")) or string(meta.get("session_id"))
        if self._session or not name:
            return "bookkeeping: session_meta again" if self._session else "bookkeeping: state"
        self._session = name
        self._cwd = string(meta.get("cwd"))
        spawn = mapping(mapping(mapping(meta.get("source")).get("subagent")).get("thread_spawn"))
        parent = string(meta.get("parent_thread_id")) or string(spawn.get("parent_thread_id"))
        self.desk.begin(
            SessionStart(
                name,
                title=self._title,
                cwd=self._cwd,
                created=millis(meta.get("timestamp")) or created,
                parent_foreign_id=parent,
                agent=(string(spawn.get("agent_role")) or "subagent") if parent else "main",
            )
        )
        return ""

    def _name(self) -> str:
        self._session = self._session or self._stem
        return self._session

    # --- items ---

    def _take_item(self, item: dict[str, Any], created: int, line: int, size: int) -> str:
        kind = string(item.get("type"))
        if kind == "message":
            return self._take_message(item, created, size)
        if kind == "reasoning":
            self._grown(created, size).parts.append(_reasoning(item, self._model))
            return ""
        if kind in _CALLS:
            return self._take_call(item, kind, created, line, size)
        if kind in _OUTPUTS:
            return self._take_output(item, kind, created, size)
        if kind in _DONE_CALLS:
            return self._take_done_call(item, kind, created, line, size)
        if kind == "agent_message":
            text = joined_text(item.get("content"))
            self._speak(Draft(self._name(), "user", "import", source="agent_message", created=created), text, size)
            return ""
        return f"bookkeeping: {kind}" if kind == "ghost_snapshot" else f"unknown item: {kind or 'no type'}"

    def _take_message(self, item: dict[str, Any], created: int, size: int) -> str:
        role = string(item.get("role"))
        self.tally.message()
        blobs: dict[str, bytes] = {}
        content = item.get("content")
        parts = _parts([content] if isinstance(content, str) else listing(content), blobs)
        if not parts:
            return f"{role or 'message'} without content"
        if role == "assistant":
            draft = self._grown(created, size)
            draft.parts.extend(parts)
            draft.blobs.update(blobs)
            draft.foreign_id = draft.foreign_id or string(item.get("id"))
            return ""
        text = joined_text(content)
        stopped = text.lstrip().startswith("<turn_aborted>")
        if stopped:
            self._interrupt()
        self._end_answer()
        draft = Draft(self._name(), "user", "import", created=created, foreign_id=string(item.get("id")), size=size)
        draft.parts, draft.blobs = parts, blobs
        if role != "user":
            draft.source = "system" if role == "system" else "developer"
            self.desk.add(draft)
            return ""
        if text.strip() in self._typed:
            self._typed.remove(text.strip())  # the event came first and already stands as this message
            return "" if not blobs else self._add_pictures(draft)
        if _INJECTED.match(text):
            draft.source = "interrupted" if stopped else "environment"
            draft.closed = False
        else:
            draft.origin = "user"
        self._unsure.append((text.strip(), draft))
        self.desk.add(draft)
        return ""

    def _add_pictures(self, draft: Draft) -> str:
        draft.origin = "user"
        draft.parts = [part for part in draft.parts if not isinstance(part, Text)]
        self.desk.add(draft)
        return ""

    def _grown(self, created: int, size: int) -> Draft:
        """The assistant message that one answer of the model makes: its reasoning, texts and calls."""
        if self._answer is None or self._answer_ended or self._answer.left:
            self._end_answer()
            self._settle_unsure()
            draft = Draft(self._name(), "assistant", "model", created=created, model=self._model, closed=False)
            self._answer = self.desk.add(draft)
            self._answer_ended = False
        self.desk.grow(self._answer, size)
        return self._answer

    def _end_answer(self) -> None:
        if self._answer is not None:
            self._answer.closed = True
        self._answer = None

    def _interrupt(self) -> bool:
        """An answer without calls that the person stopped was cut short."""
        draft = self._answer
        if draft is None or draft.left or any(isinstance(part, ToolCall) for part in draft.parts):
            return False
        draft.finish = Finish.INTERRUPTED
        return True

    def _settle_unsure(self) -> None:
        for _, draft in self._unsure:
            draft.closed = True

    def _take_call(self, item: dict[str, Any], kind: str, created: int, line: int, size: int) -> str:
        draft = self._grown(created, size)
        call_id = string(item.get("call_id")) or string(item.get("id"))
        if kind not in _UNCOUNTED:
            self.tally.call(call_id)
        name = string(item.get("name")) or kind.removesuffix("_call")
        given = item.get("input") if kind == "custom_tool_call" else item.get("arguments", item.get("action"))
        arguments, raw = _arguments(given, free=kind == "custom_tool_call")
        call = ToolCall(
            call_id=call_id or f"line-{line}",
            name=name,
            arguments=arguments,
            raw_arguments=raw,
            started=created or None,
            touches=touches(name, arguments, raw),
            extra={"custom": True} if kind == "custom_tool_call" else {},
        )
        self.desk.call(draft, call, call_id or f"\0{draft.session}")
        return ""

    def _take_output(self, item: dict[str, Any], kind: str, created: int, size: int) -> str:
        self._answer_ended = True
        call_id = string(item.get("call_id"))
        if kind not in _UNCOUNTED:
            self.tally.result(call_id)
        output = item.get("tools") if kind == "tool_search_output" else item.get("output")
        failed = False
        if isinstance(output, dict) and "content" in output:  # older: {"content", "success"}
            failed = output.get("success") is False
            output = output["content"]
        blobs: dict[str, bytes] = {}
        result = result_parts(output, blobs)
        session = self._name()
        if not self.desk.answer(call_id or f"\0{session}", result, failed=failed, ended=created, blobs=blobs, size=size):
            draft = Draft(session, "user", "import", source="orphan_result", created=created, blobs=blobs, size=size)
            self.desk.orphan(session, call_id, result, draft)
        return ""

    def _take_done_call(self, item: dict[str, Any], kind: str, created: int, line: int, size: int) -> str:
        """Calls that the provider itself carried out: complete as they stand."""
        draft = self._grown(created, size)
        blobs: dict[str, bytes] = {}
        made = picture(item.get("result"), "image/png", blobs) if kind == "image_generation_call" else None
        prompt = string(item.get("revised_prompt"))
        draft.parts.append(
            ToolCall(
                call_id=string(item.get("id")) or f"line-{line}",
                name=_DONE_CALLS[kind],
                arguments=mapping(item.get("action")) or ({"prompt": prompt} if prompt else {}),
                state="error" if item.get("status") == "failed" else "completed",
                result=(made,) if made else (),
                started=created or None,
                ended=created or None,
                extra={"hosted": True},
            )
        )
        draft.blobs.update(blobs)
        return ""

    # --- events ---

    def _take_event(self, event: dict[str, Any], created: int, size: int) -> str:
        kind = string(event.get("type"))
        if kind == "user_message":
            return self._take_typed(string(event.get("message")), created, size)
        if kind == "token_count":
            return self._take_usage(mapping(mapping(event.get("info")).get("last_token_usage")))
        if kind == "thread_name_updated" and string(event.get("thread_name")):
            return ""
        if kind in _BOUNDARIES:
            self._answer_ended = True
        if kind == "turn_aborted" and self._interrupt():
            return ""
        return f"bookkeeping: {kind}" if kind else "event without a type"

    def _take_typed(self, text: str, created: int, size: int) -> str:
        """What the person typed: confirms the item with the same text, or stands for the one that is not there."""
        plain = text.strip()
        if not plain:
            return "user_message without text"
        known = next((pair for pair in self._unsure if pair[0] == plain), None)
        if known is not None:
            self._unsure.remove(known)
            known[1].origin, known[1].source, known[1].closed = "user", "", True
            self.desk.learn(known[1])
            return ""
        self._typed.append(plain)
        self._end_answer()
        self._speak(Draft(self._name(), "user", "user", created=created), text, size)
        return ""

    def _take_usage(self, usage: dict[str, Any]) -> str:
        """``input_tokens`` includes what the cache gave."""
        draft = self._answer
        self._answer_ended = True
        cached = optional_count(usage.get("cached_input_tokens"))
        written = optional_count(usage.get("cache_write_input_tokens"))
        total = count(usage.get("input_tokens"))
        if draft is None or draft.left or not total:
            return "bookkeeping: token_count"
        draft.usage = Usage(
            fresh=max(0, total - (cached or 0) - (written or 0)),
            cached=cached,
            written=written,
            output=count(usage.get("output_tokens")),
            reasoning=optional_count(usage.get("reasoning_output_tokens")),
        )
        return ""

    def _take_compacted(self, payload: dict[str, Any], created: int, size: int) -> str:
        summary = string(payload.get("message"))
        if not summary:
            return "bookkeeping: compacted"
        self._end_answer()
        self._speak(Draft(self._name(), "user", "import", source="summary", created=created), summary, size)
        return ""

    def _speak(self, draft: Draft, text: str, size: int) -> None:
        draft.size = size
        draft.parts.append(Text(text))
        self.desk.add(draft)


def _reasoning(item: dict[str, Any], model: str) -> Reasoning:
    texts = joined_text(item.get("summary")) or joined_text(item.get("content"))
    return Reasoning(texts, provider="openai", model=model, redacted=string(item.get("encrypted_content")))


def _arguments(given: Any, *, free: bool) -> tuple[dict[str, Any], str]:
    """``(arguments, raw)``: JSON text of an object as the object, anything else exactly as written."""
    if isinstance(given, dict):
        return given, ""
    text = given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)
    if free or not text:
        return {}, text
    try:
        value = decode_text(text)
    except (ValueError, RecursionError):
        return {}, text
    return (value, "") if isinstance(value, dict) else ({}, text)


def _parts(content: list[Any], blobs: dict[str, bytes]) -> list[Part]:
    parts: list[Part] = []
    for block in content:
        fields = {"text": block} if isinstance(block, str) else mapping(block)
        if string(fields.get("type")) == "input_image":
            parts.append(any_image(fields, blobs) or Notice("import", missing_picture(fields)))
        elif string(fields.get("text")):
            parts.append(Text(string(fields["text"])))
    return parts
