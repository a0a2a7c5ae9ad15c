"""What each protocol's reader makes of a provider's events (A-1), without a socket."""

import asyncio

import pytest

from models.loopback import answers, events
from sojourn.base import ErrorKind, Finish, Usage
from sojourn.models import ENCODERS, canonical
from sojourn.models.clients import anthropic, chat, gemini, responses
from sojourn.wire import (
    About,
    CallEvent,
    CallPart,
    FinishEvent,
    ModelError,
    ModelRequest,
    ReasoningEvent,
    ReasoningPart,
    RequestSettings,
    TextEvent,
    TextPart,
    UsageEvent,
    WireMessage,
)

A = About("x")
MODULES = {"anthropic": anthropic, "chat": chat, "responses": responses, "gemini": gemini}


def read(protocol, *said):
    reader = MODULES[protocol].Reader()
    got = [one for event in said for one in reader.read(event)]
    return got + list(reader.end())


def refused(protocol, *said):
    """What came before the error, and the error."""
    reader, got = MODULES[protocol].Reader(), []
    try:
        for event in said:
            got += list(reader.read(event))
        for one in reader.end():
            got.append(one)
    except ModelError as error:
        return got, error
    raise AssertionError(f"no error, but {got}")


def again(protocol, got):
    """The parts of an answer as they go back, in the serialiser's form."""
    parts = []
    for event in got:
        match event:
            case TextEvent():
                parts.append(TextPart(event.text, A))
            case ReasoningEvent(done=True):
                parts.append(ReasoningPart(event.text, event.signature, event.redacted, A))
            case CallEvent():
                parts.append(CallPart(event.call_id, event.name, event.arguments, A, event.extra))
    request = ModelRequest((), (), (WireMessage("assistant", tuple(parts)),), RequestSettings("m"))
    body = ENCODERS[protocol](request)
    return body[MODULES[protocol].__dict__[protocol].CONVERSATION]


# --- Anthropic ----------------------------------------------------------------------------------------------------


def block(index, kind, *deltas, **start):
    opened = {"type": "content_block_start", "index": index, "content_block": {"type": kind, **start}}
    grown = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [opened, *grown, {"type": "content_block_stop", "index": index}]


def ended(word, **usage):
    return [{"type": "message_delta", "delta": {"stop_reason": word}, "usage": usage}, {"type": "message_stop"}]


def json_delta(text):
    return {"type": "input_json_delta", "partial_json": text}


def thought_delta(text):
    return {"type": "thinking_delta", "thinking": text}


TEXT = block(0, "text", {"type": "text_delta", "text": "ok"}, text="")


@pytest.mark.design("A-1", "Q-3")
@pytest.mark.report(60, 62)
def test_anthropic_thinking_text_and_calls_in_their_order():
    got = read(
        "anthropic",
        {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}}},
        *block(
            0,
            "thinking",
            thought_delta("let me"),
            thought_delta(" see"),
            {"type": "signature_delta", "signature": "S=="},
            thinking="",
            signature="",
        ),
        *block(1, "redacted_thinking", data="ENC"),
        *block(2, "text", {"type": "text_delta", "text": "ok"}, text=""),
        *block(3, "tool_use", json_delta('{"path":'), json_delta('"é"}'), id="t1", name="read", input={}),
        *block(4, "tool_use", id="t2", name="list", input={}),
        *ended("tool_use", output_tokens=40),
    )
    assert got == [
        ReasoningEvent("let me"),
        ReasoningEvent(" see"),
        ReasoningEvent("let me see", "S==", done=True),
        ReasoningEvent("", redacted="ENC", done=True),
        TextEvent("ok"),
        CallEvent("t1", "read", {"path": "é"}),
        CallEvent("t2", "list", {}),
        UsageEvent(Usage(fresh=5, cached=90, output=40)),
        FinishEvent(Finish.TOOL_CALLS, "tool_use"),
    ]
    assert again("anthropic", got)[0]["content"] == [
        {"type": "thinking", "thinking": "let me see", "signature": "S=="},
        {"type": "redacted_thinking", "data": "ENC"},
        {"type": "text", "text": "ok"},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "é"}},
        {"type": "tool_use", "id": "t2", "name": "list", "input": {}},
    ]


