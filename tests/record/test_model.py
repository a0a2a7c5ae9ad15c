"""The store against a model of a few lines: whatever is done to it, what is visible is what the rules say."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from record.rows import Desk, checkpoint, redo, sit, task, undo_turn, undo_window, user, window
from sojourn.record import AddCheckpoint, Fenced, ForkOf


class Model:
    """One session: its rows in the order in which they were written, and nothing clever."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, int]] = []  # kind, id, two numbers
        self.head = 0
        self.windows = 0

    def fork(self, seq: int) -> "Model":
        child = Model()
        child.rows = [row for row in self.rows if row[0] in {"undo", "redo", "undow"} or row[2] <= seq]
        # Of an undo counts what is in the fork: its own messages have numbers that were others' in the parent.
        child.rows = [
            (kind, name, min(one, seq), min(two, seq)) if kind == "undo" else (kind, name, one, two)
            for kind, name, one, two in child.rows
        ]
        child.head = seq
        child.windows = max([row[3] for row in child.rows if row[0] == "window"], default=0)
        return child

    def hidden(self, at: int) -> bool:
        kind, name, seq, _ = self.rows[at]
        closed = {row[1] for row in self.rows if row[0] == "redo"}
        for index, (verb, undo, low, high) in enumerate(self.rows):
            if verb == "undo" and undo not in closed and low < seq <= high and (index > at or kind == "message"):
                return True
            if verb == "undow" and undo.split("/")[0] not in closed and kind == "window" and undo.split("/")[1] == name:
                return True
        return False

    def visible(self, kind: str) -> list[str]:
        return [row[1] for at, row in enumerate(self.rows) if row[0] == kind and not self.hidden(at)]

    def tasks(self) -> list[tuple[str, str]]:
        """Id and state: the newest of each id, where the first of it stands."""
        return list(
            dict(row[1].split("=") for at, row in enumerate(self.rows) if row[0] == "task" and not self.hidden(at)).items()
        )

    def standing(self) -> list[str]:
        closed = {row[1] for row in self.rows if row[0] == "redo"}
        undone = [row[1].split("/")[0] for row in self.rows if row[0] == "undow" or (row[0] == "undo" and row[2] < row[3])]
        return [name for name in undone if name not in closed]


_STEP = st.tuples(
    st.sampled_from(["say", "say", "say", "window", "mark", "task", "task", "undo", "undo window", "redo", "fork"]),
    st.integers(0, 9),
    st.integers(0, 9),
)


async def _step(desk: Desk, model: Model, name: str, verb: str, one: int, two: int) -> None:
    if verb == "say":
        answer = await desk.put(*(user(f"{name}_{at}", "needle") for at in range(one % 3 + 1)), head=model.head)
        for at, seq in enumerate(answer.seqs):
            model.head += 1
            assert seq == model.head
            model.rows.append(("message", f"{name}_{at}", seq, 0))
    elif verb == "window":
        await desk.put(window(name, model.head))
        model.windows += 1
        model.rows.append(("window", name, model.head, model.windows))
    elif verb == "mark":
        covered = min(one, model.head)
        await desk.put(AddCheckpoint(checkpoint(name, covered)))
        model.rows.append(("mark", name, covered, 0))
    elif verb == "task":
        await desk.put(task(f"T{one % 3}", name, model.head))
        model.rows.append(("task", f"T{one % 3}={name}", model.head, 0))
    elif verb == "undo":
        low, high = sorted((one, two))
        answer = await desk.commit(undo_turn(name, low, high))
        assert isinstance(answer, Fenced) == (not low < high <= model.head)
        if not isinstance(answer, Fenced):
            model.rows.append(("undo", name, low, high))
    elif verb == "undo window" and model.visible("window"):
        target = model.visible("window")[-1]
        await desk.put(undo_window(name, target))
        model.rows.append(("undow", f"{name}/{target}", 0, 0))
    elif verb == "redo" and model.standing():
        target = model.standing()[one % len(model.standing())]
        await desk.put(redo(name, target))
        model.rows.append(("redo", target, 0, 0))


async def _compare(desk: Desk, model: Model) -> None:
    store, sid = desk.store, desk.sid
    messages = model.visible("message")
    assert [message.id for message in await store.messages(sid)] == messages
    assert [message.id for message in await store.messages(sid, newest_first=True, limit=3)] == messages[::-1][:3]
    assert [message.id async for message in store.stream(sid, batch=2)] == messages
    assert [message.id for message in await store.messages(sid, include_undone=True)] == [
        row[1] for row in model.rows if row[0] == "message"
    ]
    assert [turn.message.id for turn in await store.turns(sid, upto=99)] == messages[::-1]
    numbers = {row[1]: row[3] for row in model.rows if row[0] == "window"}
    windows = model.visible("window")
    assert [(row.id, row.number) for row in await store.windows(sid)] == [(name, numbers[name]) for name in windows]
    newest = await store.newest_window(sid)
    assert (newest.id if newest else None) == (windows[-1] if windows else None)
    marks = model.visible("mark")
    assert [row.id for row in await store.checkpoints(sid)] == marks
    mark = await store.newest_checkpoint(sid)
    assert (mark.id if mark else None) == (marks[-1] if marks else None)
    assert [(row.id, row.summary) for row in await store.tasks(sid)] == model.tasks()
    every = [f"{row.id}={row.summary}" for row in await store.tasks(sid, every_state=True)]
    assert every == [row[1] for row in model.rows if row[0] == "task"]
    hits = await store.search("needle", session_id=sid, limit=99)
    assert sorted(hit.seq for hit in hits) == [message.seq for message in await store.messages(sid)]


@pytest.mark.design("R-4", "R-9", "T-5")
@pytest.mark.design("Y-3")
@settings(max_examples=100, deadline=None)
@given(st.lists(_STEP, min_size=4, max_size=30))
def test_what_is_visible_is_what_the_rules_say(steps: list[tuple[str, int, int]]) -> None:
    async def main() -> None:
        desk, model = await sit(None), Model()
        others: list[tuple[Desk, Model]] = []
        for at, (verb, one, two) in enumerate(steps):
            if verb == "fork":
                others.append((desk, model))
                seq = min(one, model.head)
                model = model.fork(seq)
                desk = await sit(None, f"ses_f{at}", store=desk.store, fork_of=ForkOf(desk.sid, None, seq))
            else:
                await _step(desk, model, f"x{at}", verb, one, two)
                if others and two % 2:  # the parent goes on as well
                    await _step(*others[-1], f"y{at}", verb, one, two)
        for each in (*others, (desk, model)):
            await _compare(*each)
        assert list(await desk.store.check()) == []
        await desk.store.close()

    asyncio.run(main())
