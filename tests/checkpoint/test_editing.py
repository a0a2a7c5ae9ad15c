"""A person edits the rendering: the difference is taken as operations, and theirs is the last word (R-6)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint.asked import item
from sojourn.base import Item, ItemStatus, Section, UserMistake, open_items
from sojourn.checkpoint import apply_user, edited, items_sha, render_checkpoint
from sojourn.checkpoint.editing import USER_WEIGHT
from sojourn.checkpoint.extract.found import item_id
from sojourn.checkpoint.operations import Add, Close, Promote, Replace
from sojourn.record import Checkpoint

K, D, N = Section.KNOWLEDGE, Section.DIRECTIVES, Section.NEXT
OVER = ItemStatus.SUPERSEDED
RULE = item("never touch main", D, sources=(3, 4))
CAP, PORT = item("the cap is 5", sources=(7,)), item("the  port is 8080", sources=())
STEP = item("run the tests", N)
GONE = item("an old fact", status=ItemStatus.DONE)


def checkpoint(*items: Item, refused: tuple[str, ...] = ()) -> Checkpoint:
    return Checkpoint("ckp_1", 9, items, items_sha(items), "model", (2, 9), refused=refused, created=1_700_000_000_000)


BEFORE = checkpoint(STEP, RULE, CAP, PORT, GONE, refused=("no section: + plans: x",))
TEXT = render_checkpoint(BEFORE, "a title")


def line(one: Item) -> str:
    return next(text for text in TEXT.splitlines() if one.id in text)


def number(text: str, holds: str) -> int:
    return next(at for at, one in enumerate(text.splitlines(), 1) if holds in one)


@pytest.mark.design("R-6")
def test_an_unedited_rendering_changes_nothing() -> None:
    assert edited(BEFORE, TEXT) == ()
    assert edited(BEFORE, render_checkpoint(BEFORE)) == ()
    assert edited(BEFORE, "\ufeff" + TEXT.replace("\n", "\r\n")) == ()
    assert edited(BEFORE, "\n\n" + TEXT.replace("\n", "\n\n")) == ()
    assert edited(BEFORE, TEXT.replace("- [", "* [")) == ()
    assert edited(BEFORE, TEXT.replace("\n\n", "\n")) == ()
    assert edited(checkpoint(), render_checkpoint(checkpoint())) == ()
    assert edited(checkpoint(), "") == ()


@pytest.mark.design("R-6")
def test_any_id_and_half_a_character_come_back() -> None:
    odd = msgspec.structs.replace(item("a\ud800b"), id="i1")
    before = checkpoint(odd)
    text = render_checkpoint(before).encode("utf-8", "replace").decode()
    assert edited(before, text) == ()
    assert edited(before, text.replace("a?b", "ab")) == (Replace("i1", "ab", (1,)),)


@pytest.mark.design("R-6")
def test_changed_removed_and_new_bullets() -> None:
    text = TEXT.replace("the cap is 5", "the cap is 6").replace(line(RULE) + "\n", "")
    text = text.replace("## knowledge\n", "## knowledge\n\n- the host is up\n1. and so is the port\n- \n-\n")
    assert edited(BEFORE, text) == (
        Add(K, "the host is up"),
        Add(K, "and so is the port"),
        Replace(CAP.id, "the cap is 6", (7,)),
        Close(RULE.id, OVER),
    )


@pytest.mark.design("R-6")
def test_what_is_written_on_several_lines_is_one_item() -> None:
    text = TEXT.replace("run the tests", "run the tests\n  of the parser\nand of the lexer")
    assert edited(BEFORE, text) == (Replace(STEP.id, "run the tests of the parser and of the lexer", (1,)),)


@pytest.mark.design("R-6")
@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        ("never touch main (m3, m4)", "never touch main (m3)", (Replace(RULE.id, "never touch main", (3,)),)),
        ("never touch main (m3, m4)", "never touch main", ()),
        ("never touch main (m3, m4)", "(m3)", (Replace(RULE.id, "never touch main", (3,)),)),
        ("never touch main (m3, m4)", "never touch it (m5)", (Replace(RULE.id, "never touch it", (5,)),)),
        ("never touch main (m3, m4)", "never touch it", (Replace(RULE.id, "never touch it", (3, 4)),)),
        ("the port is 8080", "the port is 81 (m5)", (Replace(PORT.id, "the port is 81 (m5)", ()),)),
        (f"[{CAP.id}] the cap is 5 (m7)", f"[{CAP.id}]", (Close(CAP.id, OVER),)),
        (f"[{CAP.id}] the cap is 5 (m7)", f"[{CAP.id}]   ", (Close(CAP.id, OVER),)),
        (f"- [{CAP.id}] the cap is 5", "- [WIP] the cap is 5", (Add(K, "[WIP] the cap is 5", (7,)), Close(CAP.id, OVER))),
        ("## next", "## Next step", ()),
        ("## next", "## Decisions", (Replace(STEP.id, "run the tests", (1,), Section.DECISIONS),)),
        ("## knowledge", "### 知识:", ()),
    ],
)
def test_what_an_edit_means(old: str, new: str, operations: tuple[object, ...]) -> None:
    assert old in TEXT
    assert edited(BEFORE, TEXT.replace(old, new)) == operations


@pytest.mark.design("R-6")
def test_an_item_that_is_moved_keeps_its_bytes() -> None:
    text = TEXT.replace(line(PORT) + "\n", "").replace("## next\n", f"## next\n\n{line(PORT)}\n")
    assert edited(BEFORE, text) == (Replace(PORT.id, "the  port is 8080", (), N),)


@pytest.mark.design("R-6")
def test_changes_in_what_only_tells_are_none() -> None:
    text = TEXT.replace("an old fact", "another fact").replace("no section", "hm") + "\nand free text\n- a bullet\n"
    assert edited(BEFORE, text.replace("- writer: model", "- writer: me\nwho knows")) == ()


@pytest.mark.design("R-6")
@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        ("## knowledge", "## plans", "## plans", "'plans' is no section"),
        ("## knowledge", "# plans", "# plans", "'plans' is no section"),
        ("## knowledge", "## ?", "## ?", "'?' is no section"),
        (CAP.id, "kn-00000000", "kn-00000000", "there is no open item kn-00000000"),
        (line(CAP), f"- [{GONE.id}] an old fact", f"- [{GONE.id}] an old fact", f"there is no open item {GONE.id}"),
        (line(CAP), f"{line(CAP)}\n- [{CAP.id}] twice", "twice", f"{CAP.id} stands in line "),
        ("## knowledge\n", "## knowledge\nfree text\n", "free text", "'free text' is no bullet"),
        (line(CAP), f"{line(CAP)}\n\nfree text", "free text", "'free text' is no bullet"),
    ],
)
def test_a_mistake_names_its_line(old: str, new: str, at: str, says: str) -> None:
    text = TEXT.replace(old, new, 1)
    with pytest.raises(UserMistake) as mistake:
        edited(BEFORE, text)
    assert str(mistake.value).startswith(f"line {number(text.partition('## left')[0], at)}: {says}")
    assert mistake.value.next_step


@pytest.mark.design("R-6")
def test_a_line_rests_on_messages_that_are_there() -> None:
    mended = TEXT.replace("the cap is 5 (m7)", "the cap is 6 (m7, m12)")
    assert edited(BEFORE, mended, newest=12) == (Replace(CAP.id, "the cap is 6", (7, 12)),)
    assert edited(BEFORE, TEXT, newest=1) == (), "what nobody changed is not looked at"
    new = TEXT.replace("## knowledge\n", "## knowledge\n- brand new (m13)\n")
    assert edited(BEFORE, new, newest=13) == (Add(K, "brand new", (13,)),)
    for text, at, seq in (
        (mended, "the cap is 6", 12),
        (TEXT.replace("(m7)", "(m0)"), "the cap is 5", 0),
        (new, "brand new", 13),
    ):
        with pytest.raises(UserMistake, match=rf"^line {number(text, at)}: there is no message m{seq}$") as mistake:
            edited(BEFORE, text, newest=11)
        assert mistake.value.next_step == "The newest message is m11."
    words = TEXT.replace(line(PORT), f"- [{PORT.id}] take the bus (m99)")
    assert edited(BEFORE, words, newest=11) == (Replace(PORT.id, "take the bus (m99)", ()),), (
        "it rested on none: these are words"
    )


@pytest.mark.design("R-6")
def test_a_heading_without_a_name_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="line 2: '' is no section"):
        edited(BEFORE, "## knowledge\n##\n")


@pytest.mark.design("R-6")
def test_only_what_a_person_can_edit_is_applied() -> None:
    done = apply_user(checkpoint(CAP), (Promote(CAP.id), Add(N, "then stop")), 9)
    assert [one.text for one in done.items] == ["then stop", "the cap is 5"]


@pytest.mark.design("R-6")
def test_an_empty_file_is_an_edit_that_was_given_up() -> None:
    for text in ("", "\n\n", "# Checkpoint\n", "- id: x\n"):
        with pytest.raises(UserMistake, match="is empty"):
            edited(BEFORE, text)
    assert edited(BEFORE, "## knowledge\n") == tuple(Close(one.id, OVER) for one in (STEP, RULE, CAP, PORT))


@pytest.mark.design("R-6", "K-2")
def test_a_person_has_the_last_word() -> None:
    theirs = item("ask me first", D, by="user", weight=USER_WEIGHT)
    before = checkpoint(STEP, RULE, theirs, CAP, PORT, GONE)
    done = apply_user(
        before,
        (
            Replace(RULE.id, "never touch main or docs", (3,)),
            Replace(PORT.id, "the port is 81", (), Section.RESOURCES),
            Add(N, "then stop"),
            Add(D, "be brief, password=hunter2abc"),
            Close(theirs.id, OVER),
        ),
        9,
    )
    opened = open_items(done.items)
    assert [(one.section, one.text, one.by, one.sources) for one in opened] == [
        (N, "run the tests", "extractive", (1,)),
        (N, "then stop", "user", ()),
        (D, "never touch main or docs", "user", (3,)),
        (D, "be brief, password=[redacted]", "user", ()),
        (K, "the cap is 5", "extractive", (7,)),
        (Section.RESOURCES, "the port is 81", "user", ()),
    ]
    assert opened[0] is STEP
    assert {one.weight for one in opened if one.by == "user"} == {USER_WEIGHT}
    assert {one.written_seq for one in opened if one.by == "user"} == {9}
    assert done.items[len(opened) :] == tuple(msgspec.structs.replace(one, status=OVER) for one in (RULE, PORT, theirs))
    assert done.closed == (RULE.id, PORT.id, theirs.id)
    assert done.added == tuple(
        item_id(section, text)
        for section, text in (
            (D, "never touch main or docs"),
            (Section.RESOURCES, "the port is 81"),
            (N, "then stop"),
            (D, "be brief, password=[redacted]"),
        )
    )


@pytest.mark.design("R-6", "K-2")
def test_what_a_person_says_again_is_theirs_and_stands_once() -> None:
    done = apply_user(checkpoint(CAP, PORT), (Add(K, CAP.text), Replace(PORT.id, CAP.text)), 9)
    assert [(one.text, one.by) for one in open_items(done.items)] == [(CAP.text, "user")]
    again = apply_user(checkpoint(CAP), (Close(CAP.id, OVER), Add(K, CAP.text)), 9)
    assert [(one.text, one.by, one.status) for one in again.items] == [(CAP.text, "user", ItemStatus.OPEN)]
    assert again.closed == ()


@pytest.mark.design("R-6")
def test_an_id_that_is_not_open_is_a_mistake() -> None:
    for operation in (Close(GONE.id), Replace(GONE.id, "x"), Close("kn-00000000")):
        with pytest.raises(UserMistake, match=f"there is no open item {operation.id}"):
            apply_user(BEFORE, (operation,), 9)


@pytest.mark.design("R-6")
def test_a_whole_edit() -> None:
    text = TEXT.replace("the cap is 5", "the cap is 6").replace("## next\n", "## next\n\n- first look\n")
    done = apply_user(BEFORE, edited(BEFORE, text), 9)
    after = checkpoint(*done.items)
    assert [one.text for one in open_items(after.items)] == [
        "run the tests",
        "first look",
        "never touch main",
        "the cap is 6",
        "the  port is 8080",
    ]
    assert edited(after, render_checkpoint(after)) == ()


ITEMS = st.lists(
    st.builds(
        lambda text, section, sources, status: item(text, section, sources=sources, status=status),
        st.text(min_size=1, max_size=30).filter(lambda text: text.strip()),
        st.sampled_from(Section),
        st.sampled_from([(), (1,), (12, 3)]),
        st.sampled_from([ItemStatus.OPEN, ItemStatus.OPEN, ItemStatus.DONE]),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


@pytest.mark.design("R-6")
@settings(max_examples=150, deadline=None)
@given(ITEMS, st.text(max_size=30))
def test_what_is_rendered_and_not_edited_comes_back_unchanged(items: list[Item], title: str) -> None:
    before = checkpoint(*items, refused=(title,))
    text = render_checkpoint(before, title).encode("utf-8", "replace").decode()
    assert edited(before, text) == ()


@pytest.mark.design("R-6")
@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_an_edit_or_a_mistake(text: str) -> None:
    for given_ in (text, TEXT + text, TEXT.replace("the cap is 5", text)):
        try:
            operations = edited(BEFORE, given_)
        except UserMistake:
            continue
        done = apply_user(BEFORE, operations, 9)
        ids = [one.id for one in done.items]
        assert len(set(ids)) == len(ids)
