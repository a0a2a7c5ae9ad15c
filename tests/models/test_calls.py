"""Calls that a model wrote badly: what is repaired, what is left, what it is told (A-6)."""

# ruff: noqa: E501 - answers stand as they come

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.models.calls import WrittenCall, check_arguments, coerced, find_calls, parse_arguments

NAMES = frozenset({"read", "bash"})


@pytest.mark.design("A-6")
@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ("", {}),
        ("  \n", {}),
        ("null", {}),
        ("{}", {}),
        ('{"a": 1, "b": [true, null, "x"]}', {"a": 1, "b": [True, None, "x"]}),
        ('\n {"a": 1}\n', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}```', {"a": 1}),
        ('{"a": [1, 2,], "b": 3, }', {"a": [1, 2], "b": 3}),
        ('{"a": "x,]", }', {"a": "x,]"}),
        ('{"a": "x"', {"a": "x"}),
        ('{"a": {"b": ["x"', {"a": {"b": ["x"]}}),
        ('{"a": {"b": 1}', {"a": {"b": 1}}),
        ('{"a": [1]', {"a": [1]}),
        ('{"a": true ', {"a": True}),
        ('{"a": "say \\"hi\\""', {"a": 'say "hi"'}),
        ('{"a": 1}}', {"a": 1}),
        ('{"a": 1}]} \n', {"a": 1}),
        ("{'a': True, 'b': None, 'c': ('x', 2)}", {"a": True, "b": None, "c": ["x", 2]}),
        ("{'it': \"isn't\"}", {"it": "isn't"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('"{\\"a\\": \\"x\\"}"', {"a": "x"}),
        ('{"a": "two\nlines\tand a tab"}', {"a": "two\nlines\tand a tab"}),
        ('{"a": "two\nlines",}', {"a": "two\nlines"}),
    ],
)
def test_repaired(raw: str, arguments: dict[str, Any]) -> None:
    assert parse_arguments(raw) == (arguments, "")


@pytest.mark.design("A-6")
@pytest.mark.parametrize(
    "raw",
    [
        "hello", "[1]", "3", "true", '"text"', '""',
        '{"a": 12',  # perhaps 123
        '{"a": 1.',
        '{"a": "cut',
        '{"a": "cut\\"',
        '{"a": "x", ',  # something was to follow
        '{"a": "x", "b',
        '{"a":',
        '{"a"',
        '{"a": "x"} and more',
        '{"a": 1} {"b": 2}',
        '{"a": [1}',
        '{"a": NaN}', '{"a": -Infinity}',
        "{a: 1}",
        '{"a": undefined}',
        '{"path": "C:\\dir"}',  # a tab, a backslash, or a slip
        "{'a': '\\d'}",
        "{'a': b'x'}", "{'a': {1, 2}}", "{1: 'a'}", "{'a': 1j}", "{'a': float('nan')}",
        '{"a": ,}', "{", "}", "[" * 50_000, "{'a':" * 5_000, '"' + "\\" * 9 + '"',
        '"\\"{}\\""',  # encoded three times
    ],
)  # fmt: skip
def test_nothing_is_guessed(raw: str) -> None:
    assert parse_arguments(raw) == ({}, raw)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.text(max_size=6), _JSON, max_size=4)


@pytest.mark.design("A-6")
@settings(max_examples=100, deadline=None)
@given(_OBJECTS)
def test_every_object_comes_back_from_each_form(value: dict[str, Any]) -> None:
    plain = json.dumps(value)
    for form in (
        plain,
        json.dumps(value, ensure_ascii=False),
        json.dumps(plain),
        f"```json\n{plain}\n```",
        plain + "}",
        repr(value),
    ):
        arguments, raw = parse_arguments(form)
        if not raw:
            assert arguments == value
        else:
            assert form == repr(value)  # only a dict as Python prints it may stay as it is
    for end in range(1, len(plain)):
        arguments, raw = parse_arguments(plain[:end])
        assert raw in ("", plain[:end])
        assert part_of(arguments, value)


def part_of(small: Any, whole: Any) -> bool:
    """Whether nothing in it was made up: entries may be missing, none may differ."""
    match small, whole:
        case dict(), dict():
            return all(name in whole and part_of(one, whole[name]) for name, one in small.items())
        case list(), list():
            return len(small) <= len(whole) and all(map(part_of, small, whole))
        case _:
            return bool(small == whole) and type(small) is type(whole)


@pytest.mark.design("A-6")
@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="{}[]\"',:\\ntrue01 a", max_size=30))
def test_nothing_makes_it_fail(raw: str) -> None:
    arguments, left = parse_arguments(raw)
    assert left in ("", raw)
    assert not (left and arguments)


@pytest.mark.design("A-6")
@pytest.mark.parametrize(
    ("text", "before", "calls"),
    [
        (
            'Let me look.\n<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>\n',
            "Let me look.",
            [WrittenCall("read", {"path": "a"})],
        ),
        (
            '<tool_call>{"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}</tool_call>\n'
            '<tool_call>{"name": "bash", "parameters": {"command": "ls",}}</tool_call>',
            "",
            [WrittenCall("read", {"path": "a"}), WrittenCall("bash", {"command": "ls"})],
        ),
        (
            "<tool_call>\n<function=bash>\n<parameter=command>\nls\n\n</parameter>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>",
            "",
            [WrittenCall("bash", {"command": "ls\n", "n": "5"})],
        ),
        ('So: <function=read>{"path": "a"}</function>', "So:", [WrittenCall("read", {"path": "a"})]),
        ("<function=read></function>", "", [WrittenCall("read", {})]),
        (
            "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
            "",
            [WrittenCall("read", {"path": "a.py"})],
        ),
        (
            '```py\nx\n```\n<tool_call>{"name": "read", "arguments": {}}</tool_call>',
            "```py\nx\n```",
            [WrittenCall("read", {})],
        ),
        (
            '<tool_call>{"name": "read", "arguments": {"c": "<tool_call>{\\"name\\": \\"bash\\", \\"arguments\\": {}}</tool_call>"}}</tool_call>',
            "",
            [WrittenCall("read", {"c": '<tool_call>{"name": "bash", "arguments": {}}</tool_call>'})],
        ),
    ],
)  # fmt: skip
def test_calls_as_text_are_found(text: str, before: str, calls: list[WrittenCall]) -> None:
    assert find_calls(text, NAMES) == (before, tuple(calls))


CALL = '<tool_call>{"name": "read", "arguments": {}}</tool_call>'


@pytest.mark.design("A-6")
@pytest.mark.report(103)
@pytest.mark.parametrize(
    "text",
    [
        "", "Nothing here.",
        CALL + " Shall I?",  # talk about a call
        f"The syntax is\n```\n{CALL}\n```",  # quoted
        f"The syntax is\n```xml\n{CALL}",  # quoted, the fence still open
        f"~~~\n{CALL}",
        '<tool_call>{"name": "write", "arguments": {}}</tool_call>',  # not a tool
        CALL + '\n<tool_call>{"name": "write", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "write", "arguments": {}}</tool_call>\n' + CALL,
        '<tool_call>{"name": "read", "arguments": {"path": "cut</tool_call>',
        '<tool_call>{"name": "read", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": "read"}</tool_call>',
        '<tool_call>{"name": "read", "arguments": {}, "result": 3}</tool_call>',
        'I call:\n```json\n{"name": "read", "arguments": {"path": "a"}}\n```',  # shown to a person
        '> <tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>',  # quoted
        '```json\n{"name": "read", "version": "1.0", "arguments": {}}\n```',  # some other document
        '```json\n{"name": "read"}\n```',
        "<function=read>path: a</function>",
        "<tool_call>read\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>a</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
        "<tool_call></tool_call>",
        "</tool_call>", "```", "</function>",
    ],
)  # fmt: skip
def test_talk_about_calls_is_no_call(text: str) -> None:
    assert find_calls(text, NAMES) == (text, ())


