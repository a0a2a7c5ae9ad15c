"""Looking things up in the record (R-13)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.record import File, Hit, Image, Message, Notice, Reasoning, Reminder, Text, ToolCall
from sojourn.tools.history import PAGE
from tools.desks import Blobs, Remembered, hands

pytestmark = pytest.mark.design("R-13", "Y-5")


def says(seq: int, text: str, role: Any = "user", origin: Any = "user", source: str = "") -> Message:
    return Message(id=f"m{seq}", role=role, origin=origin, parts=(Text(text),), seq=seq, source=source)


MESSAGES = [says(seq, f"words of {seq}\n") for seq in range(1, 450)]


def test_search_shows_hits_and_how_to_read_on(tmp_path: Path) -> None:
    async def main() -> None:
        hits = [Hit("s", 7 - n, "user" if n else "assistant", f"…drain {n}", 0) for n in range(2)]
        record = Remembered(hits=hits)
        async with hands(tmp_path, history=record) as do:
            expected = 'm7 assistant: …drain 0\nm6 user: …drain 1\n[whole message: history {"read": "m7"}]'
            assert await do.good("history", search=" drain task ") == expected
            assert await do.good("history", search="search drain task") == expected
            assert record.asked == [("drain task", 21), ("drain task", 21)]
            record.hits = []
            assert (await do.good("history", search="x")).startswith("Nothing found. Every word must occur in one message")
            for count, more in ((20, False), (21, True)):
                record.hits = [Hit("s", n, "user", "x", 0) for n in range(1, count + 1)]
                lines = (await do.good("history", search="searching")).split("\n")
                assert record.asked[-1] == ("searching", 21)
                assert (lines[-2] == "[... more: add a word]") is more
                assert lines[19] == "m20 user: x"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("read", "span"),
    [
        ("m12", (11, 12)),
        ("412", (411, 412)),
        (412, (411, 412)),
        ("#5", (4, 5)),
        ("M10-M12", (9, 12)),
        ("m10-12", (9, 12)),
        ("10..12", (9, 12)),
        ("m10 – m12", (9, 12)),
        ("m10 to m12", (9, 12)),
        ("m12-m10", (9, 12)),
        ("read m7", (6, 7)),
    ],
)
def test_messages_are_named_in_many_ways(tmp_path: Path, read: object, span: tuple[int, int]) -> None:
    async def main() -> None:
        record = Remembered(MESSAGES)
        async with hands(tmp_path, history=record) as do:
            said = await do.good("history", read=read)
            assert said == "\n".join(f"m{seq} user:\nwords of {seq}" for seq in range(span[0] + 1, span[1] + 1))
            assert record.asked == [span]

    asyncio.run(main())


def test_a_long_range_is_read_on(tmp_path: Path) -> None:
    async def main() -> None:
        record = Remembered(MESSAGES)
        async with hands(tmp_path, history=record) as do:
            said = await do.good("history", read="m1-m201")
            assert record.asked == [(0, 200)]
            assert said.endswith('m200 user:\nwords of 200\n[read on: history {"read": "m201-m201"}]')
            assert "read on" not in await do.good("history", read="m1-m200")
            assert await do.bad("history", read="m900") == "There is no message m900.\nFind one with search."
            assert await do.bad("history", read="m900-m901") == "There is no message m900 to m901.\nFind one with search."

    asyncio.run(main())


def test_a_message_is_shown_whole_with_its_calls(tmp_path: Path) -> None:
    async def main() -> None:
        parts = (
            Reasoning("secret"),
            Text("Looking.\n"),
            ToolCall("c", "bash", {"command": "ls 中"}, state="completed", result=(Text("a\nb\n"),)),
            ToolCall("d", "read", {}, raw_arguments="{bad", state="error", result=(Text("no"),)),
            ToolCall(
                "e",
                "bash",
                {},
                state="completed",
                result=(
                    File("ab" * 32, "text/plain", 1234, excerpt="head\n"),
                    Image("cd" * 32, "image/png", 9, pixels=(3, 4), name="p.png"),
                    Image("cd" * 32, "image/png", 9),
                ),
            ),
            Notice("k", "for people"),
            Reminder("todo", "remember"),
            File("ef" * 32, "text/csv", 5, name="t.csv"),
        )
        message = Message(id="m", role="assistant", origin="model", parts=parts, seq=3)
        engine = Message(id="e", role="user", origin="engine", source="window", parts=(Text("opened"),), seq=4)
        foreign = says(5, "summary", origin="import")
        async with hands(tmp_path, history=Remembered([message, engine, foreign])) as do:
            assert await do.good("history", read="m3-m5") == (
                "m3 assistant:\nLooking.\n"
                '[call bash {"command": "ls 中"}: completed]\na\nb\n'
                "[call read {bad: error]\nno\n"
                "[call bash {}: completed]\nhead\n[file text/plain, 1,234 bytes: blob:abababababab]\n"
                "[picture p.png, 3x4]\n[picture image/png]\n"
                "[reminder todo] remember\n[file t.csv, 5 bytes: blob:efefefefefef]\n"
                "m4 engine window:\nopened\nm5 import:\nsummary"
            )

    asyncio.run(main())


def test_a_kept_result_is_read_page_by_page(tmp_path: Path) -> None:
    async def main() -> None:
        blobs = Blobs()
        lines = [f"line {number:06}" for number in range(1, 5_001)]
        address = await blobs.put(("\n".join(lines) + "\n").encode())
        async with hands(tmp_path, history=Remembered(blobs=blobs)) as do:
            name = f"blob:{address[:12]}"
            each = PAGE // 12
            said = (await do.good("history", read=f"blob:{address}")).split("\n")
            assert said[0] == f"[{name}: lines 1-{each} of 5000]"
            assert said[1:-1] == lines[:each]
            call = said[-1].removeprefix("[read on: history ").removesuffix("]")
            assert json.loads(call) == {"read": name, "from": each + 1}
            # What it says to call brings the rest, to the last line.
            got = lines[:each]
            while call:
                said = (await do.good("history", **json.loads(call))).split("\n")
                more = said[-1].startswith("[read on: ")
                call = said[-1].removeprefix("[read on: history ").removesuffix("]") if more else ""
                got += said[1 : -1 if more else None]
            assert got == lines
            assert await do.good("history", read=f"blob {address[:8].upper()}", **{"from": 5000}) == (
                f"[blob:{address[:8]}: lines 5000-5000 of 5000]\nline 005000"
            )
            part = await do.good("history", read=name, **{"from": 2, "lines": 2})
            assert part.startswith(f"[{name}: lines 2-3 of 5000]\nline 000002\nline 000003\n[read on: ")
            assert await do.bad("history", read=name, **{"from": 5001}) == (
                f"{name} has 5,000 lines: 5,001 is behind its end.\nTake a smaller from."
            )
            one = await do.good("history", read=name, lines=1)
            assert one == f'[{name}: lines 1-1 of 5000]\nline 000001\n[read on: history {{"read": "{name}", "from": 2}}]'
            # Copied with what stands behind it.
            assert (await do.good("history", read=f"{name} ...]", **{"from": 5000})).endswith("line 005000")

    asyncio.run(main())


def test_one_endless_line_can_be_read_through(tmp_path: Path) -> None:
    async def main() -> None:
        blobs = Blobs()
        text = "".join(chr(33 + index % 90) for index in range(100_001))
        address = await blobs.put(text.encode())
        async with hands(tmp_path, history=Remembered(blobs=blobs)) as do:
            got, first = "", 1
            while first:
                said = (await do.good("history", read=f"blob:{address[:12]}", **{"from": first})).split("\n")
                assert said[0].endswith(" of 51]")
                more = said[-1].startswith("[read on: ")
                first = json.loads(said[-1][18:-1])["from"] if more else 0
                got += "".join(said[1 : -1 if more else None])
            assert got == text

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Give either search or read."),
        ({"search": "a", "read": "m1"}, "Give either search or read."),
        ({"read": "yesterday"}, "'yesterday' cannot be read.\nGive m12, m10-m20 or blob:<hex>; to find words use search."),
        ({"read": "blob:abc1234"}, "blob:abc1234 is too short.\nGive 8 hex digits at least."),
        ({"read": "blob:abc12345"}, "There is no blob abc12345."),
    ],
)
def test_what_cannot_be_looked_up_says_how(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    async def main() -> None:
        async with hands(tmp_path, history=Remembered()) as do:
            assert (await do.bad("history", **arguments)).startswith(said)
        async with hands(tmp_path) as do:
            assert (await do.bad("history", read="m1")).startswith("This session has no record to look into.")

    asyncio.run(main())


def test_a_picture_is_not_shown_as_text(tmp_path: Path) -> None:
    async def main() -> None:
        blobs = Blobs()
        address = await blobs.put(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
        async with hands(tmp_path, history=Remembered(blobs=blobs)) as do:
            assert "is not text (18 bytes)" in await do.bad("history", read=f"blob:{address}")

    asyncio.run(main())
