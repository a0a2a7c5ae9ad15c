"""Claude Code sessions (JSONL), with their sub-agents.

Counts: messages = distinct assistant message ids (a line without id is one) + user lines that hold a message object,
result lines, summaries and meta lines too; calls and results = distinct ids. Nested sub-agent entries and queued
prompts are imported but not counted: they are not lines of this session.

A grown file's records begin with those of the shorter one, save the messages whose late parts (further blocks of the
same message id, results) arrived in the new lines.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from sojourn.base import Finish
from sojourn.importers.anthropic_blocks import call_of, holds_something, is_call, is_result, plain_part, take_result, usage_of
from sojourn.importers.claude_speech import sent_by_person, speaker
from sojourn.importers.desk import Desk, Draft
from sojourn.importers.drive import Tally, Used, drive, find_lines, forget
from sojourn.importers.fields import mapping, millis, string
from sojourn.importers.lines import decode_text
from sojourn.importers.outline import heads
from sojourn.importers.types import Done, Imported, ImportRecord, SessionStart, Skipped, SkippedLine
from sojourn.record import Origin, Text, ToolCall

_BOOKKEEPING = frozenset({
    "agent-name", "ai-title", "atis-latch", "attachment", "bridge-session", "custom-title", "file-history-snapshot",
    "frame-link", "last-prompt", "mode", "permission-mode", "pr-link", "progress", "queue-operation", "relocated",
    "result", "started", "summary", "system", "worktree-state",
})  # fmt: skip
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}
_REMEMBERED = 4_096
_FINISHES = {"max_tokens": Finish.LENGTH, "model_context_window_exceeded": Finish.LENGTH}


class Entry(msgspec.Struct):
    """The fields of a line that matter; everything else in it is not even built."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parentUuid: Any = None
    sessionId: Any = None
    timestamp: Any = None
    cwd: Any = None
    agentId: Any = None
    attributionAgent: Any = None
    isSidechain: Any = None
    isMeta: Any = None
    isCompactSummary: Any = None
    isVisibleInTranscriptOnly: Any = None
    isApiErrorMessage: Any = None
    isAbortedMidStream: Any = None
    origin: Any = None
    message: Any = None
    data: Any = None
    attachment: Any = None
    customTitle: Any = None
    aiTitle: Any = None
    parentToolUseID: Any = None


class ClaudeCode:
    """Importer of Claude Code's session files."""

    name = "claude-code"
    looks_for = 'JSON lines with "type" (user, assistant, summary, ...) and "sessionId", "parentUuid" or "leafUuid"'

    def matches(self, sample: bytes) -> bool:
        known = _BOOKKEEPING | {"user", "assistant"}
        return any(
            head.get("type") in known
            and ("sessionId" in head or "leafUuid" in head or "messageId" in head or "parentUuid" in head)
            for head in heads(sample)
        )

    def read(self, path: str) -> Iterator[ImportRecord]:
        return read_claude_code(path)


def read_claude_code(path: str, used: Used = forget) -> Iterator[ImportRecord]:
    """The file's own sessions, then those of its sub-agents' files; ``Done`` counts the file's own lines."""
    children = sorted(Path(path).with_suffix("").glob("subagents/agent-*.jsonl"))
    agents = frozenset(child.stem.removeprefix("agent-") for child in children)
    done: Done | None = None
    for record in drive(path, _Run(path, agents), msgspec.json.Decoder(Entry), used):
        if isinstance(record, Done):
            done = record
        else:
            yield record
    for child in children:
        yield from _child(child)
    if done is not None:
        yield done


def _child(path: Path) -> Iterator[ImportRecord]:
    for record in drive(str(path), _Run(str(path), frozenset()), msgspec.json.Decoder(Entry)):
        if isinstance(record, SkippedLine):
            skipped = record.skipped
            yield SkippedLine(Skipped(skipped.line, f"in {path.name}: {skipped.reason}"))
        elif isinstance(record, (SessionStart, Imported)):
            yield record


def _titles(path: str) -> dict[str, str]:
    """Titles that the file gives its sessions: a person's own before the program's, the last one of each kind."""
    found: dict[str, dict[str, str]] = {}
    for raw in find_lines(path, (b'"custom-title"', b'"ai-title"')):
        try:
            fields = mapping(decode_text(raw.decode(errors="replace")))
        except (ValueError, RecursionError):
            continue
        kind = string(fields.get("type"))
        title = string(fields.get(_TITLES.get(kind, "")))
        if title:
            found.setdefault(string(fields.get("sessionId")), {})[kind] = title
    return {session: kinds.get("custom-title") or kinds["ai-title"] for session, kinds in found.items()}


