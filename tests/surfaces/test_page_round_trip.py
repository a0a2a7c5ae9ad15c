"""The page that ``sojourn checkpoint`` prints, fed back as it is, changes nothing (R-6)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.base import Item, ItemStatus, Section, open_items
from sojourn.checkpoint import apply_user, edited, items_sha
from sojourn.checkpoint.editing import WRITERS
from sojourn.checkpoint.operations import Add, Close, Replace
from sojourn.record import Checkpoint, Session
from sojourn.surfaces.catalogue import catalogue, speak
from sojourn.surfaces.cli.checkpoints import page
from surfaces.recorded import answered, checkpoint, items, keep, said
from surfaces.running import Command

pytestmark = [pytest.mark.design("R-6"), pytest.mark.report(96)]

K = Section.KNOWLEDGE
WHO = [word for words in WRITERS.values() for word in words]
ENDINGS = [*(f" ({word})" for word in WHO), " (m1)", " (m1; you)", " (m2, m3; model)", " (fast)", "", " (you) (you)"]
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Zs", "Zl", "Zp"]), min_size=1, max_size=12).map(
    lambda text: f"x {text} y"
)


def row(*held: Item) -> Checkpoint:
    return Checkpoint("ckp_1", 9, held, items_sha(held), "model", (0, 9), refused=("no section: x (you)",))


def one(text: str, by: str = "user", sources: tuple[int, ...] = (), number: int = 1, weight: float = 1.0) -> Item:
    return Item(id=f"kn-{number:08x}", section=K, text=text, sources=sources, by=by, weight=weight)  # type: ignore[arg-type]


ANY = st.builds(
    lambda text, ending, by, sources: (text + ending, by, tuple(sources)),
    WORDS,
    st.sampled_from(ENDINGS),
    st.sampled_from(list(WRITERS)),
    st.lists(st.integers(1, 9), max_size=3, unique=True),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ANY, min_size=1, max_size=14), st.sampled_from(["en", "zh"]), st.booleans())
def test_a_page_that_nobody_edited_changes_nothing(
    made: list[tuple[str, str, tuple[int, ...]]], language: str, everything: bool
) -> None:
    before = row(*(one(text, by, sources, at, at % 3) for at, (text, by, sources) in enumerate(made)))
    speak(language)
    try:
        text, _ = page(before, everything=everything)
    finally:
        speak("en")
    assert edited(before, text + "\n", newest=9) == ()


def test_the_words_are_those_of_the_page() -> None:
    for at, language in enumerate(("en", "zh")):
        texts = catalogue(language)
        keys = {"extractive": "by_extraction", "model": "by_model", "user": "by_you"}
        assert {by: texts[key] for by, key in keys.items()} == {by: words[at] for by, words in WRITERS.items()}


def test_a_line_of_the_page_is_changed_without_its_ending() -> None:
    mine, model = one("Ship on Friday."), one("Port is 42", "model", (1, 4), 2)
    before = row(mine, model)
    text, _ = page(before, everything=False)
    assert "Ship on Friday. (you)" in text
    assert "Port is 42 (m1, m4; model)" in text
    assert edited(before, text.replace("Friday", "Monday")) == (Replace(mine.id, "Ship on Monday.", (), None),)
    assert edited(before, text.replace("42 (m1, m4;", "43 (m1;")) == (Replace(model.id, "Port is 43", (1,), None),)
    added = "- Port is 44 (m2; model)\n- Ask the boss (you)\n- plain (really)\n"
    copied = text.replace("## knowledge\n\n", f"## knowledge\n\n{added}")
    assert edited(before, copied) == (Add(K, "Port is 44", (2,)), Add(K, "Ask the boss"), Add(K, "plain (really)"))


def test_a_persons_words_never_grow() -> None:
    before = row(one("Ship on Friday."))
    for words in ("Monday", "Tuesday"):
        text, _ = page(before, everything=False)
        changed = edited(before, text.replace("Friday", words).replace("Monday", words))
        before = row(*apply_user(before, changed, 9).items)
    assert [item.text for item in open_items(before.items)] == ["Ship on Tuesday."]


def test_what_the_page_left_out_is_not_closed() -> None:
    before = row(*(one(f"fact number {at}", number=at, weight=float(at)) for at in range(12)))
    text, more = page(before, everything=False)
    assert more == 2
    assert "\n- left out: 2 open items of less weight\n" in text
    assert "fact number 1 " not in text
    assert edited(before, text) == ()
    gone = "\n".join(line for line in text.splitlines() if "fact number 11" not in line)
    assert edited(before, gone) == (Close("kn-0000000b", ItemStatus.SUPERSEDED),)
    said = page(before, everything=True)[0].replace("## knowledge\n", "## knowledge\n\n- left out: 3 tests\n")
    less = "\n".join(line for line in said.splitlines() if "fact number 1 " not in line)
    assert edited(before, less)[1:] == (Close("kn-00000001", ItemStatus.SUPERSEDED),), "that line is an item"
    whole, more = page(before, everything=True)
    assert more == 0
    assert "left out" not in whole
    less = "\n".join(line for line in whole.splitlines() if "fact number 1 " not in line)
    assert edited(before, less) == (Close("kn-00000001", ItemStatus.SUPERSEDED),)


def test_control_characters_are_no_change() -> None:
    before = row(one("bell \x07 and \x1b[1m", "extractive", (1,)))
    assert edited(before, page(before, everything=False)[0]) == ()


def test_the_command_takes_its_own_page(sojourn: Command, home: Path, tmp_path: Path) -> None:
    held = items("alpha beta", "gamma delta", sources=(1, 2))
    keep(home, Session(id="ses_one"), said("one", 1), answered("two", 2), checkpoint("ckp_1", held, 2))
    path = tmp_path / "same.md"
    path.write_text(sojourn("checkpoint", "ses_one").out + "- mine alone\n")
    assert sojourn("checkpoint", "ses_one", "--edit-from", path).code == 0
    for _ in range(2):
        shown = sojourn("checkpoint", "ses_one").out
        assert "mine alone (you)\n" in shown
        path.write_text(shown)
        done = sojourn("checkpoint", "ses_one", "--edit-from", path)
        assert (done.code, done.out, done.err) == (0, "", "Nothing was changed.\n")


def test_a_new_bullet_rests_on_the_message_that_it_names(sojourn: Command, home: Path, tmp_path: Path) -> None:
    held = items("alpha beta", sources=(1, 2))
    keep(home, Session(id="ses_one"), said("one", 1), answered("two", 2), checkpoint("ckp_1", held, 2))
    path = tmp_path / "mine.md"
    path.write_text(sojourn("checkpoint", "ses_one").out + "- Port is 8512 (m1)\n")
    rows = sojourn("checkpoint", "ses_one", "--edit-from", path, "--json").row["items"]
    assert [(item["text"], item["sources"]) for item in rows if item["by"] == "user"] == [("Port is 8512", [1])]
    assert "Port is 8512 (m1; you)" in sojourn("checkpoint", "ses_one").out
