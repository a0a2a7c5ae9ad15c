"""Looking at the files of a folder: which of them a snapshot takes, and what git would not keep of them."""

import os
import stat as modes
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from sojourn.agent.snapshot_types import Facts

FILE_MOST = 10 << 20
"""Bytes of a file; a larger one is left out and named."""
TOTAL_MOST = 1 << 30
"""Bytes of all files together."""
STAGING = b".sojourn-undo-"
"""How the folder begins in which contents wait to be put in their places."""


class Scan(msgspec.Struct, frozen=True):
    kept: tuple[bytes, ...]
    facts: Facts
    size: int
    """Bytes of the kept files."""


def scan(root: bytes, listed: Iterable[bytes], known: Iterable[bytes], own: bytes) -> Scan:
    """``listed`` are the paths that git names (a nested repository ends with a slash), ``known`` those that are in the
    snapshot's index or in the user's, ignored or not, there or not. ``own``: our data folder below root, with a slash;
    b"" = it lies elsewhere.
    """
    found: dict[bytes, None] = {}
    apart: list[bytes] = []
    for path in listed:
        if path.endswith(b"/"):
            apart.append(path)
        else:
            found[path] = None
    for path in known:
        if path not in found and not path.startswith(tuple(apart)) and really_inside(root, path):
            found[path] = None
    kept: list[bytes] = []
    left: dict[bytes, tuple[int, int]] = {}
    bits: dict[bytes, int] = {}
    size = 0
    for path in found:
        if path.startswith(STAGING) or (own and path.startswith(own)):
            continue
        target = root + b"/" + path
        try:
            stat = os.lstat(target)
        except OSError:
            continue  # it went since it was listed
        if modes.S_ISLNK(stat.st_mode):
            kept.append(path)
        elif modes.S_ISREG(stat.st_mode):
            if stat.st_size > FILE_MOST or not _readable(target, stat.st_mode):
                left[path] = (stat.st_size, stat.st_mtime_ns)
            else:
                kept.append(path)
                bits[path] = stat.st_mode & 0o777
                size += stat.st_size
    return Scan(tuple(kept), _facts(bits, left), size)


def really_inside(root: bytes, path: bytes) -> bool:
    """Whether every folder on the way to the path is one, and none of them a link."""
    at = path.find(b"/")
    while at >= 0:
        try:
            if not modes.S_ISDIR(os.lstat(root + b"/" + path[:at]).st_mode):
                return False
        except OSError:
            return False
        at = path.find(b"/", at + 1)
    return True


def _readable(target: bytes, mode: int) -> bool:
    return mode & 0o444 == 0o444 or os.access(target, os.R_OK, effective_ids=os.access in os.supports_effective_ids)


def _facts(bits: dict[bytes, int], left: dict[bytes, tuple[int, int]]) -> Facts:
    """The usual permissions are those that most files have."""
    counted = Counter(bits.values())
    plain = _commonest([(bit, n) for bit, n in counted.items() if not bit & 0o100], 0o644)
    program = _commonest([(bit, n) for bit, n in counted.items() if bit & 0o100], 0o755)
    exceptions = {path: bit for path, bit in bits.items() if bit not in (plain, program)}
    return Facts(plain, program, exceptions, left)


def _commonest(counted: Sequence[tuple[int, int]], otherwise: int) -> int:
    """Of two that are as frequent, the wider."""
    return max(counted, key=lambda item: (item[1], item[0]))[0] if counted else otherwise
