"""The whole list: what stays, what leaves, what it rests on, what it never does."""

import asyncio
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.telling import calls, edits, engine, found, imported, reads, record, run_of, runs, says, texts, thinks, user
from sojourn.base import Item, ItemStatus, Section
from sojourn.checkpoint import MARK, ExtractiveWriter, WriterInput, Written, extract
from sojourn.meter import estimate_text, total
from sojourn.record import Message
from sojourn.window.schema import budgets

_LABELS = """
    m ran exit completed failed error interrupted running port branch worktree killed started pid done under way remaining
    changed passed redacted
"""
MARKUP = frozenset(_LABELS.split())
"""Words of ours in items: the engine's labels, never a fact."""
_WORDS = re.compile(r"[A-Za-z]+|\d+|[\u4e00-\u9fff]")


def _cost(items: tuple[Item, ...]) -> int:
    return sum(total(estimate_text(f"- {item.text}\n")) for item in items if item.status is ItemStatus.OPEN)


def _busy(rounds: int) -> list[Message]:
    """A long session: many files, errors, decisions and names."""
    messages = [user("Refactor the importer. Never change the public API.")]
    for i in range(rounds):
        path = f"/srv/app/module_{i}/handler_{i}.py"
        messages += [
            reads(
                path,
                f"def handle_event_{i}(payload, retries=3):\n    return dispatch_{i}(payload)\n# NOTE: queue {i} is shared.",
            ),
            edits(path, new=f"def handle_event_{i}(payload, *, limit_{i}=9):\n    pass"),
            runs(f"pytest tests/test_{i}.py", f"Exit code 1\nKeyError: 'field_{i}' in handler", failed=True),
            says(
                f"The root cause in `handle_event_{i}` is a missing field, so I will use a default instead of raising.",
                finish=None,
            ),
        ]
    return messages


@pytest.mark.design("K-10")
def test_same_input_same_bytes() -> None:
    messages = _busy(20)
    first = msgspec.json.encode(found(*messages))
    assert first == msgspec.json.encode(found(*messages))
    assert first == msgspec.json.encode(asyncio.run(_written(run_of(*messages))).items)


async def _written(run: WriterInput) -> Written:
    result = await ExtractiveWriter().write(run)
    assert isinstance(result, Written)
    return result


@pytest.mark.design("K-10")
def test_the_writer_names_itself_and_costs_nothing() -> None:
    assert ExtractiveWriter.name == "extractive"
    assert asyncio.run(_written(run_of(user("hi")))).usage is None


@pytest.mark.design("K-10")
def test_nothing_in_nothing_out() -> None:
    assert extract(WriterInput(items=(), messages=(), range=(0, 0), trigger=50_000)) == ()


@pytest.mark.design("K-2")
def test_ids_follow_section_and_text() -> None:
    items = found(*_busy(3))
    assert len({item.id for item in items}) == len(items)
    other = found(user("Something else first"), *_busy(3))
    same = {item.text: item.id for item in other if item.section is Section.DIRECTIVES}
    assert {item.text: item.id for item in items if item.section is Section.DIRECTIVES} == same
    assert all(item.id.startswith(item.section.value[:2] + "-") for item in items)


@pytest.mark.design("K-2")
@pytest.mark.report(96)
def test_every_item_rests_on_messages_of_the_record() -> None:
    run = run_of(*_busy(10), after=40)
    for item in extract(run):
        assert item.sources, item
        assert all(40 < seq <= run.range[1] for seq in item.sources)
        assert item.written_seq == run.range[1]


@pytest.mark.design("K-2", "K-10")
def test_open_items_come_in_schema_order_then_those_that_left() -> None:
    first = found(*_busy(4))
    second = found(says("All done."), user("Next: the exporter"), items=first, after=17)
    places = [list(Section).index(item.section) for item in second if item.status is ItemStatus.OPEN]
    assert places == sorted(places)
    states = [item.status is ItemStatus.OPEN for item in second]
    assert states == sorted(states, reverse=True)
    assert not all(states)