@pytest.mark.design("A-1", "Q-3")
@pytest.mark.report(60)
def test_signed_thinking_goes_back_byte_for_byte():
    """Odd white space, escapes, a very long signature: what came over the socket is what leaves."""
    thinking, signature = 'a\r\n\u2028 "q" \\ \u0000é😀', "Sig+/=" * 2_000
    stream = [
        *block(0, "thinking", thought_delta(thinking), {"type": "signature_delta", "signature": signature}, thinking=""),
        *block(1, "text", {"type": "text_delta", "text": "ok"}, text=""),
        *ended("end_turn", output_tokens=4),
    ]
    got, _ = asyncio.run(answers("anthropic", *events(*stream)))
    sent = canonical(again("anthropic", got)[0]["content"][0])
    assert sent == canonical({"type": "thinking", "thinking": thinking, "signature": signature})


@pytest.mark.design("A-1")
def test_anthropic_thinking_without_words_and_without_signature():
    signed = read(
        "anthropic", *block(0, "thinking", {"type": "signature_delta", "signature": "S"}, thinking=""), *ended("end_turn")
    )
    assert signed == [ReasoningEvent("", "S", done=True), FinishEvent(Finish.STOP, "end_turn")]
    plain = read("anthropic", *block(0, "thinking", thought_delta("hm"), thinking=""), *TEXT, *ended("end_turn"))
    assert plain[1] == ReasoningEvent("hm", done=True)
    whole = read("anthropic", *block(0, "thinking", thinking="all", signature="S"), *ended("end_turn"))
    assert whole[1] == ReasoningEvent("all", "S", done=True)


@pytest.mark.design("A-1")
def test_anthropic_servers_that_send_a_call_at_once_or_never_close_it():
    call = block(0, "tool_use", id="t", name="read", input={"a": 1})
    assert read("anthropic", *call, *ended("tool_use"))[0] == CallEvent("t", "read", {"a": 1})
    assert read("anthropic", call[0], *ended("tool_use"))[0] == CallEvent("t", "read", {"a": 1})
    both = block(0, "tool_use", json_delta('{"b":2}'), id="t", name="read", input={"a": 1})
    assert read("anthropic", *both, *ended("tool_use"))[0] == CallEvent("t", "read", {"b": 2})


@pytest.mark.design("M-2")
@pytest.mark.report(57)
@pytest.mark.parametrize(
    ("start", "end", "usage"),
    [
        ({"input_tokens": 9, "output_tokens": 1}, {"output_tokens": 5}, Usage(9, output=5)),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 9, "output_tokens": 5}, Usage(9, output=5)),
        ({"input_tokens": 9, "cache_read_input_tokens": 4}, {"input_tokens": 0, "output_tokens": 5}, Usage(9, 4, output=5)),
        (None, {"output_tokens": 5}, Usage(0, output=5)),
        ({"input_tokens": 9, "cache_read_input_tokens": None}, {"output_tokens": 5}, Usage(9, output=5)),
    ],
)
def test_anthropic_counts_at_the_start_or_at_the_end(start, end, usage):
    got = read("anthropic", {"type": "message_start", "message": {"usage": start}}, *TEXT, *ended("end_turn", **end))
    assert UsageEvent(usage) in got


@pytest.mark.design("A-1")
def test_anthropic_without_any_counts():
    assert read("anthropic", *TEXT, *ended("end_turn")) == [TextEvent("ok"), FinishEvent(Finish.STOP, "end_turn")]


# --- Chat ---------------------------------------------------------------------------------------------------------


def delta(word=None, **what):
    return {"choices": [{"index": 0, "delta": what, "finish_reason": word}]}


def piece(index, call_id=None, name=None, arguments=None, **more):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    head = {"index": index} if index is not None else {}
    return head | ({"id": call_id} if call_id is not None else {}) | {"function": function} | more


