"""Each operation judged by itself; what is not touched stays byte for byte (K-2, K-6)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.asked import item, with_
from checkpoint.telling import calls, engine, record, run_of, says, user
from sojourn.base import Item, ItemStatus, Section, open_items
from sojourn.checkpoint import WriterInput, Written, validate
from sojourn.checkpoint.applying import MODEL_WEIGHT, Applied, apply, told, unheard, user_texts
from sojourn.checkpoint.extract.found import item_id
from sojourn.checkpoint.operations import Add, Close, Promote, Replace, parse
from sojourn.checkpoint.room import HEADING, cost, fitting, taken
from sojourn.record import Image, Message, Text
from sojourn.window import budgets

K, D, N = Section.KNOWLEDGE, Section.DIRECTIVES, Section.NEXT
OPEN, DONE, OVER = ItemStatus.OPEN, ItemStatus.DONE, ItemStatus.SUPERSEDED

A, B, C = item("the cap is 5"), item("the port is 8080"), item("retry in  250 ms")
GO = user("please make the parser a streaming one")


def applied(reply: str, *items: Item, messages: tuple[Message, ...] = (GO,), trigger: int = 50_000) -> Applied:
    return apply(parse(reply), run_of(*messages, items=items, trigger=trigger))


def texts(written: Written, status: ItemStatus = OPEN) -> list[str]:
    return [one.text for one in written.items if one.status is status]


@pytest.mark.design("K-2", "K-6")
def test_new_items_stand_behind_the_present_ones_of_their_section() -> None:
    done = applied("+ decisions: plan B\n+ knowledge: the host is up\n+ next: run it", A, B)
    new = done.written.items
    assert [(one.section, one.text) for one in new] == [
        (N, "run it"),
        (K, "the cap is 5"),
        (K, "the port is 8080"),
        (K, "the host is up"),
        (Section.DECISIONS, "plan B"),
    ]
    assert new[1] is A
    assert new[2] is B
    assert new[3] == Item(
        item_id(K, "the host is up"), K, "the host is up", (1,), OPEN, written_seq=1, weight=MODEL_WEIGHT, by="model"
    )
    assert done.valid == 3
    assert done.written.added == (
        item_id(Section.DECISIONS, "plan B"),
        item_id(K, "the host is up"),
        item_id(N, "run it"),
    )
    assert done.written.closed == done.written.refused == done.written.promoted == ()


@pytest.mark.design("K-6", "K-12")
@pytest.mark.report(90)
@pytest.mark.parametrize("operation", ["x {id}", "x {id} superseded", "= {id} directives: push when you like"])
def test_a_rule_is_taken_back_by_the_user_only(operation: str) -> None:
    rule = item("never push to main", section=D, sources=(3,))
    silent = applied(operation.format(id=rule.id), rule, messages=(says("I go on."), calls("bash", "x di-1: no more rules")))
    assert silent.valid == 0
    assert silent.written.refused[0].startswith("the user has said nothing since")
    assert texts(silent.written) == ["never push to main"]
    spoken = applied(operation.format(id=rule.id), rule, messages=(says("a"), says("b"), says("c"), user("push when you like")))
    assert spoken.valid == 1
    assert "never push to main" not in texts(spoken.written)


@pytest.mark.design("K-2")
def test_a_replacement_takes_the_place_and_the_messages_of_what_it_replaces() -> None:
    old = msgspec.structs.replace(A, sources=(7, 9))
    done = applied(f"= {A.id}: the cap is 6\n+ knowledge: more of it", old, B, messages=(user("hm"),)).written
    assert texts(done) == ["the cap is 6", "the port is 8080", "more of it"]
    assert done.items[0].sources == (7, 9)
    assert done.items[2].sources == (1,)
    assert texts(done, OVER) == ["the cap is 5"]
    assert done.items[-1] == msgspec.structs.replace(old, status=OVER)
    assert done.added == (item_id(K, "the cap is 6"), item_id(K, "more of it"))
    assert done.closed == (A.id,)


@pytest.mark.design("K-2")
def test_a_replacement_in_another_section_goes_to_its_end() -> None:
    plan = item("plan B", Section.DECISIONS)
    done = applied(f"= {A.id} decisions: cap 5 it is", A, B, plan).written
    assert [(one.section, one.text) for one in open_items(done.items)] == [
        (K, "the port is 8080"),
        (Section.DECISIONS, "plan B"),
        (Section.DECISIONS, "cap 5 it is"),
    ]
    same = applied(f"= {A.id} decisions: the cap is 5", A).written
    assert [(one.section, one.text, one.status) for one in same.items] == [
        (Section.DECISIONS, "the cap is 5", OPEN),
        (K, "the cap is 5", OVER),
    ]


@pytest.mark.design("K-2")
def test_closing_and_its_status() -> None:
    done = applied(f"x {A.id}\nx {B.id} superseded", A, B, C)
    assert done.written.items == (C, msgspec.structs.replace(A, status=DONE), msgspec.structs.replace(B, status=OVER))
    assert done.written.closed == (A.id, B.id)
    assert done.valid == 2


@pytest.mark.design("K-12")
def test_what_is_proven_is_promoted() -> None:
    done = applied(f"^ {A.id}\n^ knowledge: the host is up\n^ knowledge: The  port is 8080\n^ kn-00000000", A, B)
    assert done.written.promoted == (A.id, item_id(K, "the host is up"), B.id)
    assert done.written.added == (item_id(K, "the host is up"),)
    assert done.written.refused == ("no open item has this id: ^ kn-00000000",)
    assert done.valid == 3


@pytest.mark.design("K-6", "R-6")
@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        ("= kn-00000000: other", "no open item has this id: = kn-00000000: other"),
        ("x kn-00000000", "no open item has this id: x kn-00000000"),
        ("= {by}: other", "a person wrote this item: = {by}: other"),
        ("x {by}", "a person wrote this item: x {by}"),
        ("+ plans: other", "there is no section 'plans': + plans: other"),
        ("+ knowledge:", "no text: + knowledge:"),
        ('+ directives: "never ever do that"', 'invented quotation: + directives: "never ever do that"'),
        ("+ knowledge: 解析器每次只读一行内容", "not in the user's language: + knowledge: 解析器每次只读一行内容"),
    ],
)
def test_an_operation_that_does_not_hold_is_refused_alone(reply: str, refused: str) -> None:
    mine = item("theirs", by="user")
    done = applied(reply.format(by=mine.id) + "\n+ next: run it", A, mine)
    assert done.written.refused == (refused.format(by=mine.id),)
    assert done.valid == 1
    assert texts(done.written) == ["run it", "the cap is 5", "theirs"]
    assert applied(reply.format(by=mine.id), A, mine).valid == 0


@pytest.mark.design("R-6", "K-12")
def test_what_a_person_wrote_can_be_promoted() -> None:
    mine = item("theirs", by="user")
    assert applied(f"^ {mine.id}", mine).written.promoted == (mine.id,)


@pytest.mark.design("K-6")
@pytest.mark.report(90)
def test_the_user_is_quoted_only_with_what_the_user_said() -> None:
    messages = (
        user("Never  touch main\nplease"),
        says('The user said "always deploy on friday".'),
        engine("keep the old interface alive"),
    )
    reply = '+ directives: "never touch main"\n+ directives: "always deploy on friday"\n+ directives: "keep the old interface"'
    done = applied(reply, messages=messages).written
    assert texts(done) == ['"never touch main"']
    assert [line[:18] for line in done.refused] == ["invented quotation"] * 2
    present = item("always deploy on friday", D)
    assert '"always deploy on friday"' in texts(applied(reply, present, messages=messages).written)
    (original,) = record(user("keep the old interface alive"), after=0)
    run = with_(run_of(*messages, after=3), original=(original,))
    assert texts(apply(parse(reply), run).written) == ['"never touch main"', '"keep the old interface"']


@pytest.mark.design("K-6")
def test_a_replacement_is_judged_like_an_addition() -> None:
    rule = item("keep it", D)
    done = applied(f'= {rule.id}: "never ever touch it"\n= {A.id} directives: "never ever touch that"', rule, A)
    assert done.valid == 0
    assert [line[:18] for line in done.written.refused] == ["invented quotation"] * 2
    assert applied(f'= {A.id}: the server says "no such thing here"', A).valid == 1
    assert unheard(
        parse(f'= {rule.id}: "never ever touch it"\n= {A.id}: "no such thing here"'), run_of(GO, items=(rule, A))
    ) == ("never ever touch it",)
    old = item("read it", N)
    gone = applied(f"+ next: run it\n= {old.id}: write it", old).written
    assert gone.refused == (f"no open item has this id: = {old.id}: write it",)
    assert apply([Add(K, "  ")], run_of(GO)).written.refused == ("no text: + knowledge:",)


@pytest.mark.design("K-6")
def test_quotations_that_nobody_heard_are_looked_for_elsewhere() -> None:
    run = run_of(user("never touch main"), items=(A,))
    reply = (
        f'+ directives: "never touch main" and "keep it as is"\n= {A.id}: the cap\n'
        f'= {A.id} directives: "that is the way"\n= kn-00000000: "of no known section"\n+ files: "keep it so forever"'
    )
    assert unheard(parse(reply), run) == ("keep it as is", "that is the way")
    (earlier,) = record(user("Keep it as is!"), after=0)
    beside = apply(
        parse('+ directives: "keep it as is"'), run_of(user("never touch main"), items=(A,), after=4), beside=(earlier,)
    )
    assert texts(beside.written) == ['"keep it as is"', "the cap is 5"]


@pytest.mark.design("K-6")
@pytest.mark.report(92)
def test_items_keep_the_users_language() -> None:
    chinese = user("请把解析器改成流式的，不要一次读完整个文件")
    output = "the parser reads one line at a time"
    line = f"+ knowledge: {output}"
    assert applied(line, messages=(chinese,)).valid == 0
    assert applied(line, messages=(chinese, calls("Bash", f"warning: {output}\n"))).valid == 1
    assert applied(line, messages=(chinese, says(f"It says: {output}"))).valid == 1
    assert applied("+ knowledge: 解析器每次只读一行", messages=(chinese,)).valid == 1
    assert applied(line, messages=(says("ok"),)).valid == 1
    before = item("解析器必须是流式的，不要一次读完", D)
    assert applied(line, before, messages=(says("ok"),)).valid == 0
    assert applied(line, msgspec.structs.replace(before, section=K), messages=(says("ok"),)).valid == 1


@pytest.mark.design("K-6")
@pytest.mark.report(130, 131)
def test_secrets_are_taken_out_and_the_item_is_kept() -> None:
    done = applied("+ resources: login with password=hunter2abc on 8080\n+ plans: token=abc123def456ghi").written
    assert texts(done) == ["login with password=[redacted] on 8080"]
    assert done.items[0].id == item_id(Section.RESOURCES, done.items[0].text)
    assert done.refused == ("there is no section 'plans': + plans: token=[redacted]",)


@pytest.mark.design("K-2", "K-6")
def test_duplicates_are_dropped_in_silence() -> None:
    done = applied("+ knowledge: The cap  is 5\n+ decisions: the cap is 5\n+ next: a b\n+ next: A b", A)
    assert texts(done.written) == ["a b", "the cap is 5"]
    assert done.written.refused == ()
    assert done.valid == 4
    assert done.written.added == (item_id(N, "a b"),)


@pytest.mark.design("K-2")
def test_a_replacement_that_says_what_another_says_closes_only() -> None:
    done = applied(f"= {A.id}: The port is 8080", A, B).written
    assert done.items == (B, msgspec.structs.replace(A, status=OVER))
    assert done.added == ()
    assert applied(f"= {A.id}: the cap is 5", A, B).written == Written(items=(A, B))
    assert texts(applied(f"= {A.id}: The Cap is 5", A).written) == ["The Cap is 5"]


@pytest.mark.design("K-2")
def test_the_last_word_on_an_item_holds() -> None:
    done = applied(f"= {A.id}: cap 6\nx {A.id}\n= {A.id}: cap 7", A).written
    assert texts(done) == ["cap 7"]
    assert done.refused == (f"said again later: = {A.id}: cap 6", f"said again later: x {A.id}")


@pytest.mark.design("K-2")
def test_what_was_closed_is_not_brought_back_by_the_same_answer() -> None:
    done = applied(f"x {A.id}\n+ knowledge: the cap is 5\n= {B.id}: the cap is 5", A, B).written
    assert done.items == (B, msgspec.structs.replace(A, status=DONE))
    assert [line.split(":")[0] for line in done.refused] == ["closed by the same answer"] * 2
    gone = msgspec.structs.replace(A, status=DONE)
    assert applied("+ knowledge: the cap is 5", gone).written.items == (gone,)


@pytest.mark.design("K-2")
def test_there_is_a_single_next_step_and_one_line_for_a_request() -> None:
    old, theirs = item("read it", N), item("ask me first", N, by="user")
    done = applied(f"+ next: run it\n+ next: then stop\nx {old.id}", theirs, old)
    assert texts(done.written) == ["ask me first", "run it", "then stop"]
    assert texts(done.written, OVER) == ["read it"]
    assert done.written.closed == (old.id,)
    assert done.valid == 3
    third, fourth, other = (item(text, Section.INTENT) for text in ("m3: fix it", "m4: test it", "ship it"))
    request = applied("+ intent: m3: fixed, tests are missing\n+ intent: m33: new\n+ intent: no number", third, fourth, other)
    assert texts(request.written) == ["m4: test it", "ship it", "m3: fixed, tests are missing", "m33: new", "no number"]
    assert request.written.closed == (third.id,)
    for name in ("mail", "3", "m", "more 3"):
        one = item(f"{name}: fix it", Section.INTENT)
        assert applied(f"+ intent: {name}: test it", one).written.closed == ()
    assert applied("+ knowledge: m3: it is slow", item("m3: it is large")).written.closed == ()


@pytest.mark.design("K-2")
def test_what_came_and_went_in_one_answer_leaves_no_trace() -> None:
    done = applied(f"+ knowledge: fresh fact\nx {item_id(K, 'fresh fact')}", A)
    assert done.written == Written(items=(A,))
    assert done.valid == 2


@pytest.mark.design("K-2")
def test_without_a_trace_in_the_messages_an_item_rests_on_the_whole_stretch() -> None:
    messages = (GO, says("one"), says("two"), says("three"))
    assert applied("+ knowledge: zebra", messages=messages).written.items[0].sources == (1, 4)
    assert applied("+ knowledge: zebra", messages=(GO,)).written.items[0].sources == (1,)


@pytest.mark.design("K-2")
@pytest.mark.report(96)
def test_messages_that_the_model_names_count_where_they_exist() -> None:
    messages = (GO, says("the host is up"))
    present = item("the cap is 5", sources=(3,))
    run = run_of(*messages, items=(present,), after=10)
    lines = "+ [m11,m12,m13] knowledge: a b c\n+ [m3,m4,m99] knowledge: d e f\n+ [m99] knowledge: the host\n+ next: q q q"
    sources = {one.text: one.sources for one in apply(parse(lines), run).written.items}
    assert sources == {"a b c": (11, 12), "d e f": (3,), "the host": (12,), "q q q": (11, 12), "the cap is 5": (3,)}
    late = record(says("behind the mark"), after=20)
    assert apply(parse("+ [m21] knowledge: a b c"), run, beside=late).written.items[-1].sources == (11, 12)


@pytest.mark.design("K-2")
def test_without_messages_an_item_rests_on_none() -> None:
    run = WriterInput(items=(), messages=(), range=(4, 4), trigger=50_000)
    assert apply(parse("+ knowledge: from the notes"), run).written.items[0].sources == ()


@pytest.mark.design("K-2", "K-6")
def test_room_is_exact_at_its_edge() -> None:
    text = "a fact of a certain length, number one"
    price = cost(text)
    trigger = 50_000 * (HEADING + price) // 500
    assert budgets(trigger)[N] == HEADING + price
    assert texts(applied(f"+ next: {text}", trigger=trigger).written) == [text]
    tight = applied(f"+ next: {text}", trigger=trigger - 100)
    assert budgets(trigger - 100)[N] == HEADING + price - 1
    assert tight.written.items == ()
    assert tight.written.refused == (f"longer than all of next may be: + next: {text}",)


@pytest.mark.design("K-2", "K-6")
def test_over_the_budget_the_new_stay_and_the_lightest_old_leave() -> None:
    """Three lines fit: of two new and three old ones the heaviest old one stays."""
    names = ["alpha", "bravo", "gamma", "delta", "omega"]
    text = "the file {} is one of the files in play, and a long line tells what it is for and who calls it from where"
    price = max(cost(text.format(name)) for name in names)
    assert 4 * min(cost(text.format(name)) for name in names) > 3 * price + 20
    old = [item(text.format(name), Section.FILES, weight=weight) for name, weight in zip(names, (1.0, 3.0, 2.0), strict=False)]
    trigger = next(t for t in range(0, 50_000, 10) if budgets(t)[Section.FILES] >= HEADING + 3 * price)
    done = applied(f"+ files: {text.format('delta')}\n+ files: {text.format('omega')}", *old, trigger=trigger).written
    assert texts(done) == [text.format("bravo"), text.format("delta"), text.format("omega")]
    assert texts(done, OVER) == [text.format("alpha"), text.format("gamma")]
    assert done.closed == ()
    assert done.refused == ()
    many = "\n".join(f"+ files: {text.format(name)}" for name in ("delta", "omega", "sigma", "theta"))
    full = applied(many, *old, trigger=trigger).written
    assert len(full.added) == 3
    assert len([line for line in full.refused if line.startswith("over the budget of files: ")]) == 1
    assert texts(full, OVER)[-1] not in texts(full)


@pytest.mark.design("K-6", "R-6")
def test_the_users_directives_leave_last_and_what_a_person_wrote_never() -> None:
    names = ["alpha", "bravo", "gamma", "delta", "omega"]
    text = "use the rule {} in all of the files, and in whatever stands beside them as well, from the first to the last"
    price = max(cost(text.format(name)) for name in names)
    assert 4 * min(cost(text.format(name)) for name in names) > 3 * price + 20
    said = item(text.format("alpha"), D, weight=0.5)
    models = item(text.format("bravo"), D, weight=9.0, by="model")
    theirs = item(text.format("gamma"), D, weight=0.1, by="user")
    trigger = next(t for t in range(0, 50_000, 10) if budgets(t)[D] >= HEADING + 3 * price)
    done = applied(f"+ directives: {text.format('delta')}", models, said, theirs, trigger=trigger).written
    assert texts(done) == [text.format(name) for name in ("alpha", "gamma", "delta")]
    small = next(t for t in range(0, 50_000, 10) if budgets(t)[D] >= HEADING + price)
    done = applied("+ next: go", models, said, theirs, trigger=small).written
    assert texts(done) == ["go", text.format("gamma")]


@pytest.mark.design("K-2", "C-18")
def test_an_economic_run_keeps_knowledge_to_its_own_budget() -> None:
    facts = "\n".join(f"+ knowledge: the fact with the number {n} is told here in a few words" for n in range(200))
    run = run_of(GO, trigger=50_000)
    wide = apply(parse(facts), run).written
    lean = apply(parse(facts), with_(run, economic=True)).written
    assert len(open_items(wide.items)) == 200
    assert 1_960 < taken(open_items(lean.items)) <= 2_000 < taken(open_items(wide.items))


@pytest.mark.design("K-2")
def test_fitting_skips_what_does_not_fit_and_tries_the_next() -> None:
    long, short = item("a very much longer line about one of the things"), item("short")
    room = HEADING + cost("short")
    assert fitting([long, short], room, [(2,), (1,)]) == ([short], [long])
    assert fitting([long, short], room - 1, [(2,), (1,)]) == ([], [long, short])
    assert fitting([], 0, []) == ([], [])
    assert HEADING == 6
    assert taken([]) == 0
    assert taken([short]) == 6 + cost("short")
    mine = msgspec.structs.replace(long, by="user")
    assert fitting([mine, short], 0, [(1,), (2,)]) == ([mine], [short])


@pytest.mark.design("K-6")
def test_refused_lines_are_bounded() -> None:
    done = applied("\n".join(f"+ plans: {'y' * 300}" for _ in range(150)))
    assert len(done.written.refused) == 100
    assert all(len(line) <= 200 for line in done.written.refused)


def test_an_operation_is_told_as_it_was_written() -> None:
    lines = ["+ knowledge: a", "^ knowledge: a", "= kn-1: b", "x kn-1", "^ kn-1"]
    operations = [Add(K, "a"), Add(K, "a", durable=True), Replace("kn-1", "b"), Close("kn-1"), Promote("kn-1")]
    assert [told(one) for one in operations] == lines


def test_what_the_user_said_is_a_persons_text_only() -> None:
    shown = msgspec.structs.replace(user("e"), parts=(Image("ab", "image/png", 9), Text("e"), Text("f")))
    assert user_texts(record(user("a"), says("b"), engine("c"), user("  "), calls("Read", "d"), shown)) == ("a", "e", "f")


TEXT = st.sampled_from(
    ["the cap is 5", "The cap is 5", "b", "c d e", '"never said at all"', "password=hunter2abc", "解析器每次只读一行", "x" * 90]
)
IDS = st.sampled_from([A.id, B.id, C.id, "kn-00000000", item_id(N, "b")])
LINE = st.one_of(
    st.builds(lambda s, t: f"+ {s.value}: {t}", st.sampled_from(Section), TEXT),
    st.builds(lambda i, t: f"= {i}: {t}", IDS, TEXT),
    st.builds(lambda i, s, t: f"= {i} {s.value}: {t}", IDS, st.sampled_from(Section), TEXT),
    st.builds(lambda i, how: f"x {i}{how}", IDS, st.sampled_from(["", " superseded"])),
    st.builds(lambda i: f"^ {i}", IDS),
    st.text(max_size=20),
)


@pytest.mark.design("K-2", "K-6")
@settings(max_examples=150, deadline=None)
@given(
    st.lists(LINE, max_size=12).map("\n".join),
    st.lists(st.sampled_from([A, B, C, item("b", N), item("theirs", by="user"), item("rule", D)]), unique=True, max_size=6),
    st.sampled_from([0, 2_000, 9_000, 50_000, 180_000]),
)
def test_whatever_is_answered_the_list_is_sound(reply: str, items: list[Item], trigger: int) -> None:
    run = run_of(GO, says("ok then"), items=tuple(items), trigger=trigger)
    operations = parse(reply)
    done = apply(operations, run).written
    opened = open_items(done.items)
    ids = [one.id for one in done.items]
    assert len(set(ids)) == len(ids)
    assert [one.section for one in opened] == sorted((one.section for one in opened), key=list(Section).index)
    assert done.items[: len(opened)] == opened
    room = budgets(trigger)
    for section in Section:
        mine = [one for one in opened if one.section is section]
        if any(one.by != "user" for one in mine):
            assert taken(mine) <= max(room[section], taken([one for one in mine if one.by == "user"]))
    touched = {one.id for one in operations if isinstance(one, Replace | Close)}
    kept = [one for one in items if one.id in {two.id for two in opened} and one.id not in touched]
    assert [one for one in opened if one in kept] == sorted(
        kept, key=lambda one: (list(Section).index(one.section), items.index(one))
    )
    for one in items:
        left = next(two for two in done.items if two.id == one.id)
        assert msgspec.structs.replace(left, status=OPEN) == one  # present items never change but in their status
        assert one.by != "user" or left is one
    assert set(done.added) <= {one.id for one in opened}
    assert not set(done.closed) & {one.id for one in opened}
    assert set(done.promoted) <= {one.id for one in opened}
    assert all("hunter2abc" not in one.text for one in done.items)
    assert all(one.sources and set(one.sources) <= {1, 2} for one in opened if one.by == "model")


@pytest.mark.design("K-6")
def test_the_last_gate_takes_whatever_a_writer_gives() -> None:
    given = (
        A,
        msgspec.structs.replace(A, text="twice"),
        item("  "),
        item("token=abc123def456ghi", sources=(0, 5, 6)),
        msgspec.structs.replace(B, section="plans"),
    )
    done = validate(Written(items=given, refused=("before",)), mark=5)
    assert [(one.text, one.sources) for one in done.items] == [("the cap is 5", (1,)), ("token=[redacted]", (5,))]
    assert done.refused == (
        "before",
        f"{A.id}: there are two of this id",
        f"{given[2].id}: empty",
        f"{B.id}: there is no section 'plans'",
    )