@pytest.mark.design("K-2")
def test_what_still_holds_stays_byte_for_byte() -> None:
    first = found(*_busy(6))
    second = found(runs("make docs", "written"), items=first, after=25)
    before = {item.id: item for item in first}
    kept = [item for item in second if item.id in before and item.status is ItemStatus.OPEN]
    assert len(kept) > 0.9 * len([item for item in first if item.section is not Section.NEXT])
    assert all(msgspec.json.encode(item) == msgspec.json.encode(before[item.id]) for item in kept)


@pytest.mark.design("K-2")
def test_nothing_is_lost_between_two_lists() -> None:
    first = found(*_busy(30), trigger=10_000)
    second = found(*_busy(30), items=first, after=121, trigger=10_000)
    assert {item.id for item in first} <= {item.id for item in second}
    left = [item for item in second if item.status is ItemStatus.SUPERSEDED]
    assert left
    assert all(item.id in {one.id for one in first} for item in left)


@pytest.mark.design("K-2")
def test_foreign_items_of_another_writer_stay_as_they_are() -> None:
    own = Item(id="k1", section=Section.KNOWLEDGE, text="The cache lives in tmpfs.", sources=(3,), written_seq=9, weight=2.0)
    step = Item(id="f1", section=Section.FRONTIER, text="Phase 2 half done", sources=(3,), written_seq=9)
    items = found(user("go"), runs("make", "ok"), items=(own, step), after=9)
    assert own in items
    assert step in items


@pytest.mark.design("K-2")
def test_an_item_that_left_stays_left() -> None:
    gone = Item(id="k1", section=Section.FILES, text="`a.py` Read(file_path) m2", sources=(2,), status=ItemStatus.SUPERSEDED)
    items = found(user("go"), runs("make", "ok"), items=(gone,), after=9)
    assert items[-1] == gone


@pytest.mark.design("K-2")
@pytest.mark.parametrize("trigger", [2_000, 10_000, 50_000, 400_000])
def test_sections_stay_within_their_budgets(trigger: int) -> None:
    items = found(*_busy(120), trigger=trigger)
    room = budgets(trigger)
    for section in Section:
        spent = _cost(tuple(item for item in items if item.section is section))
        assert spent <= room[section]
    assert _cost(items) <= sum(room.values())


@pytest.mark.design("K-2")
def test_a_full_section_is_filled_to_its_budget() -> None:
    items = found(*_busy(120), trigger=50_000)
    for section in (Section.FILES, Section.DECISIONS):
        spent = _cost(tuple(item for item in items if item.section is section))
        assert budgets(50_000)[section] * 0.9 < spent


@pytest.mark.design("K-2")
def test_over_budget_the_lowest_leave() -> None:
    items = [
        Item(id=f"d{i}", section=Section.DECISIONS, text=f"Decision {i} " + "word " * 500, sources=(i,), weight=float(i))
        for i in range(1, 9)
    ]
    kept = [item.id for item in found(user("hi"), items=tuple(items), after=9) if item.section is Section.DECISIONS
            and item.status is ItemStatus.OPEN]  # fmt: skip
    assert kept
    assert kept == [f"d{i}" for i in range(9 - len(kept), 9)]


@pytest.mark.design("K-2")
def test_among_equals_the_newer_stays() -> None:
    items = tuple(
        Item(id=f"d{i}", section=Section.DECISIONS, text=f"Decision {i} " + "word " * 500, sources=(i * 50,), weight=2.0)
        for i in range(1, 9)
    )
    kept = [item.id for item in found(user("hi"), items=items, after=400) if item.section is Section.DECISIONS
            and item.status is ItemStatus.OPEN]  # fmt: skip
    assert kept == [f"d{i}" for i in range(9 - len(kept), 9)]
    assert 0 < len(kept) < 8


