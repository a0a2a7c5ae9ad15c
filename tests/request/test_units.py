"""A request as the provider caches it (Q-2)."""

import pytest

from sojourn.base import Finish
from sojourn.models import ENCODERS
from sojourn.prefix import build, section
from sojourn.record import Message, Text, ToolCall
from sojourn.request import UnitHashes, body_units, extends, first_difference, project, unit_hashes, unit_labels, units
from sojourn.wire import RequestSettings, Traits

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


@pytest.mark.design("Q-2")
def test_the_order_of_units():
    assert unit_labels(ENCODERS["anthropic"](request())) == [
        "settings", "tool bash", "tool read", "system 1", "system 2",
        "message 1 user part 1", "message 2 assistant part 1", "message 2 assistant part 2", "message 3 user part 1",
    ]  # fmt: skip
    assert unit_labels(ENCODERS["chat"](request(protocol="chat"))) == [
        "settings", "tool bash", "tool read", "message 1 system part 1", "message 2 system part 1",
        "message 3 user part 1", "message 4 assistant part 1", "message 4 assistant part 2", "message 5 tool part 1",
    ]  # fmt: skip


@pytest.mark.design("Q-2")
def test_the_bytes_of_a_unit():
    got = units(request(), ENCODERS["anthropic"])
    assert got[0] == b'{"model":"m"}'
    assert got[1] == b'{"tool":{"name":"bash","description":"runs","input_schema":{}}}'
    assert got[4] == b'{"role":"system","part":{"type":"text","text":"\\n\\nB"}}'
    assert got[5] == b'{"role":"user","part":{"type":"text","text":"go"}}'
    assert got == body_units(ENCODERS["anthropic"](request()))


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_marks_and_the_output_limit_are_no_part_of_it(protocol):
    encode = ENCODERS[protocol]
    assert units(request(protocol=protocol, previous=1, max_output=5), encode) == units(request(protocol=protocol), encode)


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
@pytest.mark.parametrize("settings", [{"model": "n"}, {"thinking": "high"}, {"thinking": "2000"}, {"tool_choice": "none"}])
def test_settings_of_the_cache_key_are(protocol, settings):
    encode = ENCODERS[protocol]
    changed = units(request(protocol=protocol, **settings), encode)
    assert first_difference(changed, units(request(protocol=protocol), encode)) == 0


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
def test_the_effort_of_thinking_is_too(protocol):
    high, low = (units(request(protocol=protocol, thinking=effort), ENCODERS[protocol]) for effort in ("high", "low"))
    assert first_difference(high, low) == 0


@pytest.mark.design("Q-2")
@pytest.mark.parametrize("protocol", ["anthropic", "chat"])
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


@pytest.mark.design("R-15", "Q-2")
def test_hashes_follow_what_changes_between_two_bodies():
    hashes, encode = UnitHashes(), ENCODERS["anthropic"]
    for one in (request(), request(STEP[:1]), request(prefix=None), request(model="n"), request(list(reversed(STEP)))):
        assert hashes.of(encode(one)) == unit_hashes(units(one, encode))


@pytest.mark.design("R-15")
def test_hashes_are_16_hex_characters_and_tell_apart():
    hashes = unit_hashes([b"a", b"b", b"a"])
    assert hashes == ("ca978112ca1bbdca", "3e23e8160039594a", "ca978112ca1bbdca")
