"""Pictures get their bytes just before a request leaves (A-1, Q-3)."""

import asyncio

import msgspec
import pytest

from sojourn.models.pictures import Pictures
from sojourn.wire import About, ImagePart, ModelRequest, RequestSettings, ResultPart, TextPart, WireMessage

A = About("x")


class Store:
    def __init__(self, **kept):
        self.kept = kept
        self.asked = []

    async def __call__(self, address):
        self.asked.append(address)
        return self.kept.get(address)


def picture(address, name="", data=""):
    return ImagePart("image/png", address, About("image", name), data)


def request(*messages):
    return ModelRequest((), (), messages, RequestSettings("m"))


def user(*parts):
    return WireMessage("user", parts, "last")


def fill(pictures, one):
    return asyncio.run(pictures.fill(one))


def shown(one):
    """What stands for each picture, in order: its data or its text."""
    found = []
    for message in one.messages:
        for part in message.parts:
            inner = part.content if isinstance(part, ResultPart) else (part,)
            found += [p.data if isinstance(p, ImagePart) else p.text for p in inner]
    return found


@pytest.mark.design("A-1")
def test_bytes_are_put_in_everywhere_and_nothing_else_changes():
    store = Store(aa=b"ABC", bb=b"\xff\xfe")
    result = ResultPart("c", "view", (TextPart("r", A), picture("bb"), picture("aa")), True, A)
    before = request(user(TextPart("a", A), picture("aa")), user(result, TextPart("d", A)))
    after = fill(Pictures(store, 100), before)
    assert shown(after) == ["a", "QUJD", "r", "//4=", "QUJD", "d"]
    assert sorted(store.asked) == ["aa", "bb"], "each is read once"
    assert [message.mark for message in after.messages] == ["last", "last"]
    assert shown(before)[1] == ""
    emptied = ModelRequest((), (), before.messages, before.settings)
    assert after.settings is before.settings
    assert emptied == before


@pytest.mark.design("A-1")
def test_without_pictures_it_is_the_same_object():
    one = request(user(TextPart("a", A)), user(ResultPart("c", "read", (TextPart("r", A),), False, A)))
    assert fill(Pictures(None, 1), one) is one
    two = request(user(TextPart("a", A)), user(picture("aa")))
    assert fill(Pictures(Store(aa=b"A"), 1), two).messages[0] is two.messages[0]


@pytest.mark.design("A-1", "Q-3")
@pytest.mark.parametrize("blobs", [None, Store(), Store(aa=b"")])
def test_a_picture_that_is_gone_is_named(blobs):
    got = shown(fill(Pictures(blobs, 9), request(user(picture("aa", "shot.png"), picture("a" * 64)))))
    assert got == [
        "[picture shot.png: image/png; its bytes are gone]",
        "[picture aaaaaaaaaaaa: image/png; its bytes are gone]",
    ]


@pytest.mark.design("Q-3")
@pytest.mark.parametrize(("most", "left"), [(4, 4), (3, 3), (2, 2), (1, 1), (0, 0)])
def test_the_oldest_beyond_what_the_model_takes_are_named(most, left):
    store = Store(a=b"A", b=b"B", c=b"C")
    result = ResultPart("c", "view", (picture("b", "b.png"),), False, A)
    one = request(user(picture("a", "a.png")), user(result, picture("c", "c.png")))
    got = shown(fill(Pictures(store, most), one))
    named = max(0, 3 - left)
    expected = [f"[picture {name}.png: image/png; left out: the model takes no more than {most} pictures]" for name in "abc"]
    assert got == [*expected[:named], *["QQ==", "Qg==", "Qw=="][named:]]
    assert sorted(store.asked) == list("abc")[named:], "what is not shown is not read"


@pytest.mark.design("A-1")
def test_what_the_request_before_held_is_not_read_again():
    store = Store(a=b"A", b=b"B")
    pictures = Pictures(store, 9)
    first = request(user(picture("a")))
    assert shown(fill(pictures, first)) == ["QQ=="]
    assert shown(fill(pictures, request(*first.messages, user(picture("b"))))) == ["QQ==", "Qg=="]
    assert store.asked == ["a", "b"]
    fill(pictures, request(user(picture("b"))))
    fill(pictures, first)
    assert store.asked == ["a", "b", "a"], "what is gone from the conversation is not kept"


@pytest.mark.design("A-1")
def test_data_that_is_there_already_stays():
    store = Store()
    assert shown(fill(Pictures(store, 9), request(user(picture("a", data="QUFB"))))) == ["QUFB"]
    assert store.asked == []
    assert msgspec.structs.replace(picture("a"), data="x").blob == "a"


@pytest.mark.design("A-1")
def test_two_requests_at_once():
    async def slow(address):
        await asyncio.sleep(0.01)
        return address.encode()

    async def main():
        pictures = Pictures(slow, 9)
        one, two = request(user(picture("a"), picture("b"))), request(user(picture("c")))
        return [shown(filled) for filled in await asyncio.gather(pictures.fill(one), pictures.fill(two))]

    assert asyncio.run(main()) == [["YQ==", "Yg=="], ["Yw=="]]
