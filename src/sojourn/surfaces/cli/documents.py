"""Erasure reaches the files too: a checkpoint's document holds the same words as its row (R-16, K-1)."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from sojourn.base import WorkFailed
from sojourn.checkpoint import write_checkpoint_file
from sojourn.memory import layout, path_of
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
    """Removes the folders of these sessions; how many there were. Raises WorkFailed where one cannot be removed."""
    own = [path_of(root, layout.checkpoint(session.id)).parent for session in sessions]
    folders = [folder for folder in own if folder.is_dir()]
    earlier = [root / ".versions" / folder.relative_to(root) for folder in own]
    for folder in (*folders, *(folder for folder in earlier if folder.is_dir())):
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise WorkFailed(
                say("cannot_remove", path=folder, reason=error.strerror), next_step=say("remove_by_hand")
            ) from error
    return len(folders)


def scrub_documents(root: Path, text: str, marker: str) -> int:
    """Replaces the text in every document; how many held it."""
    changed = 0
    for path in sorted(root.rglob("*.md")) if root.is_dir() else ():
        held = path.read_text("utf-8", errors="replace")
        if text in held:
            mode = path.stat().st_mode & 0o777
            write_checkpoint_file(path, held.replace(text, marker))
            path.chmod(mode)  # a person goes on editing memory; a checkpoint's rendering stays read-only
            changed += 1
    return changed
