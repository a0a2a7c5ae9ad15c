"""The validator finds what providers refuse (Q-3)."""

import msgspec
import pytest

from sojourn.request import problems
from sojourn.wire import (
    About,
    CallPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    ResultPart,
    SystemBlock,
    TextPart,
    Tool,
    WireMessage,
)  # fmt: skip

U, A = About("user"), About("assistant")
GO = WireMessage("user", (TextPart("go", U),))


def call(call_id="c"):
    return CallPart(call_id, "bash", {}, A)


def answer(call_id="c", text="r"):
    return ResultPart(call_id, "bash", (TextPart(text, U),) if text is not None else (), False, U)


def made(*messages, system=(), tools=(), protocol="anthropic"):
    request = ModelRequest(system, tools, messages, RequestSettings("m"))
    return problems(request, protocol)


def assistant(*parts):
    return WireMessage("assistant", parts)


def user(*parts):
    return WireMessage("user", parts)


@pytest.mark.design("Q-3")
def test_a_good_request():
    good = (GO, assistant(TextPart("ok", A), call("a"), call("b")), user(answer("a"), answer("b"), TextPart("on", U)))
    assert made(*good) == made(*good, protocol="chat") == []


BAD = {
    "no user": ((),),
    "system only": ((WireMessage("system", (TextPart("x", U),)),),),
    "model first": ((assistant(TextPart("hi", A)), GO),),
    "model last": ((GO, assistant(TextPart("hi", A))),),
    "never answered": ((GO, assistant(call())),),
    "not adjacent": ((GO, assistant(call()), GO, user(answer())),),
    "orphan result": ((user(answer()),),),
    "answered twice": ((GO, assistant(call()), user(answer(), answer())),),
    "wrong order": ((GO, assistant(call("a"), call("b")), user(answer("b"), answer("a"))),),
    "one missing": ((GO, assistant(call("a"), call("b")), user(answer("a"))),),
    "result behind text": ((GO, assistant(call()), user(TextPart("x", U), answer())),),
    "id used before": ((GO, assistant(call()), user(answer()), assistant(call()), user(answer())),),
    "blank text": ((GO, assistant(TextPart(" \n", A), call()), user(answer())),),
    "blank result": ((GO, assistant(call()), user(answer(text=" "))),),
    "empty result": ((GO, assistant(call()), user(answer(text=None))),),
    "no parts": ((WireMessage("user", ()),),),
    "users in a row": ((GO, GO),),
    "picture by the model": ((GO, assistant(ImagePart("image/png", "ab", A)), GO),),
    "call by the user": ((user(call()), user(answer())),),
    "thinking by the user": ((user(ReasoningPart("t", "s", "", U), TextPart("x", U)),),),
    "tool name": ((GO, assistant(CallPart("c", "a.b", {}, A)), user(answer())),),
}


@pytest.mark.design("Q-3")
@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_bad_requests(case, protocol):
    assert made(*BAD[case][0], protocol=protocol) != []


@pytest.mark.design("Q-3")
def test_what_one_protocol_alone_refuses():
    twice = (GO, assistant(TextPart("a", A)), assistant(TextPart("b", A)), GO)
    assert made(*twice) == ["message 2: a second one of role assistant in a row"]
    assert made(*twice, protocol="chat") == []
    for parts in ((ReasoningPart("t", "", "", A), TextPart("a", A)), (ReasoningPart("t", "s", "", A),)):
        assert made(GO, assistant(*parts), GO) != []
        assert made(GO, assistant(*parts), GO, protocol="chat") == []
    odd = (GO, assistant(call("a.b:0")), user(answer("a.b:0")))
    assert made(*odd) != []
    assert made(*odd, protocol="chat") == []


@pytest.mark.design("Q-3", "Q-5")
def test_the_opening_may_stand_alone_for_its_mark():
    opening = user(TextPart("L", About("opening")), TextPart("C", About("context")))
    assert made(opening, GO) == []
    assert made(opening, GO, protocol="chat") != []
    assert made(user(TextPart("L", About("opening")), TextPart("x", U)), GO) != []


@pytest.mark.design("Q-5")
def test_more_marks_than_the_protocol_takes():
    block = SystemBlock("x", U, "stable")
    marked = msgspec.structs.replace(GO, mark="last")
    assert made(marked, system=(block,) * 3) == []
    assert made(marked, system=(block,) * 4) == ["5 cache marks: the protocol takes 4"]


@pytest.mark.design("Q-3")
def test_system_and_tools():
    assert made(GO, system=(SystemBlock(" ", U),)) == ["system block 0: blank"]
    tool = Tool("bash", "d", {}, U)
    assert made(GO, tools=(tool, tool)) == ["tool bash: defined twice"]
    assert made(GO, tools=(msgspec.structs.replace(tool, name="n" * 64),)) == []
    assert len(made(GO, tools=(msgspec.structs.replace(tool, name="n" * 65),))) == 1
