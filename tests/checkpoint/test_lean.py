"""A checkpoint under a policy of fewer tokens: few lines, short ones, and every fact."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.telling import calls, edits, reads, record, run_of, runs, says, texts, user
from sojourn.base import Item, ItemStatus, Section, open_items
from sojourn.checkpoint import WriterInput
from sojourn.checkpoint.extract import extract
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.knowledge import knowledge
from sojourn.checkpoint.extract.lean import LEAST, lean, looks, quoted, rooms
from sojourn.meter import estimate_text, total
from sojourn.record import Message

pytestmark = pytest.mark.design("C-18", "K-10")


def _lean(*messages: Message, items: tuple[Item, ...] = (), trigger: int = 50_000, after: int = 0) -> tuple[Item, ...]:
    run = run_of(*messages, items=items, trigger=trigger, after=after)
    return extract(msgspec.structs.replace(run, economic=True))


def _cost(items: tuple[Item, ...]) -> int:
    return sum(total(estimate_text(f"- {item.text}\n")) for item in open_items(items))


def test_the_rooms() -> None:
    assert rooms(50_000) == {
        Section.INTENT: 200,
        Section.NEXT: 100,
        Section.FRONTIER: 150,
        Section.DIRECTIVES: 600,
        Section.FILES: 250,
        Section.KNOWLEDGE: 1_400,
        Section.ERRORS: 150,
        Section.RESOURCES: 125,
        Section.DECISIONS: 800,
    }
    assert rooms(400_000) == rooms(50_000)
    assert rooms(5_000)[Section.KNOWLEDGE] == 140


def test_what_an_item_must_be_worth() -> None:
    assert {section: worth for section, worth in LEAST.items() if worth != 0.01} == {
        Section.FILES: 1.0,
        Section.KNOWLEDGE: 0.6,
    }


# --- a whole session -------------------------------------------------------------------------------------------------


def _turn(i: int, facts: dict[str, str]) -> list[Message]:
    """One request, 13 steps, one answer; the facts are said once each."""
    rule, decided, stated = (
        f"Tenant{i} must keep to KX-{i:02d}ab1.",
        f"Lane{i} runs along TR-{i:02d}9c.",
        f"ops set QX-{i:02d}f7 here",
    )
    facts |= {rule: "user", decided: "answer", stated: "file"}
    pad = "\n".join(f"- harbor inlet jolt kernel lattice meadow nickel orbit {n}" for n in range(320)) if i == 1 else ""
    code = "\n".join(f"def gravel_{i}_{n}(quiver, scale={n}):\n    return quiver * {n * 37}" for n in range(60))
    path = f"/srv/scratch/repo/src/harbor/module_{i}.py"
    return [
        user(f"[task {i}/12] Please tidy the beam module.\n{pad}\n{rule}\nThe owner should prefer olive-{i}7 today.\n{pad}"),
        reads(path, f"{code}\n# {stated}\n{code}"),
        *[reads(f"/srv/scratch/repo/src/pivot/part_{(i * 5 + n) % 30}.py", code) for n in range(8)],
        *[runs(f"grep -rn quiver src | head -{n}", code[:2_000]) for n in range(3)],
        calls("Bash", "ok", text=f"Touching {path} again.", command=f"echo x >> {path} && tail -n 4 {path}"),
        says(f"Task {i} finished.\n{decided}"),
    ]


@pytest.mark.report(14)
def test_after_160_steps_it_is_small_and_holds_every_fact() -> None:
    facts: dict[str, str] = {}
    messages = record(*[message for i in range(12) for message in _turn(i, facts)])
    items: tuple[Item, ...] = ()
    for start in range(0, len(messages), 20):
        part = messages[start : start + 20]
        run = WriterInput(items=items, messages=part, range=(start, part[-1].seq), trigger=40_000, economic=True)
        items = open_items(extract(run))
    assert len(facts) == 36
    lines = [item.text for item in items]
    assert [fact for fact in facts if fact not in lines] == []
    assert _cost(items) < 1_400
    full = open_items(extract(WriterInput(items=(), messages=messages, range=(0, messages[-1].seq), trigger=40_000)))
    assert _cost(full) > 3 * _cost(items)


# --- the user's words ------------------------------------------------------------------------------------------------


def _speech(tokens: int, first: str = "a") -> str:
    """A text of exactly so many tokens by the meter."""
    text = first
    while total(estimate_text(text)) < tokens:
        text += " word"
    assert total(estimate_text(text)) == tokens
    return text


@pytest.mark.parametrize(("tokens", "whole"), [(1_999, True), (2_000, True), (2_001, False)])
def test_a_message_over_its_cap_is_not_quoted_whole(tokens: int, whole: bool) -> None:
    evidence = gather(record(user("hello"), user(_speech(tokens))))
    assert quoted(evidence, 50_000) == ({1, 2} if whole else {1})


@pytest.mark.parametrize(("trigger", "seqs"), [(10_000, {2, 3}), (9_995, {3}), (15_000, {1, 2, 3}), (14_995, {2, 3})])
def test_the_newest_messages_are_quoted_up_to_a_fifth_of_the_trigger(trigger: int, seqs: set[int]) -> None:
    evidence = gather(record(*[user(_speech(1_000)) for _ in range(3)]))
    assert quoted(evidence, trigger) == seqs


def test_at_most_what_the_opening_gives_to_them() -> None:
    evidence = gather(record(*[user(_speech(2_000)) for _ in range(10)]))
    assert quoted(evidence, 1_000_000) == set(range(3, 11))


def test_mild_words_of_a_quoted_message_leave_and_rules_stay() -> None:
    said = "You should prefer tabs. Never use eval. Invoices carry the prefix INV-77Q. Our salt must be SALT-91cc."
    assert texts(_lean(user(said), says("ok")), Section.DIRECTIVES) == ["Never use eval.", "Our salt must be SALT-91cc."]
    pad = "\n".join(f"- harbor inlet jolt kernel lattice meadow nickel orbit {n}" for n in range(320))
    assert len(texts(_lean(user(f"{pad}\n{said}\n{pad}"), says("ok")), Section.DIRECTIVES)) == 4


def test_what_only_repeats_a_quoted_message_leaves_first() -> None:
    pad = "\n".join(f"- harbor inlet jolt kernel lattice meadow nickel orbit {n}" for n in range(320))
    short = [user(f"Never print list{i} of the vendor's own long and dull rows.") for i in range(60)]
    items = _lean(user(f"{pad}\nYou should prefer tabs here.\n{pad}"), *short, says("ok"))
    lines = texts(items, Section.DIRECTIVES)
    assert "You should prefer tabs here." in lines
    assert 10 < len(lines) < 61


def test_a_request_is_a_short_reference() -> None:
    (text,) = texts(_lean(user("fix it now " * 30)), Section.INTENT)
    assert text.startswith("m1: fix it now")
    assert 60 < len(text) <= 91


def test_what_a_directive_weighs_that_no_quotation_shows() -> None:
    pad = "\n".join(f"- harbor inlet jolt kernel lattice meadow nickel orbit {n}" for n in range(320))
    items = _lean(user(f"{pad}\nYou should prefer tabs here.\n{pad}"), user("Never use eval."), says("ok"))
    weights = {item.text: item.weight for item in items if item.section is Section.DIRECTIVES}
    assert weights == {"You should prefer tabs here.": 5.0, "Never use eval.": 4.0}


@pytest.mark.parametrize(
    ("one", "kept"),
    [
        (Found(Section.INTENT, "x" * 90, (2,), 3.0), ("x" * 90, 3.0)),
        (Found(Section.INTENT, "x" * 91, (2,), 3.0), ("x" * 90 + "…", 3.0)),
        (Found(Section.ERRORS, "x" * 160, (2,), 1.5), ("x" * 160, 1.5)),
        (Found(Section.ERRORS, "x" * 161, (2,), 1.5), ("x" * 160 + "…", 1.5)),
        (Found(Section.RESOURCES, "x" * 161, (2,), 4.0), ("x" * 160 + "…", 4.0)),
        (Found(Section.RESOURCES, "port 80: it", (1,), 2.0), ("port 80: it", 0.0)),
        (Found(Section.RESOURCES, "ran `a`: completed", (2,), 1.4), ("ran `a`: completed", 1.4)),
        (Found(Section.RESOURCES, "ran `a`: completed", (2,), 1.39), ("ran `a`: completed", 0.0)),
        (Found(Section.RESOURCES, "ran `a`: exit 0, ok", (2,), 1.1), ("ran `a`: exit 0, ok", 0.0)),
        (Found(Section.RESOURCES, "ran `a`: exit 1, no", (2,), 1.1), ("ran `a`: exit 1, no", 1.1)),
        (Found(Section.RESOURCES, "ran `a`: failed", (2,), 1.1), ("ran `a`: failed", 1.1)),
        (Found(Section.DECISIONS, "so it is", (2,), 1.9), ("so it is", 1.9)),
        (Found(Section.DECISIONS, "so it is", (2,), 1.89), ("so it is", 0.0)),
        (Found(Section.KNOWLEDGE, "at QX-1ab", (2,), 1.08), ("at QX-1ab", 4.08)),
        (Found(Section.KNOWLEDGE, "at QX-1ab", (2,), 1.07), ("at QX-1ab", 2.57)),
        (Found(Section.KNOWLEDGE, "at 37", (2,), 1.08), ("at 37", 1.08)),
        (Found(Section.KNOWLEDGE, "`a.py`: LIMIT = 400", (2,), 1.6), ("`a.py`: LIMIT = 400", 1.6)),
        (Found(Section.NEXT, "x" * 300, (2,), 3.0), ("x" * 300, 3.0)),
    ],
)
def test_each_line_by_itself(one: Found, kept: tuple[str, float]) -> None:
    (after,) = lean([one], gather(record(user("It listens on port 80."), says("ok"))), 50_000)
    assert (after.text, after.weight) == (kept[0], pytest.approx(kept[1]))


# --- few and short ---------------------------------------------------------------------------------------------------


def test_files_are_told_without_the_first_line_of_their_change() -> None:
    items = _lean(user("go"), edits("src/a.py", new="def flush(queue):", lines=(10, 12)), reads("src/b.py", lines=(5, 9)))
    assert sorted(texts(items, Section.FILES)) == [
        "`src/a.py` Edit(file_path) m2 lines 10-12",
        "`src/b.py` Read(file_path) m3 lines 5-9",
    ]


def test_a_file_that_was_only_read_leaves_in_time_and_a_changed_one_stays_longer() -> None:
    first = _lean(user("go"), reads("a.py"), edits("b.py"))

    def left(messages: int) -> list[str]:
        items = _lean(*[runs("ls", "x") for _ in range(messages)], items=first, after=3)
        return [text.split("`")[1] for text in texts(items, Section.FILES)]

    assert left(30) == ["b.py", "a.py"]
    assert left(45) == ["b.py"]
    assert left(300) == []


def test_errors_that_were_fixed_leave_and_open_ones_are_short() -> None:
    broken = runs("pytest t.py", f"Exit code 1\nKeyError: 'job_id' {'of the row ' * 30}", failed=True)
    (text,) = texts(_lean(user("go"), broken), Section.ERRORS)
    assert text.startswith("KeyError: 'job_id'")
    assert len(text) <= 161
    assert texts(_lean(user("go"), broken, runs("pytest t.py", "1 passed")), Section.ERRORS) == []


def test_resources_are_what_runs_what_failed_and_what_is_run_again() -> None:
    items = _lean(
        user("The port is 8081."),
        runs("make once", "ok"),
        runs("make twice", "ok"),
        runs("make twice", "ok"),
        runs("make bad", "Exit code 2\nno", failed=True),
        runs("git switch topic/x", ""),
        runs("serve &", "Listening on localhost:5173"),
    )
    assert sorted(text.split(": ")[0] for text in texts(items, Section.RESOURCES)) == [
        "branch",
        "port 5173",
        "ran `make bad`",
        "ran `make twice`",
        "running `serve &`",
    ]


def test_the_frontier_is_what_is_left_and_what_was_committed() -> None:
    states = {"One": "completed", "Two": "in_progress", "Three": "pending"}
    plan = calls("TodoWrite", "ok", todos=[{"content": text, "status": state} for text, state in states.items()])
    made = runs('git commit -m "lanes"', "[topic/lanes 7be91d0] lanes")
    items = _lean(user("go"), plan, made, says("All tests pass now. Still missing is the writer of rows.", None))
    assert texts(items, Section.FRONTIER) == [
        "under way: Two",
        "remaining: Three",
        "remaining: Still missing is the writer of rows.",
        "done: [topic/lanes 7be91d0] lanes",
    ]


def test_a_step_that_is_done_takes_its_older_state_with_it() -> None:
    first = _lean(
        user("go"), calls("TaskCreate", "Task #7", subject="Write it"), calls("TaskUpdate", "ok", taskId="7", status="active")
    )
    assert texts(first, Section.FRONTIER) == ["under way: Write it"]
    made = calls("TaskCreate", "Task #7", subject="Write it")
    second = _lean(made, calls("TaskUpdate", "ok", taskId="7", status="done"), items=first, after=3)
    assert texts(second, Section.FRONTIER) == []
    assert texts(second, Section.FRONTIER, ItemStatus.SUPERSEDED) == ["under way: Write it"]


def test_decisions_need_more_and_a_rare_value_weighs_most() -> None:
    between = "We keep the lock in the store because it is short."
    rare = "Lane7 runs along TR-079c."
    closing = "The root cause is a missing lock in `flush_queue`."
    items = _lean(user("go"), calls("Read", "x", text=between, file_path="a"), says(f"{closing} {rare}"))
    assert {item.text: item.weight for item in items if item.section is Section.DECISIONS} == {
        closing: pytest.approx(1.2 + 0.25 + 1.0),
        rare: pytest.approx(1.2 + 0.25 + 1.0 + 3.0),
    }


def test_facts_weigh_more_than_lines_of_identifiers_and_most_where_the_work_came_back() -> None:
    shown = "# ops pinned it to QX-51ab7\nx = 1\n\n# rows are gone after 900 seconds\ny = 2\n\n# NOTE: shared by all of them.\n"

    def weights(*more: Message) -> dict[str, float]:
        return {
            item.text: item.weight
            for item in _lean(user("go"), reads("a.py", shown), *more)
            if item.section is Section.KNOWLEDGE
        }

    assert weights() == {
        "ops pinned it to QX-51ab7": pytest.approx(1.62 + 3.0),
        "rows are gone after 900 seconds": pytest.approx(0.72 + 1.5),
        "# NOTE: shared by all of them.": pytest.approx(1.2),
    }
    assert weights(says("other things hold", None))["ops pinned it to QX-51ab7"] == pytest.approx(1.62 + 3.0)
    looked = calls("Grep", "# ops pinned it to QX-88c1a", pattern="QX-88c1a", path="a.py")
    assert weights(looked)["ops pinned it to QX-88c1a"] == pytest.approx(1.62 + 3.0)
    assert weights(says("QX-51ab7 holds", None))["ops pinned it to QX-51ab7"] == pytest.approx(1.62 + 4.0)


# --- identifiers -----------------------------------------------------------------------------------------------------


def test_calls_that_look_and_their_announcements_are_no_knowledge() -> None:
    look = calls("Read", "x", text="Reading src/harbor/pivot_7.py again today.", file_path="/srv/src/harbor/pivot_7.py")
    more = calls(
        "Read", "x", text="In src/harbor/pivot_7.py the drain_rows call hangs.", file_path="/srv/src/harbor/pivot_7.py"
    )
    make = runs("make drain_rows in_the_lanes", "ok")
    evidence = gather(record(look, more, make))
    told = [one.text for one in knowledge(evidence, (), (), 10_000, telling=True).found]
    assert "In src/harbor/pivot_7.py the drain_rows call hangs." in told
    assert "Bash(command=make drain_rows in_the_lanes)" in told
    assert not any(text.startswith(("Reading", "Read(")) for text in told)
    full = [one.text for one in knowledge(evidence, (), (), 10_000).found]
    assert any(text.startswith(("Reading", "Read(")) for text in full)


@pytest.mark.parametrize(
    ("message", "only"),
    [
        (runs("ls -la", "x"), True),
        (runs("make all", "x"), False),
        (reads("a.py"), True),
        (edits("a.py"), False),
        (calls("Grep", "x", pattern="y"), True),
    ],
)
def test_which_calls_only_look(message: Message, only: bool) -> None:
    (act,) = gather(record(message)).acts
    assert looks(act) is only


def test_what_was_only_shown_is_no_knowledge() -> None:
    shown = "\n".join(f"def gravel_{n}(quiver, scale={n}):" for n in range(50))
    assert texts(_lean(user("go"), reads("a.py", shown)), Section.KNOWLEDGE) == []


def test_lines_of_a_fuller_checkpoint_leave_when_they_are_worth_little() -> None:
    old = Item(id="k", section=Section.KNOWLEDGE, text="value_of = compute(other_name)", sources=(1,), weight=0.5)
    model = msgspec.structs.replace(old, id="m", text="The cache lives in tmpfs.", by="model")
    items = _lean(user("go"), runs("ls", "x"), items=(old, model), after=9)
    assert [item.id for item in items if item.status is ItemStatus.OPEN and item.section is Section.KNOWLEDGE] == ["m"]


# --- a person's items ------------------------------------------------------------------------------------------------


@pytest.mark.design("R-6")
@pytest.mark.parametrize("economic", [False, True])
def test_what_a_person_wrote_stays(economic: bool) -> None:
    def own(section: Section, text: str) -> Item:
        return Item(id=section.value, section=section, text=text, sources=(1,), weight=0.001, by="user")

    mine = (
        own(Section.INTENT, "m1: ask"),
        own(Section.NEXT, "Do this"),
        own(Section.FRONTIER, "under way: One"),
        own(Section.FILES, "`a.py` mine"),
        own(Section.KNOWLEDGE, "word " * 2_500),
    )
    plan = calls("TodoWrite", "ok", todos=[{"content": "One", "status": "completed"}])
    run = run_of(user("go"), reads("a.py"), plan, says("Done."), items=mine, after=1)
    items = extract(msgspec.structs.replace(run, economic=economic))
    assert [item for item in items if item.by == "user"] == list(mine)


@pytest.mark.design("R-6")
def test_a_persons_item_takes_room_from_the_others() -> None:
    own = Item(id="d", section=Section.DECISIONS, text="word " * 4_000, sources=(1,), weight=0.001, by="user")
    said = says("The root cause is a missing lock in `flush_queue`.")
    run = run_of(user("go"), said, items=(own,), after=1)
    assert texts(extract(run), Section.DECISIONS) == [own.text]


_LINE = st.sampled_from(
    ["Our salt must be SALT-91cc.", "I had it wrong, it is SALT-18dd.", "You should prefer tabs.", "KX-71aa it is.",
     "# ops pinned it to QX-51ab7", "def f(a_name, b_name):", "All tests pass.", "fatal: bad object 8f14e45f", "Look at it."]
)  # fmt: skip
_TEXT = st.lists(_LINE, max_size=5).map("\n".join)
_MESSAGE = st.one_of(
    st.builds(user, _TEXT),
    st.builds(says, _TEXT),
    st.builds(reads, st.sampled_from(["a.py", "b.md"]), _TEXT),
    st.builds(edits, st.just("a.py"), _TEXT, _TEXT),
    st.builds(lambda text, bad: runs("make", text, failed=bad), _TEXT, st.booleans()),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_MESSAGE, max_size=10), st.lists(_MESSAGE, max_size=10), st.booleans(), st.sampled_from([1_000, 50_000]))
def test_every_item_stays_or_leaves_with_a_status_within_the_rooms(
    first: list[Message], second: list[Message], before_economic: bool, trigger: int
) -> None:
    before = extract(msgspec.structs.replace(run_of(*first, trigger=trigger), economic=before_economic))
    after = _lean(*second, items=before, after=len(first), trigger=trigger)
    now = {item.id: item for item in after}
    assert len(now) == len(after)
    for item in before:
        assert msgspec.structs.replace(now[item.id], status=item.status) == item
    for section, room in rooms(trigger).items():
        assert _cost(tuple(item for item in after if item.section is section)) <= room


def test_without_the_policy_an_item_of_little_worth_stays_while_there_is_room() -> None:
    old = tuple(
        Item(id=section.value, section=section, text=f"value of {section.value}", sources=(1,), weight=0.01)
        for section in (Section.KNOWLEDGE, Section.DECISIONS)
    )
    run = run_of(user("go"), says("ok"), items=old, after=9)
    assert [item for item in extract(run) if item.status is ItemStatus.OPEN and item in old] == list(old)
    assert not set(old) & set(extract(msgspec.structs.replace(run, economic=True)))
