"""Which rule files are no longer what the prefix says (P-5, P-7, W-9)."""

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from sojourn.prefix.sources.file_head import head
from sojourn.prefix.sources.rule_file import FILE_MOST, RuleStamp


class Change(msgspec.Struct, frozen=True):
    """A rule file that was loaded and has changed on disk since."""

    path: str
    kind: Literal["changed", "gone"]
    sha256: str = ""
    """Of what is there now: the same change is told once. Empty = gone."""


def changed_rules(loaded: Iterable[RuleStamp]) -> tuple[Change, ...]:
    """What differs from what was loaded, each path once, in the order of ``loaded``.

    Cheap: one ``stat`` a file; only where size or time differ is it read, and only other bytes count.
    """
    found: dict[str, Change] = {}
    for stamp in loaded:
        change = _change(stamp)
        if change is not None:
            found.setdefault(stamp.path, change)
    return tuple(found.values())


def _change(stamp: RuleStamp) -> Change | None:
    try:
        status = os.stat(stamp.at)
        if (status.st_size, status.st_mtime_ns) == (stamp.size, stamp.modified):
            return None
        now = sha256(head(Path(stamp.at), FILE_MOST).data).hexdigest()
    except OSError:
        return Change(stamp.path, "gone")
    return None if now == stamp.sha256 else Change(stamp.path, "changed", now)
