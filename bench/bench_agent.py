"""The agent as its provider sees it: the time between an answer's last byte and the next request (Q-2, A-1, T-7).

A loopback server answers at once with one call of ``read``, so what is measured is ours alone: taking the answer in,
running the tool, three durable commits, the request, the SDK.
"""

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import msgspec

from bench._row import Row
from sojourn.agent import Agent
from sojourn.base import SystemClock
from sojourn.config import Folders
from sojourn.models.types import Choice
from sojourn.record.sqlite import SqliteStore

_LINES = 120
_WINDOW = 400_000


class _Answers(BaseHTTPRequestHandler):
    """Chat and Messages: a call of ``read`` until the steps are over, then a word."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    steps: ClassVar[int] = 0
    asked: ClassVar[int] = 0
    arrived: ClassVar[list[float]] = []
    left: ClassVar[list[float]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).arrived.append(time.perf_counter())
        type(self).asked += 1
        events = _anthropic(self.asked, self.steps) if self.path.endswith("/messages") else _chat(self.asked, self.steps)
        body = b"".join(events)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        type(self).left.append(time.perf_counter())

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def run(quick: bool) -> list[Row]:
    """Milliseconds: the median over the last third of the steps, against the first third; resident memory at the end."""
    steps = 40 if quick else 150
    rows: list[Row] = []
    for api in ("chat", "anthropic"):
        early, late, memory = asyncio.run(_session(api, steps))
        note = f"{api}, {steps} steps of one read of {_LINES} lines"
        rows.append(Row(f"{api}: from an answer to the next request, last third", late, "ms", note))
        rows.append(Row(f"{api}: last third over first third", late / early, "x", "goal at most 3: a window ten times as long"))
        rows.append(Row(f"{api}: resident memory at the end", memory, "MB", "this process, the server in it"))
    return rows


async def _session(api: str, steps: int) -> tuple[float, float, float]:
    _Answers.steps, _Answers.asked, _Answers.arrived, _Answers.left = steps, 0, [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}" + ("" if api == "anthropic" else "/v1")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "work").mkdir()
        (place / "work" / "a.txt").write_text("\n".join(f"line {n} of a file with words in it" for n in range(_LINES)))
        store = await SqliteStore.open(place / "sessions.db", clock=SystemClock())
        choice = Choice(model="bench", api=api, base_url=base, api_key="none", limit=_WINDOW)  # type: ignore[arg-type]
        agent = await Agent.open(
            store=store,
            cwd=place / "work",
            choice=choice,
            mode="full",
            trusted=True,
            environ={},
            places=Folders(place / "data", place / "config", place / "cache"),
        )
        await agent.turn("read it again and again")
        await agent.close()
        await store.close()
    server.shutdown()
    waits = [arrived - left for left, arrived in zip(_Answers.left, _Answers.arrived[1:], strict=False)]
    third = len(waits) // 3
    early, late = (statistics.median(part) * 1e3 for part in (waits[2 : third + 2], waits[-third:]))
    assert all(one <= two for one, two in pairwise(_Answers.arrived))
    return early, late, _resident()


def _resident() -> float:
    """MB."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


def _anthropic(asked: int, steps: int) -> list[bytes]:
    usage = {"input_tokens": asked * 1_500, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}
    head = {"id": f"m{asked}", "type": "message", "role": "assistant", "model": "bench", "content": [], "usage": usage}
    call = {"type": "tool_use", "id": f"c{asked}", "name": "read", "input": {}}
    more = asked <= steps
    block = call if more else {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": '{"path": "a.txt"}'} if more else {"type": "text_delta", "text": "done"}
    )
    reason = {"stop_reason": "tool_use" if more else "end_turn", "stop_sequence": None}
    return [
        _event("message_start", {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}}),
        _event("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}),
        _event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}),
        _event("content_block_stop", {"type": "content_block_stop", "index": 0}),
        _event("message_delta", {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 20}}),
        _event("message_stop", {"type": "message_stop"}),
    ]


def _chat(asked: int, steps: int) -> list[bytes]:
    more = asked <= steps
    function = {"name": "read", "arguments": '{"path": "a.txt"}'}
    delta = {"tool_calls": [{"index": 0, "id": f"c{asked}", "type": "function", "function": function}]} if more else {}
    base = {"id": f"m{asked}", "object": "chat.completion.chunk", "created": 0, "model": "bench"}
    told = {"role": "assistant", "content": None if more else "done", **delta}
    usage = {"prompt_tokens": asked * 1_500, "completion_tokens": 20, "total_tokens": asked * 1_500 + 20}
    chunks = (
        {**base, "choices": [{"index": 0, "delta": told, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if more else "stop"}]},
        {**base, "choices": [], "usage": usage},
    )
    return [b"data: " + msgspec.json.encode(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]
