"""What an undo has taken out of a session's view, and whether it can come back (R-4, W-12)."""

import msgspec

from sojourn.record import Session, Store, standing_undos
from sojourn.surfaces.catalogue import say


class TakenBack(msgspec.Struct, frozen=True):
    """Messages of the session's own that undos cover."""

    seqs: frozenset[int]
    redo: bool
    """``sojourn undo --redo`` would bring the newest of them back."""


async def taken_back(store: Store, session: Session) -> TakenBack:
    """What stands undone now."""
    standing = standing_undos(await store.undos(session.id))
    seqs = {seq for row in standing if row.kind == "turn" for seq in range(row.after_seq + 1, row.upto_seq + 1)}
    redo = bool(standing) and standing[-1].kind == "turn" and session.head <= standing[-1].upto_seq
    return TakenBack(frozenset(seqs), redo)


async def newest_in_view(store: Store, session: Session) -> int:
    """The number of the newest message that no undo covers; 0 = there is none."""
    newest = await store.messages(session.id, limit=1, newest_first=True)
    return newest[0].seq if newest else 0


def taken_back_line(session: Session, taken: TakenBack) -> str:
    """How many there are, and how to see them or have them again."""
    told = [say("messages_taken_back", count=len(taken.seqs)), say("see_taken_back", id=session.id)]
    if taken.redo:
        told.append(say("redo_taken_back", id=session.id))
    return "\n  ".join(told)
