"""Texts as they are taken in: one count, one cap, large ones beside the row (R-8, Y-5)."""

import asyncio
import hashlib

import pytest

from engine.sessions import prose
from engine.telling import memory
from sojourn.engine.intake import result_cap, take_in
from sojourn.meter import estimate_text, total
from sojourn.record import (
    File,
    Image,
    Message,
    Text,
    ToolCall,
)


@pytest.mark.design("Y-5")
def test_the_cap_of_a_result_is_a_part_of_the_trigger_up_to_sixteen_thousand() -> None:
    assert [result_cap(trigger) for trigger in (7_200, 57_600, 106_666, 106_667, 900_000)] == [
        1_080,
        8_640,
        15_999,
        16_000,
        16_000,
    ]


def result(text: str, tokens: int) -> Message:
    call = ToolCall("c", "bash", {}, state="completed", result=(Text(text, {"prose": tokens}),))
    return Message(id="m", role="assistant", origin="model", parts=(call,))


@pytest.mark.design("R-8", "Y-5")
@pytest.mark.parametrize(
    ("text", "tokens", "stored"),
    [
        ("x" * 32_768, 1_000, "row"),
        ("x" * 32_769, 1_000, "blob"),
        ("x" * 8_193, 1_000, "row"),
        ("\U00028001" * 8_192, 1_000, "row"),
        ("\U00028001" * 8_193, 1_000, "blob"),
        ("\ud800" * 10_922, 1_000, "row"),
        ("\ud800" * 10_923, 1_000, "blob"),
    ],
)
def test_a_result_over_32_kib_lies_in_a_blob_and_stands_whole_in_view(text: str, tokens: int, stored: str) -> None:
    async def main() -> None:
        store = await memory()
        taken = (await take_in(result(text, tokens), store, 1_000)).parts[0].result[0]  # type: ignore[union-attr]
        if stored == "row":
            assert taken == Text(text, {"prose": tokens})
            assert (await store.space()).blobs == 0
        else:
            data = text.encode("utf-8", "surrogatepass")
            assert isinstance(taken, File)
            assert (taken.blob, taken.size) == (hashlib.sha256(data).hexdigest(), len(data))
            assert (taken.excerpt, taken.tokens) == (text, {"prose": tokens})
            assert taken.media_type == "text/plain; charset=utf-8"
            assert await store.blob(taken.blob) == data
        await store.close()

    asyncio.run(main())


@pytest.mark.design("Y-5", "R-8")
def test_a_result_over_the_cap_keeps_head_and_tail_and_names_its_blob() -> None:
    async def main() -> None:
        store = await memory()
        text = prose(1_000)
        size = total(estimate_text(text))
        whole = Message(id="m", role="assistant", origin="model", parts=(ToolCall("c", "bash", result=(Text(text),)),))
        kept = await take_in(whole, store, size)
        assert kept.parts[0].result == (Text(text, estimate_text(text)),)  # type: ignore[union-attr]
        cut = (await take_in(whole, store, size - 1)).parts[0].result[0]  # type: ignore[union-attr]
        assert isinstance(cut, File)
        assert total(cut.tokens) == total(estimate_text(cut.excerpt)) <= size - 1
        first, line, last = cut.excerpt.partition("[... about ")[0], cut.excerpt, cut.excerpt.rpartition("...]")[2]
        assert text.startswith(first.rstrip("\n"))
        assert text.endswith(last.lstrip("\n"))
        assert len(first) > len(last) > 0
        assert f'history {{"read": "blob:{cut.blob[:12]}", "from": ' in line
        # What people and models say, and pictures, stay as they are.
        picture = Image("b", "image/png", 5)
        parts = (Text(prose(9_000)), ToolCall("c", "look", result=(picture,)))
        said = await take_in(Message(id="m", role="user", origin="user", parts=parts), store, 10)
        assert said.parts[0].text == prose(9_000)  # type: ignore[union-attr]
        assert said.parts[0].tokens == estimate_text(prose(9_000))  # type: ignore[union-attr]
        assert said.parts[1].result[0].blob == "b"  # type: ignore[union-attr]
        await store.close()

    asyncio.run(main())
