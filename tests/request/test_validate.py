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


ALL = ["anthropic", "chat", "responses", "gemini"]


def made(*messages, system=(), tools=(), protocol="anthropic", **settings):
    request = ModelRequest(system, tools, messages, RequestSettings("m", **settings))
    return problems(request, protocol)


def assistant(*parts):
    return WireMessage("assistant", parts)


def user(*parts):
    return WireMessage("user", parts)


@pytest.mark.design("Q-3")
def test_a_good_request():
    good = (GO, assistant(TextPart("ok", A), call("a"), call("b")), user(answer("a"), answer("b"), TextPart("on", U)))
    assert [made(*good, protocol=protocol) for protocol in ALL] == [[], [], [], []]


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
@pytest.mark.parametrize("protocol", ALL)
def test_bad_requests(case, protocol):
    assert made(*BAD[case][0], protocol=protocol) != []


@pytest.mark.design("Q-3")
def test_what_one_protocol_alone_refuses():
    twice = (GO, assistant(TextPart("a", A)), assistant(TextPart("b", A)), GO)
    assert made(*twice) == ["message 2: a second one of role assistant in a row"]
    assert made(*twice, protocol="chat") == made(*twice, protocol="responses") == []
    assert made(*twice, protocol="gemini") == ["message 2: a second one of role assistant in a row"]
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


@pytest.mark.design("Q-3")
def test_what_responses_refuses():
    def said(*parts):
        return made(GO, assistant(*parts), GO, protocol="responses")

    text = TextPart("a", A)
    assert said(ReasoningPart("t", "rs_1", "enc", A), text) == []
    assert said(ReasoningPart("t", "rs_1", "", A), text) == ["message 1: thinking without its encrypted content"]
    assert said(ReasoningPart("t", "rs_1", "enc", A)) == ["message 1: nothing but thinking"]
    for length, found in ((1, 0), (64, 0), (65, 1), (0, 1)):
        name = "c" * length
        assert len(made(GO, assistant(call(name)), user(answer(name)), protocol="responses")) == found


@pytest.mark.design("Q-3", "Q-6")
def test_what_gemini_refuses():
    note = WireMessage("system", (TextPart("note", U),))
    assert made(GO, note, protocol="gemini") == ["message 1: the protocol has no system messages in mid-conversation"]
    assert made(GO, assistant(ReasoningPart("t", "", "", A)), GO, protocol="gemini") == ["message 1: nothing but thinking"]
    tools = [Tool(name, "d", {}, U) for name in ("a1", "_a", "1a", "-a")]
    assert made(GO, tools=tuple(tools[:2]), protocol="gemini") == []
    assert made(GO, tools=tuple(tools[2:]), protocol="gemini") == [
        "tool '1a': a name begins with a letter",
        "tool '-a': a name begins with a letter",
    ]


@pytest.mark.design("Q-6", "Q-3")
def test_where_a_system_message_may_stand():
    note = WireMessage("system", (TextPart("note", U),))
    said = assistant(TextPart("ok", A))
    for protocol in ("anthropic", "chat", "responses"):
        assert made(GO, note, said, GO, protocol=protocol) == []
        assert made(GO, note, protocol=protocol) == []
        assert made(GO, assistant(call()), user(answer()), note, said, GO, note, protocol=protocol) == []
        assert made(note, GO, protocol=protocol) != []
        assert made(GO, WireMessage("system", (call(),)), protocol=protocol) != []
        assert made(GO, WireMessage("system", (TextPart(" ", U),)), protocol=protocol) != []
        assert made(GO, assistant(call()), note, user(answer()), protocol=protocol) != []
    assert made(GO, said, note) == ["message 2: a system message behind one of role assistant"]
    assert made(GO, note, GO) == ["message 1: a system message before one of role user"]
    assert made(GO, note, GO, protocol="chat") == []
    assert made(GO, msgspec.structs.replace(note, mark="last")) == ["message 1: a cache mark on a system message"]


@pytest.mark.design("Q-3")
def test_thinking_that_does_not_fit():
    assert made(GO, thinking="1024", max_output=1_025) == []
    assert made(GO, thinking="1023", max_output=9_999) == ["thinking of 1,023 tokens: the protocol takes 1,024 or more"]
    assert made(GO, thinking="2000", max_output=2_000) == [], "the serialiser cuts it down"
    assert made(GO, thinking="high", max_output=5) == made(GO, thinking="off") == []
    assert made(GO, thinking="2000", tool_choice="bash") == ["tool choice 'bash': not while the model thinks"]
    assert made(GO, thinking="2000", tool_choice="auto") == made(GO, thinking="2000", tool_choice="none") == []
    assert made(GO, tool_choice="bash") == []
    assert made(GO, thinking="1", protocol="chat") == []
