"""K-2: the schema of a checkpoint and the rendering of its items."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import Item, ItemStatus, Section
from sojourn.window import SCHEMA, budgets, render_items, topic
from sojourn.window.schema import fit_items
from window.making import count, words

_WIDE = dict.fromkeys(Section, 1_000)


def _item(name: str, section: Section = Section.FILES, text: str = "", **more: object) -> Item:
    return Item(name, section, text or f"text of {name}", **more)  # type: ignore[arg-type]


@pytest.mark.design("K-2")
def test_budgets_of_the_nine_sections() -> None:
    assert [(rule.section.value, rule.budget) for rule in SCHEMA] == [
        ("intent", 500),
        ("next", 500),
        ("frontier", 1_500),
        ("directives", 1_500),
        ("files", 1_000),
        ("knowledge", 2_000),
        ("errors", 1_000),
        ("resources", 500),
        ("decisions", 2_500),
    ]
    assert sum(rule.budget for rule in SCHEMA) == 11_000
    assert sorted(rule.drop for rule in SCHEMA) == list(range(1, 10))
    assert all(rule.purpose.endswith(".") and rule.weight > 0 and rule.title for rule in SCHEMA)


@pytest.mark.design("K-2")
@pytest.mark.parametrize(
    ("trigger", "intent", "decisions"),
    [(50_000, 500, 2_500), (49_999, 499, 2_499), (900_000, 500, 2_500), (25_000, 250, 1_250), (0, 0, 0)],
)
def test_budgets_scale_below_50000(trigger: int, intent: int, decisions: int) -> None:
    assert budgets(trigger)[Section.INTENT] == intent
    assert budgets(trigger)[Section.DECISIONS] == decisions


@pytest.mark.design("K-2")
@pytest.mark.parametrize(
    ("trigger", "knowledge"),
    [(0, 0), (14_400, 3_600), (57_600, 14_400), (79_999, 19_999), (80_000, 20_000), (900_000, 20_000)],
)
def test_knowledge_may_take_a_quarter_of_the_trigger(trigger: int, knowledge: int) -> None:
    assert budgets(trigger)[Section.KNOWLEDGE] == knowledge
    assert budgets(trigger)[Section.ERRORS] == 1_000 * min(trigger, 50_000) // 50_000


@pytest.mark.design("K-2")
def test_knowledge_also_gets_what_the_other_sections_leave_and_no_more() -> None:
    room = {Section.INTENT: 100, Section.KNOWLEDGE: 10, Section.ERRORS: 50}
    facts = [_item(f"k{number}", Section.KNOWLEDGE, text="fact " * 9) for number in range(40)]
    intent = _item("i", Section.INTENT)
    text, kept, _ = render_items([intent, *facts], room, count)
    assert "i" in kept
    spent = count(text)
    assert 110 < spent <= 160
    full = _item("full", Section.INTENT, text="word " * 95)
    fewer, _, _ = render_items([full, *facts], room, count)
    assert fewer.count("fact fact") < text.count("fact fact")


@pytest.mark.design("K-2")
def test_rendering_is_by_section_in_schema_order_and_items_in_their_own() -> None:
    items = [_item("d", Section.DECISIONS), _item("b", Section.INTENT), _item("a", Section.INTENT, weight=5.0)]
    text, kept, dropped = render_items(items, _WIDE, count)
    assert text == "## Intent\n- text of b\n- text of a\n\n## Decisions\n- text of d"
    assert (kept, dropped) == (("b", "a", "d"), ())
    assert render_items([], _WIDE, count) == ("", (), ())


@pytest.mark.design("K-2")
def test_only_open_items_with_text_stand() -> None:
    items = [_item("a", status=ItemStatus.DONE), _item("b", status=ItemStatus.SUPERSEDED), _item("c", text="  "), _item("d")]
    assert render_items(items, _WIDE, count) == ("## Files\n- text of d", ("d",), ())


@pytest.mark.design("K-2")
def test_an_item_is_one_bullet_and_cannot_open_a_section() -> None:
    text, _, _ = render_items([_item("a", text="one  two\n## Intent\r\n  - three\u2028# four")], _WIDE, count)
    assert text == "## Files\n- one  two ## Intent - three # four"


@pytest.mark.design("K-2")
def test_higher_weight_then_newer_stay_longer() -> None:
    items = [
        _item("old", text="a b", written_seq=1),  # 3 words with the bullet
        _item("new", text="a c", written_seq=9),
        _item("heavy", text="a d", written_seq=0, weight=2.0),
        _item("source", text="a e", written_seq=1, sources=(5,)),
    ]

    def kept(budget: int) -> tuple[str, ...]:
        return render_items(items, {Section.FILES: budget}, words)[1]

    assert kept(2 + 12) == ("old", "new", "heavy", "source")
    assert kept(2 + 11) == ("new", "heavy", "source")
    assert kept(2 + 8) == ("new", "heavy")
    assert kept(2 + 5) == ("heavy",)
    assert kept(2 + 3) == ("heavy",)
    assert kept(2 + 2) == ()
    assert render_items(items, {Section.FILES: 4}, words) == ("", (), ("old", "new", "heavy", "source"))
    assert render_items(items, {}, words)[1] == ()


@pytest.mark.design("K-2")
def test_of_equals_the_later_stays_and_what_is_too_large_is_skipped() -> None:
    items = [_item("a", text="x y"), _item("big", text="w " * 40, weight=9.0), _item("b", text="x z")]
    assert render_items(items, {Section.FILES: 5}, words)[1:] == (("b",), ("a", "big"))


@pytest.mark.design("K-2")
def test_one_total_budget_is_shared_by_weight_and_the_last_to_drop_gets_what_is_left() -> None:
    items = [
        *(_item(f"i{n}", Section.INTENT, f"i {n}", written_seq=n) for n in range(10)),
        *(_item(f"e{n}", Section.ERRORS, f"e {n}", written_seq=n) for n in range(10)),
    ]  # 3 words an item, headings 2
    everything = fit_items(items, 64, 900_000, words)
    assert len(everything[1]) == 20
    text, kept, dropped = fit_items(items, 63, 900_000, words)
    assert words(text) <= 63
    assert set(dropped) == {"e0"}
    text, kept, dropped = fit_items(items, 20, 900_000, words)
    assert [name for name in kept if name[0] == "i"] == [
        "i4",
        "i5",
        "i6",
        "i7",
        "i8",
        "i9",
    ]  # four fifths of the room, and the rest
    assert [name for name in kept if name[0] == "e"] == []
    assert fit_items(items, 4, 900_000, words) == ("", (), tuple(item.id for item in items))


_items = st.lists(
    st.tuples(st.sampled_from(list(Section)), st.text(max_size=60), st.integers(0, 9), st.sampled_from([0.5, 1.0, 3.0])),
    max_size=25,
).map(lambda rows: [Item(f"n{i}", s, f"{t}{i}", (w,), written_seq=w, weight=x) for i, (s, t, w, x) in enumerate(rows)])


@pytest.mark.design("K-2")
@settings(max_examples=80, deadline=None)
@given(_items, st.integers(0, 500), st.sampled_from([7_200, 50_000]))
def test_never_over_the_budget_and_kept_items_keep_their_bytes(items: list[Item], budget: int, trigger: int) -> None:
    text, kept, dropped = fit_items(items, budget, trigger, count)
    assert count(text) <= budget
    order = [item.id for item in items]
    assert sorted([*kept, *dropped], key=order.index) == order
    whole = render_items(items, dict.fromkeys(Section, 10**6), count)[0].split("\n")
    shown = text.split("\n") if text else []
    assert [line for line in whole if line in shown and line.startswith(("-", "#"))] == [line for line in shown if line]


@pytest.mark.design("W-1")
def test_topic_is_the_newest_intent_else_next_else_frontier() -> None:
    intents = [_item("a", Section.INTENT, "first", written_seq=5), _item("b", Section.INTENT, "second\nline", written_seq=5)]
    others = [_item("n", Section.NEXT, "step"), _item("f", Section.FRONTIER, "rest")]
    assert topic([*intents, *others]) == "second line"
    assert topic(others) == "step"
    assert topic(others[1:]) == "rest"
    assert topic([_item("x", Section.FILES), _item("y", Section.INTENT, "gone", status=ItemStatus.DONE)]) == ""
    assert len(topic([_item("l", Section.NEXT, "x" * 500)])) == 120