@pytest.mark.design("A-1")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_chat_thinking_is_unsigned_and_ends_where_the_text_begins(field):
    got = read("chat", delta(**{field: "let "}), delta(**{field: "me"}), delta(content="ok"), delta("stop"))
    assert got == [
        ReasoningEvent("let "),
        ReasoningEvent("me"),
        ReasoningEvent("let me", done=True),
        TextEvent("ok"),
        FinishEvent(Finish.STOP, "stop"),
    ]
    assert again("chat", got) == [{"role": "assistant", "content": "ok", "reasoning_content": "let me"}]


@pytest.mark.design("A-1")
def test_chat_thinking_before_a_call_and_alone():
    got = read("chat", delta(reasoning_content="hm"), delta("tool_calls", tool_calls=[piece(0, "c", "read", "{}")]))
    assert got[:3] == [ReasoningEvent("hm"), ReasoningEvent("hm", done=True), CallEvent("c", "read", {})]
    alone = read("chat", delta(reasoning_content="hm"), delta("stop"))
    assert alone == [ReasoningEvent("hm"), ReasoningEvent("hm", done=True), FinishEvent(Finish.STOP, "stop")]


@pytest.mark.design("A-1")
def test_chat_content_as_blocks():
    blocks = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "ok"}]
    assert read("chat", delta("stop", content=blocks))[:3] == [
        ReasoningEvent("hm"),
        ReasoningEvent("hm", done=True),
        TextEvent("ok"),
    ]
    assert read("chat", delta("stop", content=["a", {"type": "thinking", "thinking": "b"}]))[:2] == [
        TextEvent("a"),
        ReasoningEvent("b"),
    ]


CALLS = {
    "by number": [
        [piece(0, "c1", "read", "")], [piece(0, arguments='{"a"')], [piece(0, arguments=":1}")],
        [piece(1, "c2", "list", "{}")],
    ],
    "interleaved": [
        [piece(0, "c1", "read", '{"a"'), piece(1, "c2", "list", "{")], [piece(1, arguments="}"), piece(0, arguments=":1}")],
    ],
    "id in every piece": [
        [piece(0, "c1", "read", '{"a"')], [piece(0, "c1", None, ":1}")], [piece(1, "c2", "list", "{}")],
    ],
    "one number for all": [[piece(0, "c1", "read", '{"a":1}')], [piece(0, "c2", "list", "{}")]],
    "no numbers": [[piece(None, "c1", "read", '{"a":1}')], [piece(None, "c2", "list", "{}")]],
    "no numbers at once": [[piece(None, "c1", "read", '{"a":1}'), piece(None, "c2", "list", "{}")]],
    "id later": [[piece(0, None, "read", '{"a"')], [piece(0, "c1", None, ":1}")], [piece(1, "c2", "list", "{}")]],
    "no numbers, in pieces": [
        [piece(None, "c1", "read", '{"a"')], [piece(None, None, None, ":1}")], [piece(None, "c2", "list", "{}")],
    ],
    "name in every piece": [
        [piece(0, "c1", "read", '{"a"')], [piece(0, "c1", "read", ":1}")], [piece(1, "c2", "list", "{}")],
    ],
    "objects": [[piece(0, "c1", "read", {"a": 1}), piece(1, "c2", "list", {})]],
    "name later": [[piece(0, "c1")], [piece(0, None, "read", '{"a":1}')], [piece(1, "c2", "list")]],
}  # fmt: skip


@pytest.mark.design("A-1", "A-6")
@pytest.mark.parametrize("case", CALLS)
def test_chat_calls_as_servers_send_them(case):
    got = read("chat", *(delta(tool_calls=pieces) for pieces in CALLS[case]), delta("tool_calls"))
    assert got == [
        CallEvent("c1", "read", {"a": 1}),
        CallEvent("c2", "list", {}),
        FinishEvent(Finish.TOOL_CALLS, "tool_calls"),
    ]


@pytest.mark.design("A-1")
def test_chat_other_choices_and_whole_messages():
    two = {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}
    assert read("chat", two, {"choices": [{"message": {"content": "c"}, "finish_reason": "stop"}]})[:2] == [
        TextEvent("a"),
        TextEvent("c"),
    ]
    assert read("chat", {}, {"choices": None, "error": None}, delta("stop", content="a"), delta())[-1].raw == "stop"


