"""Small transcripts made by hand, and what an import of one gives."""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from sojourn.importers import Done, Imported, ImportRecord, SessionStart, Skipped, SkippedLine, detect
from sojourn.importers.claude_code import read_claude_code
from sojourn.importers.codex import read_codex
from sojourn.importers.gemini import read_gemini
from sojourn.importers.message_lists import read_anthropic, read_openai
from sojourn.importers.pi import read_pi
from sojourn.importers.sojourn_jsonl import read_sojourn

READERS = {
    "claude-code": read_claude_code,
    "codex": read_codex,
    "gemini": read_gemini,
    "pi": read_pi,
    "openai-messages": read_openai,
    "anthropic-messages": read_anthropic,
    "sojourn-jsonl": read_sojourn,
}


class Result(NamedTuple):
    records: list[ImportRecord]
    used: set[int]

    @property
    def starts(self) -> list[SessionStart]:
        return [record for record in self.records if isinstance(record, SessionStart)]

    @property
    def imported(self) -> list[Imported]:
        return [record for record in self.records if isinstance(record, Imported)]

    @property
    def messages(self) -> list[Any]:
        return [record.message for record in self.imported]

    @property
    def skipped(self) -> list[Skipped]:
        return [record.skipped for record in self.records if isinstance(record, SkippedLine)]

    @property
    def done(self) -> Done:
        last = self.records[-1]
        assert isinstance(last, Done)
        return last

    def said(self) -> list[tuple[str, str, str]]:
        """``(origin, source, text)`` of every message."""
        return [
            (m.origin, m.source, "|".join(getattr(part, "text", part.__class__.__name__) for part in m.parts))
            for m in self.messages
        ]


def import_file(path: Path, format: str = "") -> Result:
    name = format or detect(str(path)).name
    used: set[int] = set()
    return Result(list(READERS[name](str(path), used.add)), used)


def as_bytes(line: Any) -> bytes:
    if isinstance(line, bytes):
        return line
    return line.encode() if isinstance(line, str) else json.dumps(line).encode()


def user(text: Any, uuid: str = "u", **fields: Any) -> dict[str, Any]:
    """A user line of Claude Code."""
    line = {"type": "user", "sessionId": "s1", "uuid": uuid, "parentUuid": None, "cwd": "/repo"}
    return {**line, "timestamp": "2026-01-02T03:04:05.678Z", "message": {"role": "user", "content": text}, **fields}


def assistant(*blocks: Any, id: str = "m1", uuid: str = "a", usage: Any = None, **fields: Any) -> dict[str, Any]:
    """An assistant line of Claude Code."""
    message = {"id": id, "role": "assistant", "model": "claude-x", "content": list(blocks), "usage": usage}
    line = {"type": "assistant", "sessionId": "s1", "uuid": uuid, "parentUuid": "u", "message": message}
    return {**line, "timestamp": "2026-01-02T03:04:06Z", **fields}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\1\2\3" * width for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