@pytest.mark.design("K-10")
def test_a_rule_that_does_not_fit_leaves_with_its_weaker_partner_never_before_it() -> None:
    rules = [says("ok")]
    for i in range(200):
        rules.append(user(f"You should prefer helper_{i} in module_{i} for the conversion of records and rows."))
    rules.append(user("Never use helper_3 in module_3 for the conversion."))
    kept = texts(found(*rules, trigger=20_000), Section.DIRECTIVES)
    place = kept.index("Never use helper_3 in module_3 for the conversion.")
    assert kept[place - 1].startswith("You should prefer helper_3 in module_3 ")


@pytest.mark.design("K-10")
def test_an_identifier_stands_in_the_line_it_came_from() -> None:
    items = found(
        user("go"),
        reads("a.py", "import os\n    17→def resolve_tenant(account_id, region):\nx = 1"),
        says("The tenant id 8f14e45fceea is cached for 1,500 ms.", finish=None),
        calls("Grep", "none", pattern="resolve_tenant", path="/srv/app/core"),
    )
    lines = texts(items, Section.KNOWLEDGE)
    assert "def resolve_tenant(account_id, region):" in lines or "Grep(pattern=resolve_tenant, path=/srv/app/core)" in lines
    assert "The tenant id 8f14e45fceea is cached for 1,500 ms." in lines
    assert any("/srv/app/core" in line for line in lines)


@pytest.mark.design("K-10")
def test_what_is_used_again_comes_before_what_was_only_shown() -> None:
    shown = "\n".join(f"value_of_{i} = compute_{i}(source_{i})" for i in range(300))
    items = found(
        user("go"),
        reads("a.py", shown),
        calls("Grep", "none", pattern="compute_77", path="/srv"),
        says("I will look at compute_77 next.", finish=None),
        trigger=4_000,
    )
    (best, *_) = texts(items, Section.KNOWLEDGE)
    assert "compute_77" in best
    assert not any("compute_41" in line for line in texts(items, Section.KNOWLEDGE)[:2])


@pytest.mark.design("K-10")
def test_knowledge_fills_its_own_budget_and_no_more() -> None:
    shown = "\n".join(f"value_of_{i} = compute_{i}(source_{i}, {i})" for i in range(3_000))
    items = found(user("go"), reads("a.py", shown), says("compute_1 is fine.", finish=None), trigger=12_000)
    spent = _cost(tuple(item for item in items if item.section is Section.KNOWLEDGE))
    assert budgets(12_000)[Section.KNOWLEDGE] * 0.95 < spent <= budgets(12_000)[Section.KNOWLEDGE]


@pytest.mark.design("K-10")
def test_remarks_take_a_fifth_of_the_knowledge() -> None:
    words = ["harbour", "lantern", "meadow", "timber", "quarry", "anchor", "willow", "pepper", "saddle", "marble"]
    shown = "\n\n".join(f"# the {a} of the {b} stops at 40 after the {c}" for a in words for b in words for c in words[:3])
    items = found(user("go"), reads("a.py", shown), trigger=12_000)
    said = [text for text in texts(items, Section.KNOWLEDGE) if "stops at 40" in text]
    room = budgets(12_000)[Section.KNOWLEDGE] * 4 // 5
    assert room - 60 < sum(len(text) for text in said) <= room


SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@pytest.mark.design("K-6")
@pytest.mark.report(130, 131)
def test_secrets_pass_in_no_section() -> None:
    def around(text: str) -> str:
        return f"{text} {SECRET} of handler_code"

    items = found(
        user(around("You must never print the key")),
        calls("TodoWrite", "ok", todos=[{"content": around("Rotate"), "status": "in_progress"}]),
        calls("TaskCreate", "ok", subject=around("Rotate")),
        runs(f"deploy --token {SECRET} --port 8080", around("Exit code 1\nfatal: refused"), failed=True),
        runs(f"git checkout {SECRET}", "password: hunter2 pid 99", run_in_background=True),
        reads("env", f"# NOTE: {SECRET}\nDB_PASSWORD=hunter2-long\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq_some_name\n"),
        edits("a.py", new=f"client_for_upload = Client('{SECRET}')"),
        says(around("The root cause is the key"), finish=None),
        thinks(around("I decided to use the key")),
        items=(Item(id="old", section=Section.KNOWLEDGE, text=around("kept"), sources=(1,)),),
    )
    assert len(items) > 8
    for item in items:
        assert SECRET[:20] not in item.text, item
        assert "hunter2" not in item.text, item
        assert "MIIEvQ" not in item.text, item
    assert next(item for item in items if item.id == "old").text == f"kept {MARK} of handler_code"


