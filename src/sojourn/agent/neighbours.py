"""Other sessions that worked in the folder while a turn ran: what they may have changed is not for certain the turn's."""

import asyncio

from sojourn.agent.snapshots import Snapshots
from sojourn.agent.undo_journal import Journal
from sojourn.agent.undo_plan import overlapping
from sojourn.record import Store


async def doubtful_paths(store: Store, snapshots: Snapshots, session_id: str, turn: int, now: str) -> frozenset[bytes]:
    """Paths that changed during turns of other sessions that overlap with this one. A turn that has not ended counts up to
    ``now`` (a tree) if its session runs; if not, a crash ended it and nobody knows. What a session's actors do while its
    turn runs is the turn's own work."""
    lines = await asyncio.to_thread(Journal(snapshots).lines)
    paths: set[bytes] = set()
    for other, spans in overlapping(lines, session_id, turn).items():
        if await _works_for(store, other, session_id):
            continue
        for before, after in spans:
            if after is not None or await store.holder(other) is not None:
                found = await snapshots.difference(before, after or now)
                paths.update(change.path for change in found.changes)
    return frozenset(paths)


async def _works_for(store: Store, session_id: str, other: str) -> bool:
    """Whether the session is an actor of the other one, or of one of its actors."""
    session = await store.session(session_id)
    while session is not None and session.parent_id is not None:
        if session.parent_id == other:
            return True
        session = await store.session(session.parent_id)
    return False