@pytest.mark.design("A-6")
def test_huge_answers_are_quick() -> None:
    for text in ("<tool_call>" * 90_000 + "</tool_call>", "```" * 200_000, CALL * 3_000, "<function=" * 90_000 + "</function>"):
        began = time.process_time()
        find_calls(text, NAMES)
        assert time.process_time() - began < 3


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "share": {"type": "number"},
        "mode": {"enum": ["fast", "slow"]},
        "deep": {"type": "boolean"},
        "lines": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}, "minItems": 1, "maxItems": 2},
        "maybe": {"type": ["integer", "null"]},
        "kind": {"const": "a"},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"edit": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]}},
}


@pytest.mark.design("A-6")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"path": "a"}, ""),
        ({"path": "a", "limit": 1, "share": 2, "mode": "slow", "deep": False, "lines": [1], "maybe": None, "kind": "a"}, ""),
        ({"path": "a", "limit": 10, "share": 0.5, "lines": None, "edits": [{"old": "x", "more": 1}]}, ""),
        ({}, "`path` is missing: it must be a string."),
        ({"pth": "a"}, "`path` is missing (`pth` was given): it must be a string. There is no argument `pth`: did you mean `path`?"),
        ({"path": 3}, "`path` must be a string, not 3."),
        ({"path": ""}, "`path` must have at least 1 characters, not 0."),
        ({"path": "a", "limit": 0}, "`limit` must be from 1 to 10, not 0."),
        ({"path": "a", "limit": 11}, "`limit` must be from 1 to 10, not 11."),
        ({"path": "a", "limit": "ten"}, '`limit` must be an integer, not "ten".'),
        ({"path": "a", "limit": 1.5}, "`limit` must be an integer, not 1.5."),
        ({"path": "a", "limit": True}, "`limit` must be an integer, not true."),
        ({"path": "a", "deep": 1}, "`deep` must be a boolean, not 1."),
        ({"path": "a", "mode": "fats"}, '`mode` must be one of "fast", "slow", not "fats". Did you mean "fast"?'),
        ({"path": "a", "mode": "zzzz"}, '`mode` must be one of "fast", "slow", not "zzzz".'),
        ({"path": "a", "kind": "b"}, '`kind` must be "a", not "b".'),
        ({"path": "a", "lines": "x"}, '`lines` must be an array or null, not "x".'),
        ({"path": "a", "lines": [1, "x"]}, '`lines` must be an array or null, not [1, "x"].'),
        ({"path": "a", "edits": [{"old": 1}]}, "`edits[0].old` must be a string, not 1."),
        ({"path": "a", "edits": []}, "`edits` must have from 1 to 2 entries, not 0."),
        ({"path": "a", "edits": [{"old": "a"}] * 3}, "`edits` must have from 1 to 2 entries, not 3."),
        ({"path": "a", "edits": [{}]}, "`edits[0].old` is missing: it must be a string."),
        ({"path": "a", "maybe": "x"}, '`maybe` must be an integer or null, not "x".'),
        ({"path": "a", "zzz": 1}, "There is no argument `zzz`: known are `path`, `limit`, `share`, `mode`, `deep`, `lines`, `edits`, `maybe`, `kind`."),
        ({"path": ["x" * 80]}, '`path` must be a string, not ["' + "x" * 55 + "...."),
    ],
)  # fmt: skip
def test_what_is_wrong(arguments: dict[str, Any], said: str) -> None:
    assert check_arguments(arguments, SCHEMA) == said