@pytest.mark.design("R-2", "K-10")
@pytest.mark.report(90)
def test_engine_and_import_text_is_no_evidence_but_results_are() -> None:
    strange = "zebra_marker_7 is in /srv/zebra/place.py: you must decided because the root cause is NOTE: error"
    items = found(user("hello there"), engine(strange), imported(strange), imported(strange, role="assistant"))
    assert not any("zebra" in item.text for item in items)
    assert any("zebra" in item.text for item in found(user("hello"), reads("a", strange)))


_LINES = """
You must keep parse_rows stable.
Never touch /srv/app/core.py again.
不要修改 config.yaml 里的端口。
root cause is a race in `flush_all`
def load_rows(path, limit=40):
# WARNING: not reentrant
Exit code 2
fatal: bad object 8f14e45fceea
Listening on localhost:8080
Let me read the loader.
All tests pass.
- [x] parser
- [ ] writer
https://example.org/a?b=1
On branch feat/x
ok
300 ms
password: hunter2
决定采用增量同步，而不是全量。
KeyError: 'field'
"""
_LINE = st.sampled_from([*_LINES.splitlines(), "x" * 400])
_TEXT = st.lists(_LINE, max_size=5).map("\n".join)
_COMMAND = st.sampled_from(["make all", "git status", "npm run dev &", "ls"])
_MESSAGE = st.one_of(
    st.builds(user, _TEXT),
    st.builds(says, _TEXT),
    st.builds(thinks, _TEXT),
    st.builds(engine, _TEXT),
    st.builds(reads, st.sampled_from(["a.py", "/srv/b.go"]), _TEXT),
    st.builds(edits, st.just("a.py"), _TEXT, _TEXT),
    st.builds(lambda command, result, bad: runs(command, result, failed=bad), _COMMAND, _TEXT, st.booleans()),
    st.builds(lambda text: calls("TodoWrite", "ok", todos=[{"content": text or "x", "status": "pending"}]), _TEXT),
)


@pytest.mark.design("K-6", "K-10")
@pytest.mark.report(96)
@settings(max_examples=80, deadline=None)
@given(st.lists(_MESSAGE, max_size=14))
def test_never_invents_a_word(messages: list[Message]) -> None:
    said = set(_WORDS.findall(msgspec.json.encode(record(*messages)).decode().replace("\\n", " ")))
    for item in found(*messages):
        whole = re.sub(r"\w*…\w*", " ", item.text)
        assert set(_WORDS.findall(whole)) <= said | MARKUP, item


@pytest.mark.design("K-2", "K-10")
@settings(max_examples=60, deadline=None)
@given(st.lists(_MESSAGE, max_size=10), st.lists(_MESSAGE, max_size=10), st.sampled_from([1_000, 8_000, 50_000]))
def test_a_second_run_keeps_or_closes_every_item(first: list[Message], second: list[Message], trigger: int) -> None:
    before = found(*first, trigger=trigger)
    after = found(*second, items=before, after=len(first), trigger=trigger)
    now = {item.id: item for item in after}
    assert len(now) == len(after)
    for item in before:
        kept = now[item.id]
        assert msgspec.structs.replace(kept, status=item.status) == item
    assert _cost(after) <= sum(budgets(trigger).values())
    assert all(item.text.strip() and "\n" not in item.text for item in after)
