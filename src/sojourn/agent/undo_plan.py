"""What taking back turns means for the files: pure, from snapshots and their differences to moves (W-12)."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from sojourn.agent.snapshot_types import NONE_TAKEN, Changed, Difference, Move, same
from sojourn.record import Message, Snapshot, ToolCall
from sojourn.tools import CORE, MEMORY, TASK
from sojourn.tools.skill import SKILL

_HARMLESS = frozenset({tool.name for tool in CORE if tool.effect == "read"} | {MEMORY.name, TASK.name, SKILL})
"""Tools that change nothing in the working folder."""
_EDITS = frozenset(tool.name for tool in CORE if tool.effect == "edit")
"""Tools that say what they changed (``touches``)."""
_RAN = ("completed", "interrupted", "running")


class Pair(msgspec.Struct, frozen=True):
    """The snapshots around the changes of one turn."""

    root: str
    before: str
    after: str | None
    """None = the turn did not come to its end."""

    @property
    def missing(self) -> str:
        """Why one of the two is not there; empty = both are (or the turn did not end)."""
        for tree in (self.before, self.after or ""):
            if tree.startswith(NONE_TAKEN):
                return tree.removeprefix(NONE_TAKEN)
        return ""


class Look(msgspec.Struct, frozen=True):
    """One pair, compared."""

    turn: Difference
    """From before the turn to after it (to now, where it did not end)."""
    now: Difference
    """From before the turn to now."""
    ended: bool = True
    only: frozenset[bytes] | None = None
    """Paths that the turn changed for certain, all of them; None = whatever changed meanwhile is its work."""
    doubtful: frozenset[bytes] = frozenset()
    """Paths that another session may have changed meanwhile."""


class Line(msgspec.Struct, frozen=True, array_like=True):
    """One snapshot that was taken in a folder, as its log has it."""

    session_id: str
    turn: int
    """The message that the turn begins with."""
    when: str
    tree: str


class Plan(msgspec.Struct, frozen=True):
    moves: tuple[Move, ...] = ()
    """Conflicts included."""
    conflicts: tuple[bytes, ...] = ()
    """Paths that are not as the turn left them, or for which nobody knows."""
    unkept: tuple[bytes, ...] = ()
    """Paths that the turn changed and no snapshot has the content of: they stay as they are."""


def pairs_of(rows: Sequence[Snapshot], turn: int) -> tuple[Pair, ...]:
    """Of the turn that begins with the message ``turn``; rows oldest first."""
    pairs: list[Pair] = []
    before: Snapshot | None = None
    for row in rows:
        if row.when == "before_undo":
            continue
        if before is not None:
            ended = row.when == "after_turn" and row.root == before.root
            pairs.append(Pair(before.root, before.tree, row.tree if ended else None))
            before = None
        if row.when == "before_turn" and row.at_seq == turn:
            before = row
    if before is not None:
        pairs.append(Pair(before.root, before.tree, None))
    return tuple(pairs)


def plan(looks: Sequence[Look]) -> Plan:
    """The moves that take back what the pairs saw, oldest pair first: each path to what it was before the first of them
    that changed it, provided it is now what the last of them left. Paths that are so already need no move."""
    steps: dict[bytes, list[tuple[Look, Changed]]] = {}
    for look in looks:
        for change in look.turn.changes:
            if look.only is None or change.path in look.only:
                steps.setdefault(change.path, []).append((look, change))
    unkept = {path for look in looks for path in look.turn.unkept if look.only is None or path in look.only}
    now_of = {id(look): look.now.by_path() for look in looks}
    moves: list[Move] = []
    conflicts: list[bytes] = []
    for path, taken in sorted(steps.items()):
        first, change = taken[0]
        if any(path in look.now.unkept for look, _ in taken):
            unkept.add(path)
            continue
        changed = now_of[id(first)].get(path)
        present, wanted = changed.after if changed is not None else change.before, change.before
        if present == wanted:
            continue
        moves.append(Move(path, present, wanted))
        joined = all(same(one.after, other.before) for (_, one), (_, other) in pairwise(taken))
        sure = all(look.ended and path not in look.doubtful for look, _ in taken)
        if not (joined and sure and same(present, taken[-1][1].after)):
            conflicts.append(path)
    return Plan(tuple(moves), tuple(conflicts), tuple(sorted(unkept)))


def touched(messages: Iterable[Message]) -> tuple[frozenset[str], bool]:
    """Files (absolute) that the turn's own tools say they changed, and whether nothing else of it can have changed any:
    a command or a tool we do not know may change whatever it likes."""
    paths: set[str] = set()
    sure = True
    for call in _calls(messages):
        paths.update(touch.path for touch in call.touches if touch.kind != "read")
        if call.state in _RAN and call.name not in _HARMLESS:
            # An edit that was stopped may have been made without a word of it.
            sure = sure and call.name in _EDITS and call.state == "completed"
    return frozenset(paths), sure


def may_have_changed(messages: Iterable[Message]) -> bool:
    """Whether a call of a turn of which there are no snapshots may have changed files."""
    return any(call.state in _RAN and call.name not in _HARMLESS for call in _calls(messages))


def overlapping(lines: Sequence[Line], session_id: str, turn: int) -> dict[str, list[tuple[str, str | None]]]:
    """Snapshots before and after (None = not ended) of turns of other sessions that ran while the turn did, by session.

    ``lines`` are what the folder's sessions took, in order.
    """
    mine = [n for n, line in enumerate(lines) if line.session_id == session_id and line.turn == turn]
    spans: dict[str, list[tuple[str, str | None]]] = {}
    if not mine:
        return spans
    begins, ends = mine[0], mine[-1]
    for (other, _), span in _spans(lines).items():
        ended = lines[span[-1]].when == "after_turn"
        if other != session_id and span[0] < ends and (not ended or span[-1] > begins):
            spans.setdefault(other, []).append((lines[span[0]].tree, lines[span[-1]].tree if ended else None))
    return spans


def _spans(lines: Sequence[Line]) -> Mapping[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = {}
    for n, line in enumerate(lines):
        found.setdefault((line.session_id, line.turn), []).append(n)
    return found


def _calls(messages: Iterable[Message]) -> Iterable[ToolCall]:
    return (part for message in messages for part in message.parts if isinstance(part, ToolCall))
