"""What extraction is sure of and the model left out is added, within the budgets (K-10)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.asked import item, with_
from checkpoint.telling import run_of, says
from sojourn.base import Item, ItemStatus, Section, open_items
from sojourn.checkpoint.check import add_what_is_sure
from sojourn.checkpoint.room import HEADING, cost, taken
from sojourn.window import budgets

K, D, I = Section.KNOWLEDGE, Section.DIRECTIVES, Section.INTENT  # noqa: E741
RUN = run_of(says("ok"))


def model(text: str, section: Section = K, weight: float = 2.0, **more: object) -> Item:
    return item(text, section, by="model", weight=weight, **more)


def added(sure: Item, *items: Item) -> bool:
    return add_what_is_sure(items, (sure,), RUN)[1] == (sure.id,)


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("sure", "said", "left_out"),
    [
        # names and numbers have to be there, all of them, in one item
        ("`MAX_RETRIES` is 5 in net.py", "net.py has MAX_RETRIES at 5", False),
        ("`MAX_RETRIES` is 5 in net.py", "net.py has MAX_RETRIES at 50", True),
        ("`MAX_RETRIES` is 5 in net.py", "MAX_RETRIES is 5", True),
        ("the cap of src/app/net.py is 5", "the cap of net.py is 5", False),
        ("the cap of src/app/net.py is 5", "the cap of nets.py is 5", True),
        ("the version is v1.2.3", "version v1.2.4", True),
        # beside them a third of the other words, so that a rule is not held by a line that names its file
        ("deploy.sh must never run on friday or at night", "deploy.sh was edited", True),
        ("deploy.sh must never run on friday or at night", "no deploy.sh on fridays", False),
        ("deploy.sh must never run on friday or at night", "deploy.sh was edited by hand in the spring", True),
        ("deploy.sh wants alpha bravo charlie", "deploy.sh alpha", True),
        ("deploy.sh wants alpha bravo", "deploy.sh alpha", False),
        # without any: most of the words
        ("alpha bravo charlie delta echo", "alpha bravo charlie", False),
        ("alpha bravo charlie delta echo", "alpha bravo", True),
        ("NOTE: the buffer is shared between workers", "workers share a buffer: it is shared, take note", False),
        ("缓存按用户分片保存", "缓存是按用户分片保存的", False),
        ("缓存按用户分片保存", "缓存很大", True),
        # in another language the names decide
        ("MAX_RETRIES must stay at 5 in every case", "所有情况下 MAX_RETRIES 必须保持为 5", False),
        ("MAX_RETRIES must stay at 5 in every case", "所有情况下 MAX_RETRIES 必须保持为 6", True),
        ("the buffer is shared between all workers", "所有工作线程共享这个缓冲区", True),
        # the number of a message is no value; a text without any word says nothing
        ("alpha bravo charlie m12", "charlie bravo alpha", False),
        ("it is so", "anything", False),
    ],
)
def test_what_counts_as_left_out(sure: str, said: str, left_out: bool) -> None:
    assert added(item(sure), model(said)) is left_out


@pytest.mark.design("K-10")
def test_a_fact_is_not_held_by_two_items_together_but_by_any_section() -> None:
    fact = item("`MAX_RETRIES` is 5 in net.py")
    assert added(fact, model("net.py is small"), model("MAX_RETRIES is 5"))
    assert not added(fact, model("MAX_RETRIES stays at 5 in net.py", Section.DECISIONS))
    assert added(fact, model("MAX_RETRIES stays at 5 in net.py", status=ItemStatus.DONE))


@pytest.mark.design("K-10")
def test_a_request_is_known_by_its_number() -> None:
    request = item("m12: make the parser a streaming one", I)
    assert not added(request, model("m12: streaming parser, under way", I))
    assert not added(request, model("all of m3, m12", I))
    assert added(request, model("m120: streaming parser", I))
    assert added(request, model("m12: streaming parser"))  # in no other section
    assert not added(request, model("m12: it is done", I, status=ItemStatus.DONE))
    assert added(item("make the parser a streaming one", I), model("m12: something else", I))
    assert added(item("m12: walrus of the north"), model("m12: something else", I))
    twice = (item("m12: make it", I, weight=2.0), item("m12: make it now", I))
    assert add_what_is_sure((), twice, RUN)[1] == (twice[0].id,)


@pytest.mark.design("K-10")
def test_what_was_closed_is_not_brought_back() -> None:
    fact = item("the buffer is shared")
    assert not added(fact, item("the buffer is shared", status=ItemStatus.DONE))
    assert not added(fact, item("The  buffer is shared", Section.DECISIONS, status=ItemStatus.SUPERSEDED))
    assert not added(fact, item("the buffer is shared"))
    assert not added(item("it is so"))
    later = [item("walrus of the north", weight=weight) for weight in (3.0, 1.0)]
    first = item("the buffer is shared", weight=2.0)
    held = item("the buffer is shared", status=ItemStatus.DONE)
    assert add_what_is_sure((held,), (first, later[1]), RUN)[1] == (later[1].id,)
    assert add_what_is_sure((), later, RUN)[1] == (later[0].id,)


@pytest.mark.design("K-2", "K-10")
def test_added_items_stand_behind_the_others_in_the_order_of_extraction() -> None:
    first, second = model("alpha", D), model("bravo")
    gone = model("charlie", status=ItemStatus.DONE)
    light, heavy = item("delta rule of the user", D, weight=1.0), item("echo rule, corrected", D, weight=4.0)
    fact = item("foxtrot fact of the file", weight=2.0)
    items, checked = add_what_is_sure((first, second, gone), (light, heavy, fact), RUN)
    assert items == (first, light, heavy, second, fact, gone)
    assert checked == (light.id, heavy.id, fact.id)
    assert add_what_is_sure((first, gone), (), RUN) == ((first, gone), ())


@pytest.mark.design("K-10")
def test_what_is_added_counts_for_the_next_one() -> None:
    one, two = item("alpha bravo charlie", weight=1.0), item("charlie bravo alpha delta", weight=2.0)
    assert add_what_is_sure((), (one, two), RUN)[1] == (two.id,)


@pytest.mark.design("K-2", "K-10")
def test_a_full_section_takes_nothing_and_the_heaviest_comes_first() -> None:
    texts = (("the alpha broke in the morning", 1.0), ("an omega failed at the start", 2.0), ("boom", 0.5))
    *facts, short = (item(text, Section.ERRORS, weight=weight) for text, weight in texts)
    price = max(cost(one.text) for one in facts)
    room = HEADING + cost("something else") + price
    trigger = next(t for t in range(0, 50_000, 10) if budgets(t)[Section.ERRORS] >= room)
    present = model("something else", Section.ERRORS, weight=0.1)
    items, checked = add_what_is_sure((present,), facts, with_(RUN, trigger=trigger))
    assert checked == (facts[1].id,)
    assert items == (present, facts[1])
    roomy = next(t for t in range(0, 50_000, 10) if budgets(t)[Section.ERRORS] >= taken([present, facts[1], short]))
    assert budgets(roomy)[Section.ERRORS] < taken([present, *facts])
    assert add_what_is_sure((present,), [*facts, short], with_(RUN, trigger=roomy))[1] == (facts[1].id, short.id)
    tight = next(t for t in range(50_000, 0, -10) if budgets(t)[Section.ERRORS] < taken([present, facts[1]]))
    assert add_what_is_sure((present,), [facts[1]], with_(RUN, trigger=tight)) == ((present,), ())
    exact = next(t for t in range(0, 50_000, 10) if budgets(t)[Section.ERRORS] >= taken([present, facts[1]]))
    assert add_what_is_sure((present,), [facts[1]], with_(RUN, trigger=exact))[1] == (facts[1].id,)


@pytest.mark.design("K-10")
def test_only_for_a_directive_of_the_user_a_lighter_line_of_the_model_leaves() -> None:
    rule = item("never push the release branch by hand", D, weight=4.0)
    lighter, heavier = model("alpha alpha alpha", D, 1.0), model("bravo bravo bravo", D, 4.0)
    said, theirs = item("charlie charlie", D, weight=0.5), model("delta delta", D, 0.1)
    theirs = with_by_user(theirs)
    present = (lighter, heavier, said, theirs)
    room = taken(present) - cost(lighter.text) + cost(rule.text)
    trigger = next(t for t in range(0, 50_000, 10) if budgets(t)[D] >= room)
    assert budgets(trigger)[D] < taken((*present, rule))
    items, checked = add_what_is_sure(present, (rule,), with_(RUN, trigger=trigger))
    assert checked == (rule.id,)
    assert open_items(items) == (heavier, said, theirs, rule)
    assert [(one.id, one.status) for one in items[4:]] == [(lighter.id, ItemStatus.SUPERSEDED)]
    small = next(t for t in range(trigger, 0, -10) if budgets(t)[D] < room)
    assert add_what_is_sure(present, (rule,), with_(RUN, trigger=small)) == (present, ())


def with_by_user(one: Item) -> Item:
    return item(one.text, one.section, by="user", weight=one.weight)


@pytest.mark.design("K-10", "C-18")
def test_an_economic_run_has_less_room() -> None:
    present = tuple(model(f"the fact with the number {n} is told here in a few words") for n in range(200))
    fact = item("a fact about the walrus of the north")
    assert add_what_is_sure(present, (fact,), RUN)[1] == (fact.id,)
    assert add_what_is_sure(present, (fact,), with_(RUN, economic=True))[1] == ()


WORDS = st.lists(
    st.sampled_from(["alpha", "MAX_X", "5", "a/b.py", "不要改动", "m3:", "never", "bravo"]), min_size=1, max_size=5
).map(" ".join)
ITEMS = st.lists(
    st.builds(
        lambda text, section, weight, by: item(text, section, weight=weight, by=by),
        WORDS,
        st.sampled_from([D, K, I]),
        st.sampled_from([0.5, 2.0, 4.0]),
        st.sampled_from(["model", "extractive", "user"]),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


@pytest.mark.design("K-2", "K-10")
@settings(max_examples=100, deadline=None)
@given(ITEMS, ITEMS, st.sampled_from([1_000, 2_000, 50_000]))
def test_the_list_stays_sound(present: list[Item], sure: list[Item], trigger: int) -> None:
    present.sort(key=lambda one: list(Section).index(one.section))
    items, checked = add_what_is_sure(present, sure, with_(RUN, trigger=trigger))
    ids = [one.id for one in items]
    assert len(set(ids)) == len(ids)
    assert {one.id for one in present} | set(checked) == set(ids)
    room = budgets(trigger)
    for section in Section:
        before = taken([one for one in present if one.section is section])
        assert taken([one for one in open_items(items) if one.section is section]) <= max(before, room[section])
    left = {one.id: one for one in items if one.status is not ItemStatus.OPEN}
    assert all(one.by == "model" and one.section is D for one in left.values())
    assert [one for one in open_items(items) if one.id not in checked] == [one for one in present if one.id not in left]
    again = add_what_is_sure(items, sure, with_(RUN, trigger=trigger))
    assert again[1] == () or trigger < 50_000
