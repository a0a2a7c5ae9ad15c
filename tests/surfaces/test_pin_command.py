"""``sojourn pin``: texts, files and messages that stand in every window, within a budget (W-3 row 0, R-15)."""

import io
import shlex
import sys
from pathlib import Path

import click
import pytest

from sojourn.meter import estimate_text, total
from sojourn.record import Session
from sojourn.surfaces.cli.completing import complete_pin
from surfaces.recorded import answered, keep, read, said
from surfaces.running import Command

pytestmark = pytest.mark.design("W-3", "R-15", "S-1")


@pytest.fixture
def session(home: Path) -> Path:
    keep(home, Session(id="ses_one"), said("the deadline\nis Friday", 1), answered("noted", 2), read("/a.py", 3))
    return home


def pinned(sojourn: Command) -> list[tuple[str, str]]:
    return [(pin["text"], pin["source"]) for pin in sojourn("pin", "ses_one", "--json").row["pins"]]


def test_a_text_a_message_and_a_file(sojourn: Command, session: Path) -> None:
    Path("NOTES.md").write_bytes("\ufeffuse tabs\r\n水位\n".encode())
    done = sojourn("pin", "ses_one", "ship", "without it")
    assert done.code == 0
    assert done.out.startswith("Pinned (pin_")
    assert done.out.endswith("): it stands in every window from the next one on.\n")
    assert sojourn("pin", "ses_one", "m1").code == 0
    assert sojourn("pin", "ses_one", "NOTES.md").code == 0
    assert pinned(sojourn) == [
        ("ship without it", "user"),
        ("the deadline\nis Friday", "m1"),
        ("use tabs\n水位\n", "NOTES.md"),
    ]
    rebuilt = sojourn("rebuild", "ses_one", "--json")
    assert rebuilt.code == 0
    opening = "".join(block["text"] for block in sojourn("show", "ses_one", "--number", 1, "--json").row["opening"])
    for text in ("ship without it", "the deadline\nis Friday", "use tabs"):
        assert text in opening


def test_what_leaves_no_doubt(sojourn: Command, session: Path) -> None:
    Path("m1").write_text("a file called m1")
    assert sojourn("pin", "ses_one", "m1").code == 0, "a message's number goes before a file's name"
    assert sojourn("pin", "ses_one", "--file", "m1").code == 0
    assert sojourn("pin", "ses_one", "--message", "2").code == 0
    assert sojourn("pin", "ses_one", "m1", "is a word").code == 0
    assert sojourn("pin", "ses_one", "m0").code == 0
    texts = ["the deadline\nis Friday", "a file called m1", "noted", "m1 is a word", "m0"]
    assert [text for text, _ in pinned(sojourn)] == texts
    typed = io.TextIOWrapper(io.BytesIO(b"see\n"))
    before, sys.stdin = sys.stdin, typed
    try:
        assert sojourn("pin", "ses_one", "-").code == 0
    finally:
        sys.stdin = before
    assert pinned(sojourn)[-1] == ("see", "user")


