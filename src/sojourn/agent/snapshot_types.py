"""What a snapshot of a folder holds, and what two of them tell of each other (W-12)."""

from collections.abc import Mapping
from typing import Literal

import msgspec

LINK = 0o120000
PLAIN = 0o100644
PROGRAM = 0o100755
NONE_TAKEN = "none: "
"""How the ``tree`` of a row begins that says why there is no snapshot of that moment."""


class Unavailable(msgspec.Struct, frozen=True):
    """No snapshot could be taken; the turn goes on without."""

    reason: str


class Taken(msgspec.Struct, frozen=True):
    tree: str
    """Its name in the object store."""
    left_out: tuple[str, ...] = ()
    """Files that are too large or cannot be read, as people read their paths: an undo leaves them as they are."""


class Entry(msgspec.Struct, frozen=True):
    """A file in a snapshot."""

    mode: int
    """LINK, PLAIN or PROGRAM."""
    sha: str
    permissions: int = 0o644
    """Its permission bits; nothing for a link."""

    def same(self, other: "Entry | None") -> bool:
        """The same content and kind, whatever the permissions."""
        return other is not None and (self.mode, self.sha) == (other.mode, other.sha)


def same(one: Entry | None, other: Entry | None) -> bool:
    """The same content and kind, or both absent: what a conflict is judged by."""
    return one.same(other) if one is not None else other is None


class Changed(msgspec.Struct, frozen=True):
    """A path (as the system has it, relative to the folder) in two snapshots; None = it is not there."""

    path: bytes
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        return "added" if self.before is None else "removed" if self.after is None else "changed"


class Difference(msgspec.Struct, frozen=True):
    changes: tuple[Changed, ...] = ()
    unkept: tuple[bytes, ...] = ()
    """Paths that differ, but of which one snapshot or both do not have the content."""

    def by_path(self) -> dict[bytes, Changed]:
        return {change.path: change for change in self.changes}


class Move(msgspec.Struct, frozen=True):
    """One path that is to be as ``wanted`` (None = gone), where now ``present`` is."""

    path: bytes
    present: Entry | None
    wanted: Entry | None


class Facts(msgspec.Struct, frozen=True):
    """What a tree of git does not say: permissions (the usual ones and the exceptions), and files without content."""

    plain: int = 0o644
    program: int = 0o755
    permissions: Mapping[bytes, int] = {}
    left: Mapping[bytes, tuple[int, int]] = {}
    """Bytes and time of the last change (nanoseconds)."""

    def permissions_of(self, path: bytes, mode: int) -> int:
        if mode == LINK:
            return 0
        return self.permissions.get(path, self.program if mode == PROGRAM else self.plain)


def may_differ(before: Facts, after: Facts) -> bool:
    """Whether a file may have other permissions in the one than in the other, though its content is the same."""
    usual = (before.plain, before.program) == (after.plain, after.program)
    return not usual or before.permissions != after.permissions


def encode_facts(facts: Facts) -> bytes:
    """NUL-ended lines: a path may hold anything else."""
    lines = [b"usual %o %o" % (facts.plain, facts.program)]
    lines += [b"mode %o %s" % (bits, path) for path, bits in sorted(facts.permissions.items())]
    lines += [b"left %d %d %s" % (*stamp, path) for path, stamp in sorted(facts.left.items())]
    return b"\0".join(lines)


def decode_facts(data: bytes) -> Facts:
    """The other way round."""
    plain, program = 0o644, 0o755
    permissions: dict[bytes, int] = {}
    left: dict[bytes, tuple[int, int]] = {}
    for line in data.split(b"\0"):
        kind, _, rest = line.partition(b" ")
        if kind == b"usual":
            plain, program = (int(bits, 8) for bits in rest.split())
        elif kind == b"mode":
            bits, _, path = rest.partition(b" ")
            permissions[path] = int(bits, 8)
        elif kind == b"left":
            size, changed, path = rest.split(b" ", 2)
            left[path] = (int(size), int(changed))
    return Facts(plain, program, permissions, left)


def shown(path: bytes) -> str:
    """The path as people read it: what cannot be printed is escaped."""
    text = path.decode("utf-8", "surrogateescape")
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
