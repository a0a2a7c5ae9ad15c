"""Where a request's tokens go; the parts add up to the total (M-4)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.meter import breakdown, estimate_text, estimate_value, total
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
    WirePart,
)


def request(*parts: WirePart, system: tuple[SystemBlock, ...] = (), tools: tuple[Tool, ...] = ()) -> ModelRequest:
    return ModelRequest(system, tools, (WireMessage("user", parts),) if parts else (), RequestSettings("m"))


def text(kind: str, tokens: int, name: str = "") -> TextPart:
    return TextPart("some text", About(kind, name, tokens=tokens))


def cost(words: str) -> int:
    return total(estimate_text(words))


FULL = request(
    text("context", 30),
    text("context", 40, "skills"),
    text("opening", 50, "recent_user"),
    text("opening", 60, "recent_activity"),
    text("opening", 5, "recent_user"),
    text("user", 70),
    text("reminder", 80, "date"),
    text("reminder", 90, "mode"),
    ReasoningPart("so", "sig", "", About("assistant", tokens=10)),
    text("assistant", 100),
    CallPart("c", "read", {}, About("assistant", tokens=11)),
    ResultPart(
        "c", "read", (text("result", 120), ImagePart("image/png", "b", About("result", tokens=130))), False, About("result")
    ),
    ImagePart("image/png", "b", About("image", tokens=140)),
    system=(
        SystemBlock("identity", About("system", tokens=10)),
        SystemBlock("how to use tools", About("system", "tools", tokens=15)),
        SystemBlock("rules", About("system", "dynamic", tokens=2)),
    ),
    tools=(
        Tool("read", "Reads.", {}, About("tools", "read", tokens=200)),
        Tool("mcp__web__get", "Gets.", {}, About("tools", "mcp__web__get", tokens=300)),
        Tool("mcp", "Not from a server.", {}, About("tools", "mcp", tokens=1)),
    ),
)
SIZES = {
    "tools": 201,
    "mcp tools": 300,
    "system": 12,
    "tool prompt": 15,
    "context": 30,
    "skills": 40,
    "opening/recent_user": 55,
    "opening/recent_activity": 60,
    "user": 70,
    "reminder/date": 80,
    "reminder/mode": 90,
    "assistant": 121,
    "results": 120,
    "images": 270,
}


@pytest.mark.design("M-4")
@pytest.mark.report(36, 42)
def test_every_unit_stands_in_one_category() -> None:
    assert breakdown(FULL, sum(SIZES.values())) == SIZES


@pytest.mark.design("M-4")
@pytest.mark.report(36)
def test_the_categories_add_up_to_the_level() -> None:
    for level in (0, 1, 13, 1_463, 1_465, 99_999):
        shares = breakdown(FULL, level)
        assert sum(shares.values()) == level
        assert list(shares) == ["tools", "mcp tools", "system", "tool prompt", *list(SIZES)[4:]]
    doubled = breakdown(FULL, 2 * sum(SIZES.values()))
    assert doubled == {category: 2 * size for category, size in SIZES.items()}


@pytest.mark.design("M-4")
def test_the_largest_remainders_get_what_is_left() -> None:
    def shares(*weights: int) -> list[int]:
        return list(breakdown(request(*(text("opening", weight, str(at)) for at, weight in enumerate(weights))), 7).values())

    assert shares(2, 3, 5) == [1, 2, 4]  # 1.4, 2.1, 3.5
    assert shares(5, 3, 2) == [4, 2, 1]
    assert shares(1, 1, 4) == [1, 1, 5]  # 1.17, 1.17, 4.67
    assert shares(1, 1, 1) == [3, 2, 2]  # equal remainders: the first


@pytest.mark.design("M-4")
def test_what_has_no_number_is_estimated() -> None:
    words, schema = "A few words that nobody has counted.", {"type": "object", "properties": {"path": {"type": "string"}}}
    plain = {
        "tools": cost("read") + cost(words) + total(estimate_value(schema)),
        "system": cost(words),
        "user": cost(words),
        "assistant": cost(words) + 3 + cost("read") + total(estimate_value({"path": "a.py"})),
        "images": 1_600,
        "results": cost(words),
    }
    whole = request(
        TextPart(words, About("user")),
        ReasoningPart(words, "", "x" * 9, About("assistant")),
        CallPart("c", "read", {"path": "a.py"}, About("assistant")),
        ImagePart("image/png", "b", About("user"), data="A" * 4_000_000),
        ResultPart("c", "read", (TextPart(words, About("result")),), False, About("result")),
        system=(SystemBlock(words, About("system")),),
        tools=(Tool("read", words, schema, About("tools", "read")),),
    )
    assert breakdown(whole, sum(plain.values())) == plain


@pytest.mark.design("M-4")
def test_a_results_own_number_stands_for_its_text_but_never_twice() -> None:
    words = "Some output."
    uncounted = ResultPart("c", "x", (TextPart(words, About("result")),), False, About("result", tokens=50))
    assert breakdown(request(text("user", 50), uncounted), 100) == {"user": 50, "results": 50}
    counted = ResultPart("c", "x", (text("result", 50),), False, About("result", tokens=70))
    assert breakdown(request(text("user", 50), counted), 100) == {"user": 50, "results": 50}
    picture = ResultPart("c", "x", (ImagePart("image/png", "b", About("image", tokens=30)),), False, About("result", tokens=20))
    assert breakdown(request(text("user", 50), picture), 100) == {"user": 50, "images": 30, "results": 20}


@pytest.mark.design("M-4")
@pytest.mark.report(42)
def test_schemas_of_thirty_tools_are_seen() -> None:
    schema = {
        "type": "object",
        "properties": {f"field_{n}": {"type": "string", "description": "What it is."} for n in range(60)},
    }
    tools = tuple(Tool(f"tool_{n}", "Does something.", schema, About("tools", f"tool_{n}")) for n in range(30))
    shares = breakdown(request(text("user", 20_000), tools=tools), 60_000)
    assert shares["tools"] > 20_000


@pytest.mark.design("M-4")
def test_a_request_without_weight_has_its_level_under_other() -> None:
    assert breakdown(request(), 12) == {"other": 12}
    assert breakdown(request(TextPart("", About("user"))), 12) == {"other": 12}


@pytest.mark.design("M-4")
def test_names_that_are_missing_leave_the_plain_category() -> None:
    assert breakdown(request(text("opening", 1), text("reminder", 1), text("skills", 1)), 3) == {
        "opening": 1,
        "reminder": 1,
        "skills": 1,
    }


ABOUTS = st.builds(
    About,
    st.sampled_from(["system", "context", "tools", "opening", "reminder", "user", "assistant", "result", "image", "new"]),
    st.sampled_from(["", "skills", "a", "tools"]),
    st.none(),
    st.integers(0, 50_000),
)
TEXTS = st.builds(TextPart, st.text(max_size=20), ABOUTS)
IMAGES = st.builds(ImagePart, st.just("image/png"), st.just("b"), ABOUTS)
PARTS = st.one_of(
    TEXTS,
    IMAGES,
    st.builds(ReasoningPart, st.text(max_size=9), st.just("s"), st.text(max_size=9), ABOUTS),
    st.builds(
        CallPart, st.just("c"), st.text(max_size=9), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2), ABOUTS
    ),
    st.builds(ResultPart, st.just("c"), st.just("n"), st.lists(TEXTS | IMAGES, max_size=3).map(tuple), st.booleans(), ABOUTS),
)


@pytest.mark.design("M-4")
@pytest.mark.report(36)
@given(
    st.lists(PARTS, max_size=6),
    st.lists(st.builds(SystemBlock, st.text(max_size=9), ABOUTS), max_size=3),
    st.integers(0, 10**6),
)
@settings(max_examples=100, deadline=None)
def test_any_request_adds_up(parts: list[WirePart], system: list[SystemBlock], level: int) -> None:
    shares = breakdown(request(*parts, system=tuple(system)), level)
    assert sum(shares.values()) == level
    assert min(shares.values()) >= 0