@pytest.mark.design("A-1")
def test_chat_calls_without_ids_get_some():
    pieces = [piece(0, None, "read", "{}"), piece(1, "", "list", "{}")]
    got = read("chat", delta("stop", tool_calls=pieces))
    assert [one.call_id for one in got[:2]] == ["call_0", "call_1"]
    assert got[2] == FinishEvent(Finish.TOOL_CALLS, "stop")


@pytest.mark.design("A-1", "R-3")
def test_chat_provider_fields_of_a_call_go_back_with_it():
    extra = {"google": {"thought_signature": "S=="}}
    got = read("chat", delta("tool_calls", tool_calls=[piece(0, "c", "read", "{}", extra_content=extra)]))
    assert got[0] == CallEvent("c", "read", {}, extra={"extra_content": extra})
    assert again("chat", got)[0]["tool_calls"][0]["extra_content"] == extra
    bad = read("chat", delta("tool_calls", tool_calls=[piece(0, "c", "read", "{,", extra_content=extra)]))
    assert bad[0] == CallEvent("c", "read", {}, "{,", {"extra_content": extra})


@pytest.mark.design("M-2")
@pytest.mark.report(57)
def test_chat_usage_in_its_own_chunk_in_the_choice_and_in_every_chunk():
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    own = read("chat", delta("stop", content="a"), {"choices": [], "usage": usage})
    choice = delta("stop", content="a")
    choice["choices"][0]["usage"] = usage
    first = delta(content="a") | {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    for got in (own, read("chat", choice), read("chat", first, delta("stop") | {"usage": usage}, delta() | {"usage": None})):
        assert got[-2] == UsageEvent(Usage(9, output=5))


@pytest.mark.design("A-2")
def test_chat_refusal_in_its_own_field():
    got, error = refused(
        "chat", delta(refusal="I can"), delta("stop", refusal="not."), {"choices": [], "usage": {"prompt_tokens": 3}}
    )
    assert error.kind is ErrorKind.REFUSED
    assert "I cannot." in str(error)
    assert got == [UsageEvent(Usage(3))]


# --- Responses ----------------------------------------------------------------------------------------------------


def done(index, **item):
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def completed(status="completed", **more):
    kind = "response.incomplete" if status == "incomplete" else "response.completed"
    return {"type": kind, "response": {"status": status, **more}}


@pytest.mark.design("A-1", "Q-3")
@pytest.mark.report(60, 62)
def test_responses_thinking_text_and_calls_in_their_order():
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    got = read(
        "responses",
        {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "one"},
        {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "two"},
        done(0, type="reasoning", id="rs_1", summary=summary, encrypted_content="ENC"),
        {"type": "response.output_text.delta", "output_index": 1, "delta": "ok"},
        done(1, type="message", content=[{"type": "output_text", "text": "ok"}]),
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"a":1}'},
        done(2, type="function_call", id="fc_1", call_id="c1", name="read", arguments='{"a":1}'),
        completed(usage={"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}),
    )
    assert got == [
        ReasoningEvent("one"),
        ReasoningEvent("\n\n"),
        ReasoningEvent("two"),
        ReasoningEvent("one\n\ntwo", "rs_1", "ENC", done=True),
        TextEvent("ok"),
        CallEvent("c1", "read", {"a": 1}),
        UsageEvent(Usage(5, 4, output=5)),
        FinishEvent(Finish.TOOL_CALLS, "completed"),
    ]
    assert again("responses", got) == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "one\n\ntwo"}],
            "encrypted_content": "ENC",
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"a":1}'},
    ]


@pytest.mark.design("A-1", "Q-3")
def test_responses_thinking_that_was_not_encrypted_keeps_no_id():
    """Nothing is kept at the provider: an id alone would be refused."""
    plain = done(0, type="reasoning", id="rs_1", summary=[], content=[{"type": "reasoning_text", "text": "hm"}])
    heard = {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"}
    assert read("responses", heard, plain, completed())[1] == ReasoningEvent("hm", done=True)
    bare = done(0, type="reasoning", id="rs_1", summary=[], encrypted_content="ENC")
    got = read("responses", bare, completed())
    assert got[0] == ReasoningEvent("", "rs_1", "ENC", done=True)
    assert again("responses", got) == [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}]


