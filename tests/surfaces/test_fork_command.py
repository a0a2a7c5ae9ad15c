"""``sojourn fork``: a session of its own that begins with another's view (R-4)."""

from pathlib import Path

import click
import pytest

from sojourn.base import Usage
from sojourn.record import AddUndo, Session, Undo
from sojourn.record.sqlite import SqliteStore
from sojourn.surfaces.cli.completing import complete_message
from surfaces.recorded import answered, call, checkpoint, items, keep, said, window, with_store
from surfaces.running import Command

pytestmark = pytest.mark.design("R-4", "S-1")


@pytest.fixture
def parent(home: Path) -> Path:
    keep(
        home,
        Session(id="ses_one", title="the work", model="m", mode="plan"),
        window(1, 0, kind="start"),
        said("first", 1), answered("A", 2),
        checkpoint("ckp_1", items("early"), 2),
        said("second", 3), answered("B", 4),
        window(2, 4, digest=2),
        checkpoint("ckp_2", items("late"), 4),
        said("third", 5), answered("C", 6),
    )  # fmt: skip
    return home


def seqs(sojourn: Command, session: str) -> list[int]:
    return [message["seq"] for message in sojourn("show", session, "--json").row["messages"]]


def test_it_prints_the_id_and_changes_nothing_else(sojourn: Command, parent: Path) -> None:
    done = sojourn("fork", "ses_one")
    (made,) = done.out.splitlines()
    assert done.code == 0
    assert made.startswith("ses_")
    assert done.err == f"It begins with the view of ses_one up to m6. To go on in it: sojourn run --resume {made} '...'\n"
    row = sojourn("fork", "ses_one", "--json").row
    assert (row["title"], row["model"], row["mode"]) == ("the work", "m", "plan")
    assert row["fork_of"] == {"session_id": "ses_one", "window_id": "win_2", "seq": 6}
    assert seqs(sojourn, made) == seqs(sojourn, row["id"]) == seqs(sojourn, "ses_one") == [1, 2, 3, 4, 5, 6]
    assert sojourn("checkpoint", made, "--json").row["id"] == "ckp_2"


def test_at_a_message_everything_later_is_out_of_its_view(sojourn: Command, parent: Path) -> None:
    done = sojourn("fork", "ses_one", "--at", "m3")
    made = done.out.strip()
    assert f"up to m3. To go on in it: sojourn run --resume {made} " in done.err
    assert seqs(sojourn, made) == [1, 2, 3]
    shown = sojourn("show", made, "--json").row
    assert [one["number"] for one in shown["windows"]] == [1], "window 2 opened later"
    assert sojourn("checkpoint", made, "--json").row["id"] == "ckp_1"
    assert seqs(sojourn, "ses_one") == [1, 2, 3, 4, 5, 6]
    assert len(sojourn("show", "ses_one", "--json").row["windows"]) == 2
    # A window that opened when the message was the newest belongs to it; the newest message is no cut.
    fourth = sojourn("fork", "ses_one", "--at", 4).out.strip()
    assert [one["number"] for one in sojourn("show", fourth, "--json").row["windows"]] == [1, 2]
    whole = sojourn("fork", "ses_one", "--at", "m6").out.strip()
    assert seqs(sojourn, whole) == [1, 2, 3, 4, 5, 6]
    redone = sojourn("undo", "--redo", whole)
    assert (redone.code, "no undo to take back" in redone.err) == (2, True)
    # What the person says next stands behind the cut.
    keep(parent, Session(id=made), said("otherwise", 9))
    assert seqs(sojourn, made) == [1, 2, 3, 4]


def test_a_fork_at_a_message_is_the_record_up_to_it_and_no_more(sojourn: Command, parent: Path) -> None:
    keep(
        parent,
        Session(id="ses_one"),
        *call("c1", Usage(fresh=100, output=10)),
        AddUndo(Undo(id="undo_1", kind="turn", after_seq=4, upto_seq=6)),
        answered("again", 9),
    )
    done = sojourn("fork", "ses_one", "--at", "m3", "--json").row
    made = done["id"]
    assert (done["head"], done["fork_of"]) == (3, {"session_id": "ses_one", "window_id": "win_1", "seq": 3})
    listed = {row["id"]: row["head"] for row in sojourn("sessions", "--json").rows}
    assert listed == {"ses_one": 7, made: 3}
    assert sojourn("show", made).out.splitlines()[1] == "3 messages, 1 window"
    assert sojourn("cost", made, "--json").row["calls"] == []
    assert len(sojourn("cost", "ses_one", "--json").row["calls"]) == 1
    hidden = with_store(parent, lambda store: store.messages(made, include_undone=True))
    assert [message.seq for message in hidden] == [1, 2, 3]
    redone = sojourn("undo", "--redo", made)
    assert (redone.code, redone.out) == (2, "")
    assert f"session {made} has no undo to take back" in redone.err
    # What the parent took back later had the numbers that the fork's own messages get.
    keep(parent, Session(id=made), said("otherwise", 10), answered("yes", 11), said("more", 12))
    assert seqs(sojourn, made) == [1, 2, 3, 4, 5, 6]
    assert sojourn("undo", made).code == 0
    assert seqs(sojourn, made) == [1, 2, 3, 4, 5]
    assert sojourn("undo", "--redo", made).code == 0
    assert seqs(sojourn, made) == [1, 2, 3, 4, 5, 6]
    assert seqs(sojourn, "ses_one") == [1, 2, 3, 4, 7]


@pytest.mark.design("R-11")
def test_a_session_that_runs_can_be_forked(sojourn: Command, parent: Path) -> None:
    async def hold(store: SqliteStore) -> None:
        await store.acquire("ses_one", "elsewhere:7:x", 60_000)

    with_store(parent, hold)
    for arguments in ([], ["--at", "m2"]):
        assert sojourn("fork", "ses_one", *arguments).code == 0


def test_mistakes(sojourn: Command, parent: Path) -> None:
    count = len(sojourn("sessions", "--json").rows)
    for at in ("m7", "99"):
        done = sojourn("fork", "ses_one", "--at", at)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"sojourn: session ses_one has no message m{at.strip('m')} in its view\n  sojourn show ses_one lists them.\n"
        )
    for at in ("0", "m", "x3", "m-1", "mm3", "３"):
        done = sojourn("fork", "ses_one", "--at", at)
        assert (done.code, done.err) == (
            2,
            f"sojourn: {at!r} is no message's number, such as m12\n  Messages have their numbers in: sojourn show ID\n",
        )
    keep(parent, Session(id="ses_one"), AddUndo(Undo(id="undo_1", kind="turn", after_seq=4, upto_seq=6)))
    assert sojourn("fork", "ses_one", "--at", "m5").code == 2
    assert len(sojourn("sessions", "--json").rows) == count
    assert seqs(sojourn, sojourn("fork", "ses_one", "--at", "m2").out.strip()) == [1, 2]


def test_the_shell_offers_the_persons_messages(home: Path, parent: Path) -> None:
    ctx = click.Context(click.Command("fork"))
    ctx.params["session"] = "ses_one"
    param = click.Option(["--at"])
    assert [(one.value, one.help) for one in complete_message(ctx, param, "m")] == [
        ("m5", "third"),
        ("m3", "second"),
        ("m1", "first"),
    ]
    assert [one.value for one in complete_message(ctx, param, "m3")] == ["m3"]
    ctx.params["session"] = "nope"
    assert complete_message(ctx, param, "m") == []
