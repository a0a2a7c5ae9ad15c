"""Server-sent events with bare JSON among them (A-1)."""

import asyncio
import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.models.clients.lines import json_events


def read(*pieces):
    async def given_pieces():
        for piece in pieces:
            yield piece

    async def main():
        return [value async for value in json_events(given_pieces())]

    return asyncio.run(main())


@pytest.mark.design("A-1")
def test_events_comments_fields_and_bare_json():
    assert read(b'data: {"a":1}\n\ndata:{"a":2}\n\n') == [{"a": 1}, {"a": 2}]
    assert read(b': hi\n\nevent: x\nid: 7\nretry: 5\ndata: {"a":1}\n\n:\n') == [{"a": 1}]
    assert read(b'data: {"a":\ndata: 1}\n\n') == [{"a": 1}]
    assert read(b'data: {"a":1}\r\n\r\ndata: {"a":2}') == [{"a": 1}, {"a": 2}]
    assert read(b'data: {"a":1}\n\n{\n  "b": "data: 3"\n}\n') == [{"a": 1}, {"b": "data: 3"}]
    assert read(b'{"b":1}\ndata: {"a":1}\n\n') == [{"a": 1}, {"b": 1}]
    assert read(b'{"b":\n\n1}') == [{"b": 1}]
    assert read() == read(b"") == read(b"\n\n\n") == read(b": only\n\n") == []


@pytest.mark.design("A-2")
@pytest.mark.parametrize("bad", [b"data: {\n\n", b"data: [DONE]\n\n", b"<html>", b"data: {"])
def test_what_is_no_json(bad):
    with pytest.raises(msgspec.DecodeError):
        read(bad)


@pytest.mark.design("A-1")
@given(
    values=st.lists(st.text(st.sampled_from('aé漢😀\u2028\u0085\v \\"\n\r:{}')), max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=100, deadline=None)
def test_pieces_end_anywhere(values, cuts, end):
    stream = "".join(f"data: {json.dumps(value, ensure_ascii=False)}{end}{end}" for value in values).encode()
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    assert read(*(stream[one:two] for one, two in pairwise(places))) == values
