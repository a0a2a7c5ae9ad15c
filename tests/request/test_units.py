"""A request as the provider caches it (Q-2)."""

import json
from functools import partial

import pytest

from sojourn.base import Finish
from sojourn.models import ENCODERS
from sojourn.prefix import build, section
from sojourn.record import Message, Text, ToolCall
from sojourn.request import UnitHashes, body_units, extends, first_difference, project, unit_hashes, units
from sojourn.wire import About, ModelRequest, ReasoningPart, RequestSettings, TextPart, Traits, WireMessage

PREFIX = build(
    [section("a", "s", "system", "stable", "A"), section("b", "s", "system", "dynamic", "B")],
    [{"name": "bash", "description": "runs", "schema": {}}, {"name": "read", "description": "reads", "schema": {}}],
)
STEP = [
    Message("u", "user", "user", (Text("go"),), 1),
    Message(
        "a",
        "assistant",
        "model",
        (Text("ok"), ToolCall("c", "bash", state="completed", result=(Text("r"),))),
        2,
        finish=Finish.TOOL_CALLS,
    ),
]


def request(stored=STEP, protocol="anthropic", previous=None, prefix=PREFIX, **settings):
    traits = Traits(protocol=protocol, marks=4 if protocol == "anthropic" else 0)
    return project(prefix, None, stored, traits, RequestSettings(**({"model": "m"} | settings)), previous)


def kinds(protocol):
    """What each unit of the request is, in order."""
    found = []
    for unit in map(json.loads, body_units(ENCODERS[protocol](request(protocol=protocol)))):
        tool = unit.get("tool")
        if tool:
            found.append(f"tool {tool.get('name') or tool['function']['name']}")
        else:
            found.append("settings" if "model" in unit else unit.get("role") or unit["type"])
    return found


@pytest.mark.design("Q-2")
def test_the_order_of_units():
    head = ["settings", "tool bash", "tool read"]
    assert kinds("anthropic") == [*head, "system", "system", "user", "assistant", "assistant", "user"]
    assert kinds("chat") == [*head, "system", "user", "assistant", "assistant", "tool"]
    items = ["system", "system", "user", "assistant", "function_call", "function_call_output"]
    assert kinds("responses") == [*head, *items]
    assert kinds("gemini") == [*head, "system", "system", "user", "model", "model", "user"]


@pytest.mark.design("Q-2")
def test_the_bytes_of_a_unit():
    got = units(request(), ENCODERS["anthropic"])
    assert got[0] == b'{"model":"m"}'
    assert got[1] == b'{"tool":{"name":"bash","description":"runs","input_schema":{}}}'
    assert got[4] == b'{"role":"system","part":{"type":"text","text":"\\n\\nB"}}'
    assert got[5] == b'{"role":"user","part":{"type":"text","text":"go"}}'
    assert got == body_units(ENCODERS["anthropic"](request()))
    other = units(request(protocol="gemini", thinking="off"), ENCODERS["gemini"])
    assert other[0] == b'{"model":"m","thinkingConfig":{"thinkingBudget":0}}'
    assert other[1] == b'{"tool":{"name":"bash","description":"runs","parametersJsonSchema":{}}}'
    assert other[4] == b'{"role":"system","part":{"text":"\\n\\nB"}}'
    assert other[5] == b'{"role":"user","part":{"text":"go"}}'
    other = units(request(protocol="responses", thinking="low"), ENCODERS["responses"])
    assert other[0] == b'{"model":"m","reasoning":{"effort":"low"}}'
    assert other[7] == b'{"type":"function_call","call_id":"c","name":"bash","arguments":"{}"}'


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", list(ENCODERS))
def test_marks_and_the_output_limit_are_no_part_of_it(protocol):
    encode = ENCODERS[protocol]
    marked = units(request(protocol=protocol, previous=1, max_output=5, cache_key="ses_1"), encode)
    assert marked == units(request(protocol=protocol), encode)


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", list(ENCODERS))
@pytest.mark.parametrize("settings", [{"model": "n"}, {"thinking": "high"}, {"thinking": "2000"}, {"tool_choice": "none"}])
def test_settings_of_the_cache_key_are(protocol, settings):
    encode = ENCODERS[protocol]
    changed = units(request(protocol=protocol, **settings), encode)
    assert first_difference(changed, units(request(protocol=protocol), encode)) == 0


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", list(ENCODERS))
def test_the_effort_of_thinking_is_too(protocol):
    high, low = (units(request(protocol=protocol, thinking=effort), ENCODERS[protocol]) for effort in ("high", "low"))
    assert first_difference(high, low) == 0


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", list(ENCODERS))
def test_a_text_is_the_same_unit_alone_and_beside_others(protocol):
    more = [STEP[0], Message("v", "user", "user", (Text("and"),), 2)]
    longer, shorter = (units(request(stored, protocol), ENCODERS[protocol]) for stored in (more, STEP[:1]))
    assert len(longer) == len(shorter) + 1
    assert longer[: len(shorter)] == shorter


@pytest.mark.design("Q-2")
def test_the_role_counts():
    said = Message("a", "assistant", "model", (Text("go"),), 2, finish=Finish.STOP)
    got = units(request([STEP[0], said]), ENCODERS["anthropic"])
    assert got[-1] != got[-2]


@pytest.mark.design("Q-2", "A-7")
def test_extends_and_the_first_difference():
    assert extends(["a", "b"], ["a", "b"])
    assert extends(["a", "b"], ["a"])
    assert extends(["a"], [])
    assert not extends(["a"], ["a", "b"])
    assert not extends(["a", "c"], ["a", "b"])
    assert first_difference(["a", "c", "d"], ["a", "b", "d"]) == 1
    assert first_difference(["a"], ["a", "b"]) == 1
    assert first_difference(["x"], ["a", "b"]) == 0
    assert first_difference(["a", "b"], ["a"]) is None


@pytest.mark.design("Q-2", "Q-6")
def test_thinking_and_notes_count():
    user = WireMessage("user", (TextPart("go", About("user")),))
    note = WireMessage("system", (TextPart("note", About("reminder")),))
    thought = ReasoningPart("hm", "", "", About("assistant"))
    said = WireMessage("assistant", (thought, TextPart("ok", About("assistant"))))
    one = ModelRequest((), (), (user, note, said), RequestSettings("m"))
    assert units(one, ENCODERS["chat"])[2:] == [
        b'{"role":"system","part":{"type":"text","text":"note"}}',
        b'{"role":"assistant","part":{"type":"reasoning","text":"hm"}}',
        b'{"role":"assistant","part":{"type":"text","text":"ok"}}',
    ]
    assert units(one, ENCODERS["anthropic"])[2] == b'{"role":"system","part":{"type":"text","text":"note"}}'


@pytest.mark.design("R-15", "Q-2")
@pytest.mark.parametrize("protocol", list(ENCODERS))
def test_hashes_follow_what_changes_between_two_bodies(protocol):
    hashes, encode = UnitHashes(), ENCODERS[protocol]
    of = partial(request, protocol=protocol)
    for one in (of(), of(STEP[:1]), of(prefix=None), of(model="n"), of(list(reversed(STEP)))):
        assert hashes.of(encode(one)) == unit_hashes(units(one, encode))


@pytest.mark.design("R-15")
def test_hashes_are_16_hex_characters_and_tell_apart():
    hashes = unit_hashes([b"a", b"b", b"a"])
    assert hashes == ("ca978112ca1bbdca", "3e23e8160039594a", "ca978112ca1bbdca")