@pytest.mark.design("A-1")
def test_responses_servers_that_send_whole_items_only():
    said = [{"type": "output_text", "text": "ok"}]
    got = read("responses", done(0, type="message", content=said), completed())
    assert got == [TextEvent("ok"), FinishEvent(Finish.STOP, "completed")]
    later = {"type": "response.output_text.delta", "output_index": 0, "delta": "ok"}
    twice = read("responses", later, done(0, type="message", content=said), done(1, type="message", content=said), completed())
    assert twice[:2] == [TextEvent("ok"), TextEvent("ok")]
    assert len(twice) == 3


@pytest.mark.design("A-2", "A-8")
def test_responses_that_are_incomplete():
    text = {"type": "response.output_text.delta", "output_index": 0, "delta": "ok"}
    cut = completed(
        "incomplete", incomplete_details={"reason": "max_output_tokens"}, usage={"input_tokens": 3, "output_tokens": 9}
    )
    assert read("responses", text, cut)[-2:] == [
        UsageEvent(Usage(3, output=9)),
        FinishEvent(Finish.LENGTH, "max_output_tokens"),
    ]
    got, error = refused("responses", cut)
    assert error.kind is ErrorKind.OUTPUT_TRUNCATED
    assert got == [UsageEvent(Usage(3, output=9))]
    _, error = refused("responses", text, completed("incomplete", incomplete_details={"reason": "content_filter"}))
    assert error.kind is ErrorKind.REFUSED


@pytest.mark.design("A-2")
@pytest.mark.parametrize(
    "said",
    [
        {"type": "response.refusal.delta", "output_index": 0, "delta": "No."},
        done(0, type="message", content=[{"type": "refusal", "refusal": "No."}]),
    ],
)
def test_responses_refusals(said):
    _, error = refused("responses", said, completed())
    assert error.kind is ErrorKind.REFUSED
    assert "No." in str(error)


# --- Gemini -------------------------------------------------------------------------------------------------------


def chunk(*parts, word=None, usage=None):
    candidate = {"content": {"role": "model", "parts": list(parts)}} | ({"finishReason": word} if word else {})
    return {"candidates": [candidate]} | ({"usageMetadata": usage} if usage else {})


@pytest.mark.design("A-1", "Q-3", "R-3")
@pytest.mark.report(60, 62)
def test_gemini_signatures_of_calls_go_back_where_they_were():
    got = read(
        "gemini",
        chunk({"text": "hm", "thought": True}),
        chunk({"functionCall": {"id": "g1", "name": "read", "args": {"a": 1}}, "thoughtSignature": "S1"}),
        chunk({"functionCall": {"name": "list"}}, word="STOP", usage={"promptTokenCount": 9, "thoughtsTokenCount": 3}),
    )
    assert got == [
        ReasoningEvent("hm"),
        ReasoningEvent("hm", done=True),
        CallEvent("g1", "read", {"a": 1}, extra={"thoughtSignature": "S1"}),
        CallEvent("call_1", "list", {}),
        UsageEvent(Usage(9, output=3, reasoning=3)),
        FinishEvent(Finish.TOOL_CALLS, "STOP"),
    ]
    assert again("gemini", got[2:]) == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "g1", "name": "read", "args": {"a": 1}}, "thoughtSignature": "S1"},
                {"functionCall": {"id": "call_1", "name": "list", "args": {}}},
            ],
        }
    ]


@pytest.mark.design("A-1", "Q-3")
def test_gemini_thoughts_wait_for_the_signature_of_the_text():
    got = read(
        "gemini",
        chunk({"text": "hm", "thought": True}),
        chunk({"text": "o"}),
        chunk({"text": "k", "thoughtSignature": "S"}, word="STOP"),
    )
    assert got == [
        ReasoningEvent("hm"),
        TextEvent("o"),
        TextEvent("k"),
        ReasoningEvent("hm", "S", done=True),
        FinishEvent(Finish.STOP, "STOP"),
    ]
    unsigned = read("gemini", chunk({"text": "hm", "thought": True}), chunk({"text": "ok"}, word="STOP"))
    assert unsigned[2] == ReasoningEvent("hm", done=True)


