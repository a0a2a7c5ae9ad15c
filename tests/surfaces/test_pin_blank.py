"""``sojourn pin`` without a word in it (W-3 row 0)."""

from pathlib import Path

import pytest

from sojourn.record import Session
from surfaces.recorded import keep, said
from surfaces.running import Command


@pytest.mark.design("W-3", "S-1")
@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_blank_words_are_no_pin_and_the_mistake_says_what_to_give(sojourn: Command, home: Path, text: str) -> None:
    keep(home, Session(id="ses_one"), said("the deadline is Friday", 1))
    done = sojourn("pin", "ses_one", "--text", text)
    assert done.code != 0
    assert "there is nothing to pin" in done.err
    assert "Give a text, a file, or a message's number" in done.err
    assert sojourn("pin", "ses_one", "--json").row["pins"] == []