def test_the_list_with_what_it_takes(sojourn: Command, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = sojourn("pin", "ses_one")
    assert (empty.code, empty.out, empty.err) == (0, "", "Pins: 0, about 0 of 2,000 tokens.\n")
    row = sojourn("pin", "ses_one", "ship\nit", "--json").row
    assert list(row) == ["session", "pins", "tokens", "limit", "pin", "changed"]
    assert row["pin"]["id"] == row["pins"][0]["id"]
    tokens = total(estimate_text("ship\nit"))
    assert (row["tokens"], row["pins"][0]["tokens"], row["limit"]) == (tokens, tokens, 2_000)
    second = sojourn("pin", "ses_one", "another one", "--json").row
    assert second["tokens"] == tokens + total(estimate_text("another one"))
    monkeypatch.setenv("COLUMNS", "120")
    done = sojourn("pin", "ses_one")
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["id", "tokens", "source", "text"]
    assert lines[1] == [row["pin"]["id"], str(tokens), "user", "ship", "it"]
    assert done.err == f"Pins: 2, about {second['tokens']} of 2,000 tokens.\n"


def test_what_does_not_fit_is_refused_with_the_figures(sojourn: Command, session: Path) -> None:
    Path("long.md").write_text("word " * 2_500)
    done = sojourn("pin", "ses_one", "--file", "long.md")
    assert (done.code, done.out) == (2, "")
    assert "2,000 of 2,000 are free" in done.err
    assert pinned(sojourn) == []
    assert sojourn("pin", "ses_one", "word " * 1_000).code == 0
    again = sojourn("pin", "ses_one", "word " * 1_500)
    assert (again.code, "of 2,000 are free" in again.err) == (2, True)
    assert len(pinned(sojourn)) == 1


def test_remove(sojourn: Command, session: Path) -> None:
    ids = [sojourn("pin", "ses_one", text, "--json").row["pin"]["id"] for text in ("a text", "another")]
    both = sojourn("pin", "ses_one", "--remove", "pin_")
    assert (both.code, both.err) == (2, f"sojourn: 'pin_' names several pins\n  Its pins: {', '.join(ids)}\n")
    none = sojourn("pin", "ses_one", "--remove", "nope")
    assert (none.code, none.err) == (2, f"sojourn: session ses_one has no pin 'nope'\n  Its pins: {', '.join(ids)}\n")
    done = sojourn("pin", "ses_one", "--remove", ids[0])
    assert done.out == f"Taken away ({ids[0]}): it is in no window from the next one on.\n"
    assert [text for text, _ in pinned(sojourn)] == ["another"]
    row = sojourn("pin", "ses_one", "--remove", ids[1][:-1], "--json").row
    assert (row["pins"], row["pin"]["id"], row["tokens"]) == ([], ids[1], 0)
    assert sojourn("pin", "ses_one", "--remove", ids[0]).err.endswith("  Its pins: -\n")


def test_mistakes(sojourn: Command, session: Path) -> None:
    cases = {
        ("m9",): "session ses_one has no message m9 in its view",
        ("m3",): "message m3 has no words to pin: it only makes calls",
        ("--message", "0"): "'0' is no message's number, such as m12",
        ("--file", "none.md"): "none.md: there is no such file",
        ("--file", "."): ". is a folder",
        (" ",): "there is nothing to pin",
        ("text", "--message", "1"): "a text (--text), --file, --message and --remove each ask for something else",
        ("--file", "x", "--remove", "y"): "a text (--text), --file, --message and --remove each ask for something else",
    }
    for arguments, told in cases.items():
        done = sojourn("pin", "ses_one", *arguments)
        assert (done.code, done.out, done.err.splitlines()[0]) == (2, "", f"sojourn: {told}")
    Path("bin").write_bytes(b"\xff\xfe")
    assert sojourn("pin", "ses_one", "bin").err.startswith("sojourn: bin, line 1: the text is not UTF-8")
    Path("empty").write_text("\n")
    assert sojourn("pin", "ses_one", "empty").code == 2
    assert pinned(sojourn) == []


def test_the_shell_offers_pins(sojourn: Command, session: Path) -> None:
    made = sojourn("pin", "ses_one", "keep this", "--json").row["pin"]["id"]
    keep(session, Session(id="ses_newer", updated=9))
    ctx = click.Context(click.Command("pin"))
    ctx.params["session"] = "ses_one"
    assert [(one.value, one.help) for one in complete_pin(ctx, click.Option(["--remove"]), "pin")] == [(made, "keep this")]
    assert sojourn("pin", "last", "--json").row["session"] == "ses_newer"
    ctx.params["session"] = None
    assert complete_pin(ctx, click.Option(["--remove"]), "") == []
    ctx.params["session"] = "ses_one"
    sojourn("pin", "ses_one", "--remove", made)
    assert complete_pin(ctx, click.Option(["--remove"]), "") == []


def test_a_mistyped_name_is_no_pin(sojourn: Command, session: Path) -> None:
    for word in ("src/aap.py", "aap.py", "./notes", "docs/", "a\\b", "笔记.md", "C:/x"):
        done = sojourn("pin", "ses_one", word)
        assert (done.code, done.out) == (2, ""), word
        first, second = done.err.splitlines()
        assert first == f"sojourn: {word!r} looks like a file, and there is none of that name here"
        assert second.endswith(f"to pin these words themselves: sojourn pin ses_one --text {shlex.quote(word)}")
    assert pinned(sojourn) == []
    assert sojourn("pin", "ses_one", "--text", "src/aap.py").code == 0
    words = ("hurry", "Stop.", "v1.2", "3.14", "https://example.com/a.html", "周五/周六交付", "改config.py这一个")
    for word in words:
        assert sojourn("pin", "ses_one", word).code == 0, word
    assert sojourn("pin", "ses_one", "fix", "src/aap.py").code == 0, "several words are a text"
    assert pinned(sojourn) == [(word, "user") for word in ("src/aap.py", *words, "fix src/aap.py")]
    Path("aap.py").write_text("of the file")
    assert sojourn("pin", "ses_one", "aap.py").code == 0
    assert pinned(sojourn)[-1] == ("of the file", "aap.py")
    assert sojourn("pin", "ses_one", "--text", "aap.py").code == 0
    assert sojourn("pin", "ses_one", "--text", "m1").code == 0
    assert pinned(sojourn)[-2:] == [("aap.py", "user"), ("m1", "user")]
    for arguments in (("--text", "x", "y"), ("--text", "x", "--message", "1"), ("--text", " ")):
        assert sojourn("pin", "ses_one", *arguments).code == 2
