"""What a change of the prefix is made of (P-7)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.prefix import Difference, build, difference, rewritten_tokens, section

SECTIONS = [
    section("identity_line", "s", "system", "stable", "I am"),
    section("role", "s", "system", "stable", "a role of some words"),
    section("env", "s", "system", "dynamic", "an environment"),
    section("skills", "s", "context", "dynamic", "skills of some kind"),
    section("date", "s", "context", "dynamic", "today"),
]
TOOLS = [{"name": name, "description": f"does {name}", "schema": {"a": 1}} for name in ("bash", "read")]


def changed(index, text):
    return [msgspec.structs.replace(one, text=text) if place == index else one for place, one in enumerate(SECTIONS)]


@pytest.mark.design("P-7")
@pytest.mark.report(48, 54)
def test_each_part_that_differs_with_its_tokens():
    old = build(SECTIONS, TOOLS)
    assert difference(old, build(SECTIONS, TOOLS)) == ()
    new = build(changed(2, "another environment, longer than before"), [{**TOOLS[0], "description": "other"}, TOOLS[1]])
    found = difference(old, new)
    assert [one.part for one in found] == ["tool bash", "system dynamic"]
    assert (found[1].before, found[1].after) == (old.system[2].tokens, new.system[2].tokens)
    assert 0 < found[0].before != found[0].after > 0


@pytest.mark.design("P-7")
def test_what_came_and_what_went():
    old, new = build(SECTIONS[:4], TOOLS[:1]), build([*SECTIONS[:3], SECTIONS[4]], TOOLS[1:])
    assert [(one.part, bool(one.before), bool(one.after)) for one in difference(old, new)] == [
        ("tool read", False, True),
        ("tool bash", True, False),
        ("context context_opening", False, True),
        ("context date", False, True),
        ("context context_closing", False, True),
        ("context skills", True, False),
    ]


@pytest.mark.design("P-7")
def test_the_same_parts_in_another_order():
    one, two = section("a", "h", "context", "stable", "A"), section("b", "h", "context", "stable", "B")
    old, new = build([one, two], []), build([two, one], [])
    assert difference(old, new) == (Difference("order", old.tokens, new.tokens),)
    twice = build([one, msgspec.structs.replace(two, name="a")], [])
    other = build([one, msgspec.structs.replace(two, name="a", text="C")], [])
    assert [found.part for found in difference(twice, other)] == ["context a 2"]


@pytest.mark.design("P-7", "A-7")
def test_what_the_cache_cannot_give_back():
    old = build(SECTIONS, TOOLS)
    assert rewritten_tokens(old, old) == 0
    late = build(changed(4, "tomorrow"), TOOLS)
    assert rewritten_tokens(old, late) == sum(block.tokens for block in late.context[2:])
    early = build(SECTIONS, TOOLS[1:])
    assert rewritten_tokens(old, early) == early.tokens, "tools lie before everything"
    grown = build([*SECTIONS, section("more", "h", "context", "dynamic", "more")], TOOLS)
    assert rewritten_tokens(old, grown) == sum(block.tokens for block in grown.context[3:])


@pytest.mark.design("P-7")
@settings(max_examples=80, deadline=None)
@given(
    st.tuples(
        *[
            st.lists(
                st.tuples(st.sampled_from("abc"), st.sampled_from(["system", "context"]), st.sampled_from(["x", "y", "z"])),
                max_size=4,
            )
        ]
        * 2
    )
)
def test_always_a_difference_where_the_bytes_differ(pair):
    old, new = (build([section(name, "s", target, "stable", text) for name, target, text in one], []) for one in pair)
    assert bool(difference(old, new)) is (old.id != new.id)
    assert 0 <= rewritten_tokens(old, new) <= new.tokens
    if old.id == new.id:
        assert rewritten_tokens(old, new) == 0