@pytest.mark.design("A-6")
def test_names_are_free_where_the_schema_says_nothing() -> None:
    open_schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    assert check_arguments({"more": 1}, open_schema) == ""
    assert check_arguments({}, {}) == ""
    assert check_arguments({"a": 1}, {"$ref": "#/nowhere"}) == ""
    assert check_arguments({"a": 1}, {"properties": {"a": {"$ref": "#"}}}) == ""
    many = {"type": "object", "properties": {f"a{i}": {"type": "string"} for i in range(9)}}
    assert check_arguments({f"a{i}": i for i in range(9)}, many).count("must be") == 5


@pytest.mark.design("A-6")
@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        ({"limit": "10"}, {"limit": 10}),
        ({"limit": 10.0}, {"limit": 10}),
        ({"limit": "10.0"}, {"limit": 10}),
        ({"limit": "ten"}, {"limit": "ten"}),
        ({"limit": "1.5"}, {"limit": "1.5"}),
        ({"limit": "true"}, {"limit": "true"}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"share": 2.0}, {"share": 2.0}),
        ({"deep": "True"}, {"deep": True}),
        ({"deep": "false"}, {"deep": False}),
        ({"deep": "yes"}, {"deep": "yes"}),
        ({"deep": "1"}, {"deep": "1"}),
        ({"path": "3"}, {"path": "3"}),
        ({"path": 3}, {"path": 3}),
        ({"lines": "[1, 2]"}, {"lines": [1, 2]}),
        ({"lines": "null"}, {"lines": None}),
        ({"lines": "x"}, {"lines": "x"}),
        ({"lines": ["1", 2]}, {"lines": [1, 2]}),
        ({"edits": '[{"old": "x"}]'}, {"edits": [{"old": "x"}]}),
        ({"edits": [{"old": "x"}]}, {"edits": [{"old": "x"}]}),
        ({"maybe": "4"}, {"maybe": 4}),
        ({"maybe": "null"}, {"maybe": None}),
        ({"unknown": "4"}, {"unknown": "4"}),
    ],
)
def test_what_is_meant(given_: dict[str, Any], meant: dict[str, Any]) -> None:
    before = json.dumps(given_)
    got = coerced(given_, SCHEMA)
    assert got == meant
    assert [type(one) for one in got.values()] == [type(one) for one in meant.values()]
    assert json.dumps(given_) == before