@pytest.mark.design("A-1", "Q-3")
def test_gemini_signature_without_words():
    got = read("gemini", chunk({"text": "ok"}), chunk({"text": "", "thoughtSignature": "S"}, word="STOP"))
    assert got[:2] == [TextEvent("ok"), ReasoningEvent("", "S", done=True)]
    assert again("gemini", got)[0]["parts"] == [{"text": "ok"}, {"text": "", "thoughtSignature": "S"}]


@pytest.mark.design("A-1")
def test_gemini_parts_and_candidates_that_may_be_missing():
    empty = [
        {},
        {"candidates": None},
        {"candidates": [{}]},
        {"candidates": [{"content": {}}]},
        {"candidates": [{"content": None}]},
    ]
    other = {"candidates": [{"content": {"parts": [{"text": "a"}]}}, {"content": {"parts": [{"text": "b"}]}}]}
    odd = chunk({"inlineData": {}}, {"functionCall": {"name": "read", "args": None}})
    got = read("gemini", *empty, other, odd, chunk(word="STOP"), {"usageMetadata": {"promptTokenCount": 3}}, {})
    assert got == [
        TextEvent("a"),
        CallEvent("call_0", "read", {}),
        UsageEvent(Usage(3)),
        FinishEvent(Finish.TOOL_CALLS, "STOP"),
    ]


@pytest.mark.design("A-1")
def test_gemini_thought_that_is_signed_itself():
    got = read("gemini", chunk({"text": "hm", "thought": True, "thoughtSignature": "S"}), chunk({"text": "ok"}, word="STOP"))
    assert got[:3] == [ReasoningEvent("hm"), ReasoningEvent("hm", "S", done=True), TextEvent("ok")]
    assert again("gemini", got)[0]["parts"][0] == {"text": "hm", "thought": True, "thoughtSignature": "S"}