class _Run:
    def __init__(self, path: str, agent_files: frozenset[str]) -> None:
        self.desk = Desk()
        self.tally = Tally()
        self._titles = _titles(path)
        self._agent_files = agent_files
        file = Path(path)
        self._session = file.stem
        self._parent = file.parent.parent.name if file.parent.name == "subagents" else ""
        self._current: dict[str, Draft] = {}
        self._recent: dict[tuple[str, str], Draft] = {}
        self._sidechains: dict[str, str] = {}

    def take(self, value: Any, line: int, size: int) -> str:
        if isinstance(value, dict):
            value = msgspec.convert(value, Entry)
        if not isinstance(value, Entry):
            return "not a JSON object"
        kind = string(value.type)
        session = self._session_of(value)
        if kind in ("user", "assistant"):
            return self._take_message(value, session, line, size, counted=True)
        if kind == "progress" and string(mapping(value.data).get("type")) == "agent_progress":
            return self._take_nested(value, session, line, size)
        if kind == "attachment":
            return self._take_attachment(value, session, size)
        if kind in _TITLES and string(getattr(value, _TITLES[kind])):
            return ""
        detail = string(value.subtype) or string(mapping(value.data).get("type"))
        name = f"{kind} {detail}".strip()
        if kind in _BOOKKEEPING:
            return f"bookkeeping: {name}"
        return f"unknown record type: {name}" if name else "a record without a type"

    def finish(self) -> None:
        return

    # --- sessions ---

    def _session_of(self, entry: Entry) -> str:
        """The session of a line: the main one, a sub-agent's, or an inline side chain's (by its first line)."""
        main = string(entry.sessionId) or self._session
        agent = string(entry.agentId)
        if entry.isSidechain is not True:
            self._session = main
            return main
        if agent:
            return agent
        uuid = string(entry.uuid)
        chain = self._sidechains.get(string(entry.parentUuid)) or f"{main}/{uuid or 'sidechain'}"
        if uuid:
            self._sidechains[uuid] = chain
            if len(self._sidechains) > _REMEMBERED:
                del self._sidechains[next(iter(self._sidechains))]
        return chain

    def _begin(self, entry: Entry, session: str, model: str = "") -> None:
        main = string(entry.sessionId) or self._session
        is_child = session != main
        if is_child and not string(entry.agentId) and not self._parent:  # an inline side chain: its parent is in this file
            self.desk.begin(SessionStart(main, title=self._titles.get(main, ""), cwd=string(entry.cwd)))
        named = main if main not in (f"agent-{session}", session) else ""
        self.desk.begin(
            SessionStart(
                session,
                title=self._titles.get(session, ""),
                cwd=string(entry.cwd),
                model="" if model.startswith("<") else model,
                created=millis(entry.timestamp),
                parent_foreign_id=(named or self._parent) if is_child else "",
                agent=(string(entry.attributionAgent) or "subagent") if is_child else "main",
            )
        )

    # --- lines ---

    def _take_message(self, entry: Entry, session: str, line: int, size: int, *, counted: bool) -> str:
        message = entry.message
        if not isinstance(message, dict):
            return f"{entry.type} line without a message object"
        if counted:
            self.tally.message(string(message.get("id")) if entry.type == "assistant" else "")
        content = message.get("content")
        blocks = [block for block in (content if isinstance(content, list) else [content]) if holds_something(block)]
        if not blocks:
            return f"{entry.type} message without content"
        if entry.type == "assistant":
            self._begin(entry, session, string(message.get("model")))
            return self._take_assistant(entry, message, blocks, _Place(session, line, size, counted))
        self._begin(entry, session)
        return self._take_user(entry, blocks, _Place(session, line, size, counted))

    def _take_assistant(self, entry: Entry, message: dict[str, Any], blocks: list[Any], place: "_Place") -> str:
        draft = self._draft_of(entry, message, place)
        for index, block in enumerate(blocks):
            if is_call(block):
                call = call_of(block, f"line-{place.line}-{index}", draft.created)
                key = string(block.get("id")) or f"\0{place.session}"
                if place.counted:
                    self.tally.call(string(block.get("id")))
                self.desk.call(draft, call, key)
            elif is_result(block):
                self._take_result(block, place, draft.created)
            elif (part := plain_part(block, "anthropic", draft.model, draft.blobs)) is not None:
                draft.parts.append(part)
        draft.usage = usage_of(message.get("usage")) or draft.usage
        draft.finish = _FINISHES.get(string(message.get("stop_reason")), draft.finish)
        if entry.isAbortedMidStream is True:
            draft.finish = Finish.INTERRUPTED
        if draft.source == "api_error":
            draft.finish = Finish.ERROR
        return ""

    def _draft_of(self, entry: Entry, message: dict[str, Any], place: "_Place") -> Draft:
        """The message that the line belongs to: lines of one message id are one message, while it is here."""
        foreign_id = string(message.get("id"))
        known = self._recent.get((place.session, foreign_id)) if foreign_id else None
        if known is not None and not known.left:
            self.desk.grow(known, place.size)
            return known
        before = self._current.get(place.session)
        if before is not None:
            before.closed = True
        model = string(message.get("model"))
        source = "api_error" if entry.isApiErrorMessage is True else "synthetic" if model == "<synthetic>" else ""
        draft = Draft(
            place.session,
            "assistant",
            "import" if source else "model",
            source=source,
            created=millis(entry.timestamp),
            model=model,
            foreign_id=foreign_id or string(entry.uuid),
            size=place.size,
            closed=False,
        )
        self._current[place.session] = draft
        if foreign_id:
            self._recent[(place.session, foreign_id)] = draft
            while next(iter(self._recent.values())).left:
                del self._recent[next(iter(self._recent))]
        return self.desk.add(draft)

    def _take_user(self, entry: Entry, blocks: list[Any], place: "_Place") -> str:
        created = millis(entry.timestamp)
        speech: list[Any] = []
        for block in blocks:
            if is_result(block):
                self._take_result(block, place, created)
            else:
                speech.append(block)
        if speech:
            self._say(entry, speech, place, created)
        return ""

    def _take_result(self, block: dict[str, Any], place: "_Place", created: int) -> None:
        call_id = string(block.get("tool_use_id"))
        if place.counted:
            self.tally.result(call_id)
        take_result(self.desk, place.session, block, call_id or f"\0{place.session}", created, place.size)

    def _say(self, entry: Entry, blocks: list[Any], place: "_Place", created: int) -> None:
        """Blocks in a row with one speaker are one message; a picture goes with the words before it."""
        whole = self._speaker_of_line(entry, place.session)
        drafts: list[Draft] = []
        for block in blocks:
            blobs: dict[str, bytes] = {}
            part = plain_part(block, "", "", blobs)
            if part is None:
                continue
            origin, source = whole or (speaker(part.text) if isinstance(part, Text) else _same(drafts))
            if not drafts or (drafts[-1].origin, drafts[-1].source) != (origin, source):
                suffix = f":{len(drafts)}" if drafts else ""
                draft = Draft(place.session, "user", origin, source=source, created=created)
                draft.foreign_id = string(entry.uuid) + suffix
                drafts.append(draft)
            drafts[-1].parts.append(part)
            drafts[-1].blobs.update(blobs)
            if isinstance(part, Text) and part.text.startswith("[Request interrupted by user]"):
                self._interrupt(place.session)
        for draft in drafts:
            draft.size = place.size // len(drafts)
            self.desk.add(draft)

    def _speaker_of_line(self, entry: Entry, session: str) -> tuple[Origin, str] | None:
        if entry.isCompactSummary is True:
            return "import", "summary"
        if entry.isMeta is True or entry.isVisibleInTranscriptOnly is True:
            return "import", "meta"
        origin = mapping(entry.origin)
        if not sent_by_person(string(origin.get("kind")), string(origin.get("from"))):
            return "import", "agent_message"
        if session != (string(entry.sessionId) or self._session) or entry.isSidechain is True:
            return "import", "task"
        return None

    def _interrupt(self, session: str) -> None:
        """An answer without calls that the person stopped was cut short."""
        draft = self._current.get(session)
        if draft is not None and not draft.left and not any(isinstance(part, ToolCall) for part in draft.parts):
            draft.finish = draft.finish or Finish.INTERRUPTED

    def _take_nested(self, entry: Entry, session: str, line: int, size: int) -> str:
        """An entry of a sub-agent inside a progress line of its parent."""
        agent = string(mapping(entry.data).get("agentId")) or string(entry.parentToolUseID)
        if agent in self._agent_files:
            return "bookkeeping: progress agent_progress, read from the sub-agent's own file"
        nested = mapping(mapping(entry.data).get("message"))
        if string(nested.get("type")) not in ("user", "assistant") or not agent:
            return "bookkeeping: progress agent_progress"
        inner = msgspec.convert(nested, Entry)
        inner.sessionId, inner.cwd = session, entry.cwd
        return self._take_message(inner, agent, line, size, counted=False)

    def _take_attachment(self, entry: Entry, session: str, size: int) -> str:
        """A prompt typed while the agent was busy is speech; other attachments are notes of the program."""
        attachment = mapping(entry.attachment)
        kind = string(attachment.get("type"))
        if kind != "queued_command":
            return f"bookkeeping: attachment {kind}".rstrip()
        prompt = attachment.get("prompt")
        blocks = [block for block in (prompt if isinstance(prompt, list) else [prompt]) if holds_something(block)]
        if not blocks:
            return "bookkeeping: attachment queued_command without text"
        entry.origin = attachment.get("origin")
        if string(attachment.get("commandMode")) != "prompt":
            entry.isMeta = True
        self._begin(entry, session)
        self._say(entry, blocks, _Place(session, 0, size, False), millis(entry.timestamp))
        return ""


class _Place:
    """Where a message stands."""

    __slots__ = ("counted", "line", "session", "size")

    def __init__(self, session: str, line: int, size: int, counted: bool) -> None:
        self.session = session
        self.line = line
        self.size = size
        self.counted = counted


def _same(drafts: list[Draft]) -> tuple[Origin, str]:
    return (drafts[-1].origin, drafts[-1].source) if drafts else ("user", "")
