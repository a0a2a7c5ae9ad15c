"""The check beside a model writer: what it is sure of, how little that is, what it leaves alone."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.telling import edits, found, reads, record, run_of, runs, says, texts, thinks, user
from sojourn.base import Item, ItemStatus, Section
from sojourn.checkpoint import MARK
from sojourn.checkpoint.extract import sure
from sojourn.meter import estimate_text, total
from sojourn.record import Message

pytestmark = pytest.mark.design("K-10")

_SECTIONS = (Section.INTENT, Section.DIRECTIVES, Section.KNOWLEDGE, Section.DECISIONS)


def _cost(items: tuple[Item, ...]) -> int:
    return sum(total(estimate_text(f"- {item.text}\n")) for item in items)


def _stretch(steps: int) -> list[Message]:
    """A usual stretch: a request with a rule, reads of code with names, an answer that settles something."""
    messages = [user("Refactor the importer. The id hash must use salt SALT-91cc, not the name.")]
    for i in range(steps - 2):
        code = "\n".join(
            f"def handle_event_{i}_{n}(payload, retries={n}):\n    return dispatch_{n}(payload)" for n in range(40)
        )
        messages.append(reads(f"/srv/app/module_{i}.py", f"{code}\n# queue {i} is drained before the next one\n"))
    messages += [
        reads("/srv/app/pool.py", "# NOTE: the pool is shared by all tenants.\n# ops pinned retries to QX-51ab7\nx = 1\n"),
        edits("/srv/app/pool.py", new="LIMIT = 40"),
        says("The importer is refactored. Having weighed it, plan KX-71aa it is."),
        user("Now write the docs."),
    ]
    return messages


def test_a_stretch_of_twenty_steps() -> None:
    items = sure(run_of(*_stretch(20)))
    assert texts(items, Section.INTENT) == ["m23: Now write the docs."]
    assert texts(items, Section.DIRECTIVES) == ["The id hash must use salt SALT-91cc, not the name."]
    assert texts(items, Section.DECISIONS) == ["Having weighed it, plan KX-71aa it is."]
    facts = texts(items, Section.KNOWLEDGE)
    assert set(facts[:2]) == {"ops pinned retries to QX-51ab7", "# NOTE: the pool is shared by all tenants."}
    assert not any("handle_event" in text or "LIMIT" in text for text in facts)
    assert _cost(items) < 250


def test_items_are_open_in_schema_order_and_rest_on_the_stretch() -> None:
    items = sure(run_of(*_stretch(20), after=100))
    assert [list(Section).index(item.section) for item in items] == sorted(list(Section).index(item.section) for item in items)
    for item in items:
        assert item.status is ItemStatus.OPEN
        assert item.section in _SECTIONS
        assert item.by == "extractive"
        assert all(100 < seq <= 123 for seq in item.sources)
        assert item.written_seq == 123


def test_present_items_are_left_alone() -> None:
    run = run_of(*_stretch(20))
    old = Item(id="k", section=Section.KNOWLEDGE, text="The cache lives in tmpfs.", sources=(1,))
    assert sure(msgspec.structs.replace(run, items=(old,))) == sure(run)


def test_same_ids_as_the_extractive_writer() -> None:
    rule = "Never touch the vendored folder."
    (one,) = [item for item in sure(run_of(user(rule), says("ok"))) if item.section is Section.DIRECTIVES]
    (other,) = [item for item in found(user(rule), says("ok")) if item.section is Section.DIRECTIVES]
    assert one.id == other.id


@pytest.mark.parametrize(("length", "whole"), [(86, True), (87, False)])
def test_a_request_is_a_short_reference(length: int, whole: bool) -> None:
    (text,) = texts(sure(run_of(user(("fix it now " * 20)[: length - 1] + "x"))), Section.INTENT)
    assert text.endswith("x") is whole
    assert len(text) <= 91


@pytest.mark.parametrize(
    ("section", "room"), [(Section.DIRECTIVES, 200), (Section.DECISIONS, 130), (Section.KNOWLEDGE, 130), (Section.INTENT, 100)]
)
def test_each_section_has_its_room_for_twenty_steps_and_more_for_more(section: Section, room: int) -> None:
    def cost(steps: int) -> int:
        rules = "\n".join(f"Tenant{i} must keep to KX-{i:03d}a for all of it." for i in range(100))
        facts = "\n\n".join(f"# ops pinned tenant{i} to QX-{i:03d}a" for i in range(100))
        said = "\n".join(f"Tenant{i} goes along TR-{i:03d}c." for i in range(100))
        more = [user(f"ask number {i} of them all, please, in full words") for i in range(20)]
        reading = [reads("a.py", facts if i == 0 else "x = 1") for i in range(steps)]
        items = sure(run_of(user(rules), *reading, says(said), *more, trigger=400_000))
        return _cost(tuple(item for item in items if item.section is section)) + 6

    assert room - 25 < cost(5) <= room
    assert cost(20) == cost(5)
    assert room * 2 - 25 < cost(40) <= room * 2


def test_a_fact_that_the_work_came_back_to_comes_first() -> None:
    first, second = "ops pinned retries to QX-51ab7", "ops pinned workers to QX-88c1a"
    messages = [reads("a.py", f"# {first}\nx = 1\n\n# {second}\ny = 2")]
    assert texts(sure(run_of(*messages, says("QX-51ab7 holds", None))), Section.KNOWLEDGE) == [first, second]
    assert texts(sure(run_of(*messages, says("QX-88c1a holds", None))), Section.KNOWLEDGE) == [second, first]
    before = [says("QX-88c1a", None), says("QX-51ab7", None), *messages, user("QX-88c1a?")]
    assert texts(sure(run_of(*before)), Section.KNOWLEDGE) == [second, first]
    once = {item.text: item.weight for item in sure(run_of(*before)) if item.section is Section.KNOWLEDGE}
    assert once[second] == pytest.approx(once[first] + 1.0)


def test_rules_of_comments_without_a_value() -> None:
    shown = "# The lease must be taken before Compact runs.\nx = 1\n\n# Callers should be nice.\n"
    assert texts(sure(run_of(user("go"), reads("a.go", shown))), Section.KNOWLEDGE) == [
        "The lease must be taken before Compact runs."
    ]


def test_thoughts_and_failed_commands_are_not_sure() -> None:
    items = sure(run_of(user("go"), thinks("I think KX-71aa it is."), runs("make", "# ops pinned it to QX-51ab7", failed=True)))
    assert texts(items, Section.DECISIONS) == []
    assert texts(items, Section.KNOWLEDGE) == []


@pytest.mark.design("K-6")
def test_no_secret_passes() -> None:
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    items = sure(run_of(user(f"You must never print {secret}."), reads("a.py", f"# ops pinned it to QX-1ab and {secret}")))
    assert len(items) == 3
    assert all(secret not in item.text for item in items)
    assert sum(MARK in item.text for item in items) == 3


def test_nothing_in_nothing_out() -> None:
    assert sure(run_of()) == ()


_TEXT = st.lists(
    st.sampled_from(
        [
            "Our salt must be SALT-91cc.", "I had that wrong, it is SALT-18dd.", "盐值改成 SALT-18dd 了。", "Look at it.",
            "KX-71aa it is.", "# ops pinned it to QX-51ab7", "# NOTE: shared", "x = 1", "phase a=1 b=2", "",
        ]
    ),
    max_size=4,
).map("\n".join)  # fmt: skip
_MESSAGE = st.one_of(st.builds(user, _TEXT), st.builds(says, _TEXT), st.builds(reads, st.sampled_from(["a.py", "b.md"]), _TEXT))


@settings(max_examples=60, deadline=None)
@given(st.lists(_MESSAGE, max_size=12), st.sampled_from([2_000, 50_000]))
def test_lean_quoted_from_the_record_and_the_same_each_time(messages: list[Message], trigger: int) -> None:
    run = run_of(*messages, trigger=trigger)
    items = sure(run)
    assert items == sure(run)
    assert _cost(items) <= 560
    assert len({item.id for item in items}) == len(items)
    said = msgspec.json.encode(record(*messages)).decode().replace("\\n", " ")
    for item in items:
        if item.section is not Section.INTENT:
            assert item.text in said or item.text.replace("# ", "") in said.replace("# ", "")
