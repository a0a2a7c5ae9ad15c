"""What a request costs to build, and what one more step costs on top (Q-1, T-7)."""

import gc
import statistics
import time

from bench._row import Row
from sojourn.base import Finish
from sojourn.meter import count_message
from sojourn.models import Encoder
from sojourn.models.encoder import Protocol
from sojourn.record import Message, Text, ToolCall
from sojourn.request import Projection, UnitHashes
from sojourn.wire import RequestSettings, Traits

SETTINGS = RequestSettings("m", 4_096)
SIZES = (1_000, 10_000)
PROTOCOLS: tuple[Protocol, ...] = ("anthropic", "chat")


def run(quick: bool) -> list[Row]:
    """Rows for windows of 1,000 and 10,000 messages; ``quick`` measures fewer steps."""
    rows = []
    for protocol in PROTOCOLS:
        steps = {size: _measure(protocol, size, 60 if quick else 400, rows) for size in SIZES}
        small, large = (steps[size] for size in SIZES)
        rows.append(
            Row(
                f"{protocol}: one more step, 10,000 over 1,000",
                large / small,
                "x",
                "what grows is the copying of flat lists, a pointer a message",
            )
        )
    return rows


def _measure(protocol: Protocol, size: int, steps: int, rows: list[Row]) -> float:
    """Adds its rows; returns milliseconds of one more step (projection, marks and body)."""
    stored = [_message(seq) for seq in range(1, size + 2 * steps + 1)]
    traits = Traits(name="m", protocol=protocol, marks=4 if protocol == "anthropic" else 0)
    projection, encoder = Projection(None, None, traits), Encoder(protocol)
    started = time.perf_counter()
    projection.extend(stored[:size])
    encoder.encode(projection.request(SETTINGS, size - 2))
    whole = (time.perf_counter() - started) * 1_000
    rows.append(Row(f"{protocol}: request of {size:,} messages", whole, "ms", "projected and encoded from nothing"))

    hashes = UnitHashes()
    hashes.of(encoder.encode(projection.request(SETTINGS, size - 2)))
    grown, hashed = [], []
    gc.disable()
    for start in range(size, size + 2 * steps, 2):
        began = time.perf_counter()
        projection.extend(stored[start : start + 2])
        body = encoder.encode(projection.request(SETTINGS, start))
        between = time.perf_counter()
        hashes.of(body)
        grown.append((between - began) * 1_000)
        hashed.append((time.perf_counter() - between) * 1_000)
    gc.enable()
    one = statistics.median(grown)
    rows.append(Row(f"{protocol}: one more step at {size:,}", one, "ms", f"{whole / one:,.0f} times cheaper than from nothing"))
    rows.append(
        Row(f"{protocol}: its unit hashes at {size:,}", statistics.median(hashed), "ms", "a row of the ledger holds them all")
    )
    return one


def _message(seq: int) -> Message:
    """Turn and turn about: the user's line, a step with two parallel calls of about 2 KB of results each."""
    if seq % 10 == 1:
        message = Message(f"u{seq}", "user", "user", (Text(f"now look at module {seq} and fix what is broken there"),), seq)
        return count_message(message)
    calls = tuple(
        ToolCall(
            f"c{seq}_{n}",
            "read",
            {"path": f"src/module_{seq}.py"},
            state="completed",
            result=(Text(f"line {n} of {seq}\n" * 120),),
        )
        for n in range(2)
    )
    parts = (Text(f"I read module {seq}."), *calls)
    return count_message(Message(f"a{seq}", "assistant", "model", parts, seq, model="m", finish=Finish.TOOL_CALLS))
