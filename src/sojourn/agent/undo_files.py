"""What an undo is about to do with the files of turns: looked up and compared, nothing changed (W-12)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sojourn.agent.neighbours import doubtful_paths
from sojourn.agent.putting_back import state
from sojourn.agent.snapshot_types import Move, Unavailable, same, shown
from sojourn.agent.snapshots import Snapshots
from sojourn.agent.undo_plan import Look, Pair, Plan, may_have_changed, pairs_of, plan, touched
from sojourn.base import WorkFailed
from sojourn.engine import Engine
from sojourn.record import Message

ALONE = "--no-files takes back the conversation alone."
_OTHERS = "another program made it"
_PARENTS = "it was made before this session was forked, by the session it comes from"

Turns = Sequence[tuple[Message, Sequence[Pair]]]
"""Turns with their snapshots, the oldest first."""


class Intended(msgspec.Struct, frozen=True):
    moves: tuple[Move, ...] = ()
    conflicts: tuple[bytes, ...] = ()
    """Of the moves: paths that are not as they should be."""
    left: tuple[str, ...] = ()
    """Paths that stay as they are, for people."""
    why: str = ""
    """What is the matter with the conflicts."""
    tree: str = ""
    """The files as they stand now."""


async def pairs_for(engine: Engine, turns: Sequence[Message]) -> Mapping[int, tuple[Pair, ...]]:
    """The snapshots of those turns (newest first) that have any, by seq. Raises WorkFailed where a turn may have changed
    files and nobody knows from what."""
    rows = await engine.store.snapshots(engine.session_id)
    session = engine.session
    shared = session.fork_of.seq if session.fork_of is not None else 0
    found: dict[int, tuple[Pair, ...]] = {}
    ends = [engine.head, *(turn.seq - 1 for turn in turns)]
    for turn, upto in zip(turns, ends, strict=False):
        pairs = pairs_of(rows, turn.seq)
        missing = next((pair.missing for pair in pairs if pair.missing), "")
        if missing:
            raise no_snapshot(turn.seq, missing)
        if pairs:
            found[turn.seq] = pairs
            continue
        # Our own turns always leave a row before anything changes; these were somebody else's.
        foreign = turn.seq <= shared or session.source is not None
        if foreign and may_have_changed(await engine.store.messages(engine.session_id, after=turn.seq - 1, upto=upto)):
            raise no_snapshot(turn.seq, _PARENTS if turn.seq <= shared else _OTHERS)
    return found


async def intended(engine: Engine, snapshots: Snapshots, turns: Turns) -> Intended:
    """How the files of these turns are taken back. The caller holds the snapshots' lock. Raises WorkFailed."""
    taken = await snapshots.take_held()
    if isinstance(taken, Unavailable):
        raise no_snapshot(turns[-1][0].seq, taken.reason)
    looks: list[Look] = []
    left: list[str] = []
    ends = [turn.seq - 1 for turn, _ in turns[1:]] + [engine.head]
    for (turn, pairs), upto in zip(turns, ends, strict=True):
        messages = await engine.store.messages(engine.session_id, after=turn.seq - 1, upto=upto)
        own, elsewhere, complete = await asyncio.to_thread(_own, messages, snapshots.root)
        doubtful = await doubtful_paths(engine.store, snapshots, engine.session_id, turn.seq, taken.tree) - own
        for pair in pairs:
            now = await snapshots.difference(pair.before, taken.tree)
            ended = pair.after is not None
            changed = await snapshots.difference(pair.before, pair.after) if pair.after is not None else now
            looks.append(Look(changed, now, ended=ended, only=own if complete else None, doubtful=doubtful))
        left += elsewhere
        left += map(shown, await _unheld(snapshots, pairs, own))
    found = plan(looks)
    left += map(shown, found.unkept)
    return Intended(found.moves, found.conflicts, tuple(dict.fromkeys(left)), _why(found, looks), taken.tree)


def forward(root: Path, moved: Sequence[Move]) -> Intended:
    """What an undo moved, the other way. Paths that are so already need no move."""
    moves: list[Move] = []
    conflicts: list[bytes] = []
    for move in moved:
        now = state(os.fsencode(root), move.path)
        if now == move.present:
            continue
        moves.append(Move(move.path, now, move.present))
        if not same(now, move.wanted):
            conflicts.append(move.path)
    return Intended(tuple(moves), tuple(conflicts), why="these files have been changed since the undo")


def no_snapshot(seq: int, reason: str) -> WorkFailed:
    """Nothing can be done for the files of the turn at message ``seq``."""
    return WorkFailed(
        f"nothing was changed: there is no snapshot of the files that the turn at message {seq} changed: {reason}",
        next_step=ALONE,
    )


async def _unheld(snapshots: Snapshots, pairs: Sequence[Pair], paths: frozenset[bytes]) -> list[bytes]:
    """Files that the turn's tools changed and that are in none of its snapshots, but there."""
    asked = sorted(paths)
    for tree in (tree for pair in pairs for tree in (pair.before, pair.after) if tree is not None):
        held = await snapshots.holds(tree, asked) if asked else set()
        asked = [path for path in asked if path not in held]
    root = os.fsencode(snapshots.root)
    return [path for path in asked if await asyncio.to_thread(os.path.lexists, root + b"/" + path)]


def _own(messages: Sequence[Message], root: Path) -> tuple[frozenset[bytes], list[str], bool]:
    """What the turn's tools say they changed: paths in the folder, and elsewhere; whether that is all it can have changed."""
    paths, complete = touched(messages)
    base = str(root).rstrip(os.sep) + os.sep
    real = sorted({os.path.realpath(path) for path in paths})
    inside = frozenset(os.fsencode(path.removeprefix(base)) for path in real if path.startswith(base))
    return inside, [shown(os.fsencode(path)) for path in real if not path.startswith(base)], complete


def _why(found: Plan, looks: Sequence[Look]) -> str:
    if any(path in look.doubtful for look in looks for path in found.conflicts):
        return "another session worked in this folder at the same time, so it is not certain who changed these files"
    if any(not look.ended for look in looks):
        return "the turn was cut off, so it is not certain what it changed of these files"
    return "these files have been changed since"