@pytest.mark.design("A-2")
def test_gemini_prompt_that_is_blocked():
    _, error = refused("gemini", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert error.kind is ErrorKind.REFUSED
    assert "PROHIBITED_CONTENT" in str(error)
    assert read("gemini", chunk({"text": "ok"}, word="STOP") | {"promptFeedback": {}})[0] == TextEvent("ok")


# --- all ----------------------------------------------------------------------------------------------------------

BAD = '{"a": 1,}'
BAD_CALL = {
    "anthropic": [*block(0, "tool_use", json_delta(BAD), id="c", name="read", input={})],
    "chat": [delta(tool_calls=[piece(0, "c", "read", BAD)])],
    "responses": [done(0, type="function_call", call_id="c", name="read", arguments=BAD)],
}
GOOD_CALL = {
    "anthropic": [*block(1, "tool_use", json_delta("{}"), id="d", name="list", input={})],
    "chat": [delta(tool_calls=[piece(1, "d", "list", "{}")])],
    "responses": [done(1, type="function_call", call_id="d", name="list", arguments="{}")],
}
STOP = {"anthropic": ended("tool_use"), "chat": [delta("tool_calls")], "responses": [completed()]}
CUT = {
    "anthropic": ended("max_tokens"),
    "chat": [delta("length")],
    "responses": [completed("incomplete", incomplete_details={"reason": "max_output_tokens"})],
}


@pytest.mark.design("A-6", "A-8")
@pytest.mark.parametrize("protocol", BAD_CALL)
def test_bad_json_is_mended_but_never_where_the_answer_was_cut(protocol):
    whole = read(protocol, *BAD_CALL[protocol], *GOOD_CALL[protocol], *STOP[protocol])
    assert whole[:2] == [CallEvent("c", "read", {"a": 1}), CallEvent("d", "list", {})]
    cut = read(protocol, *BAD_CALL[protocol], *CUT[protocol])
    assert cut[0] == CallEvent("c", "read", {}, BAD)
    assert cut[-1].finish is Finish.LENGTH


GOOD = {**GOOD_CALL, "gemini": [chunk({"functionCall": {"id": "d", "name": "list"}})]}


@pytest.mark.design("A-1")
@pytest.mark.parametrize("protocol", ["anthropic", "responses", "gemini"])
def test_a_call_is_given_as_soon_as_it_is_whole(protocol):
    reader = MODULES[protocol].Reader()
    assert [one for event in GOOD[protocol] for one in reader.read(event)] == [CallEvent("d", "list", {})]


@pytest.mark.design("A-1")
def test_thinking_of_which_nothing_came_is_none():
    for said in ({"thinking": ""}, {"thinking": "", "signature": ""}):
        assert read("anthropic", *block(0, "thinking", **said), *TEXT, *ended("end_turn"))[0] == TextEvent("ok")
    bare = done(0, type="reasoning", id="rs_1", summary=[])
    text = {"type": "response.output_text.delta", "output_index": 1, "delta": "ok"}
    assert read("responses", bare, text, completed())[0] == TextEvent("ok")
    assert read("chat", delta(reasoning_content=""), delta("stop", content="ok"))[0] == TextEvent("ok")


@pytest.mark.design("A-1")
def test_responses_thinking_is_as_it_stands_at_its_end():
    heard = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"}
    whole = done(0, type="reasoning", id="rs_1", summary=[{"text": "other"}], encrypted_content="E")
    assert read("responses", heard, whole, completed())[1] == ReasoningEvent("other", "rs_1", "E", done=True)
    assert read("responses", whole, completed())[0] == ReasoningEvent("other", "rs_1", "E", done=True)


@pytest.mark.design("A-2")
@pytest.mark.parametrize(
    ("protocol", "event"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
        ("chat", {"error": {"type": "overloaded_error", "message": "x"}, "choices": []}),
        ("responses", {"type": "error", "error": {"code": "server_overloaded", "message": "x"}}),
        ("responses", {"type": "error", "code": "server_overloaded", "message": "x"}),
        ("responses", {"type": "response.failed", "response": {"error": {"code": "server_overloaded", "message": "x"}}}),
        ("gemini", {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
    ],
)
def test_errors_among_the_events(protocol, event):
    got, error = refused(protocol, event)
    assert got == []
    assert error.kind is ErrorKind.OVERLOADED


@pytest.mark.design("A-6")
def test_arguments_that_are_no_object_are_kept_as_they_came():
    got = read("chat", delta("tool_calls", tool_calls=[piece(0, "c", "read", "[1]")]))
    assert got[0] == CallEvent("c", "read", {}, "[1]")
    assert read("chat", delta("tool_calls", tool_calls=[piece(0, "c", "read", " \n")]))[0] == CallEvent("c", "read", {})


@pytest.mark.design("A-2")
@pytest.mark.parametrize("protocol", BAD_CALL)
def test_without_an_end_no_call_is_given_that_could_be_half(protocol):
    got, error = refused(protocol, *BAD_CALL[protocol])
    assert got == []
    assert error.kind is ErrorKind.UNAVAILABLE
    assert "broke off" in str(error)


@pytest.mark.design("A-2")
def test_chat_calls_wait_for_the_end():
    """Only the end tells that the last of them is whole."""
    got, _ = refused("chat", *GOOD_CALL["chat"])
    assert got == []


@pytest.mark.design("A-2")
def test_a_refusal_that_came_twice_is_told_once():
    piece_of_it = {"type": "response.refusal.delta", "output_index": 3, "delta": "No."}
    whole = done(3, type="message", content=[{"type": "refusal", "refusal": "No."}])
    _, error = refused("responses", piece_of_it, whole, completed())
    assert str(error).count("No.") == 1


@pytest.mark.design("A-2")
def test_a_failure_without_a_reason():
    _, error = refused("responses", {"type": "response.failed", "response": {}})
    assert error.kind is ErrorKind.UNAVAILABLE
    assert "the response failed" in str(error)
