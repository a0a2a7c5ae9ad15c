"""Erasure reaches the files too: a checkpoint's document holds the same words as its row (R-16, K-1)."""

from collections.abc import Sequence
from pathlib import Path

from sojourn.base import WorkFailed
from sojourn.memory import erase_sessions
from sojourn.record import Session, Store
from sojourn.surfaces.catalogue import say


async def with_children(store: Store, session: Session) -> Sequence[Session]:
    """The session and the sessions of its sub-agents, theirs included."""
    found, new = [session], [session]
    while new:
        new = [child for parent in new for child in await store.sessions(parent_id=parent.id)]
        found += new
    return found


def erase_documents(root: Path, sessions: Sequence[Session]) -> int:
    """Removes the documents of these sessions and the words of them in the index; how many of them had any. Raises WorkFailed
    where one cannot be removed."""
    try:
        return erase_sessions(root, [session.id for session in sessions])
    except OSError as error:
        told = say("cannot_remove", path=error.filename or root, reason=error.strerror or str(error))
        raise WorkFailed(told, next_step=say("remove_by_hand")) from error
