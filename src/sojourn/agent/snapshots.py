"""Snapshots of a working folder in an object store of our own: taken, compared, put back, pruned (W-12).

They hold the files that git would track or offer to track, whatever repository the folder lies in, or none. What is
ignored, files over 10 MB and nested repositories are not in them.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from sojourn.agent.putting_back import Contents, put
from sojourn.agent.snapshot_git import GitFailed, PrivateGit, TooMany, repository_of
from sojourn.agent.snapshot_lock import held
from sojourn.agent.snapshot_scan import TOTAL_MOST, Scan, scan
from sojourn.agent.snapshot_types import (
    Changed,
    Difference,
    Entry,
    Facts,
    Move,
    Taken,
    Unavailable,
    decode_facts,
    encode_facts,
    may_differ,
    shown,
)
from sojourn.base import WorkFailed

FILES_MOST = 50_000
SECONDS = 20.0
"""For a snapshot, the wait for another session's included."""
_FRESH = "2.hours.ago"
"""Objects younger than this are never pruned: the row that names them may be on its way."""
_MANY = 500
"""New files from which on their contents go to one pack: a file for each would take ten times the room."""
_IN_ONE_PACK = ("core.bigFileThreshold=1", "core.compression=1")
_BATCH = 10_000
"""Files at a time: what a deadline cuts off goes on from there the next time."""
_LS = ("ls-files", "-z")


class Snapshots:
    """Of one folder, in ``<data>/snapshots/<name of the folder>/`` (0700). Sessions that work in the folder share it.

    The folder must be given as a real path. Nothing in it is written but by ``restore`` and ``put``.
    """

    def __init__(self, data: Path, root: Path, *, environ: Mapping[str, str] = os.environ, seconds: float = SECONDS) -> None:
        self.root = root
        self.folder = data / "snapshots" / _name(root)
        self._data = data
        self._git = PrivateGit(self.folder / "git", environ)
        self._home = environ.get("HOME") or os.path.expanduser("~")
        self._seconds = seconds

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Nobody else takes or puts back meanwhile. Raises WorkFailed when it is not free in time."""
        async with held(self.folder / "lock", self._seconds):
            yield

    async def take(self) -> Taken | Unavailable:
        """The files as they stand now."""
        try:
            async with self.hold():
                return await self.take_held()
        except WorkFailed as error:
            return Unavailable(str(error))

    async def take_held(self) -> Taken | Unavailable:
        """The same for one who holds the lock."""
        try:
            if unfit := self._unfit():
                return Unavailable(unfit)
            async with asyncio.timeout(self._seconds):
                await self._git.prepare()
                self._forget_locks()
                try:
                    return await self._take()
                except GitFailed:
                    # A file went while it was read, or the index is damaged: once more from nothing.
                    self._git.index.unlink(missing_ok=True)
                    return await self._take()
        except TimeoutError:
            return Unavailable(f"looking at the files took longer than {self._seconds:g} seconds")
        except (TooMany, GitFailed) as error:
            return Unavailable(str(error))
        except OSError as error:
            return Unavailable(f"{error.strerror or error}: {error.filename or self.folder}")

    async def difference(self, before: str, after: str) -> Difference:
        """Every path that differs. Raises WorkFailed where a snapshot is not in the store."""
        try:
            raw = await self._git.run("diff-tree", "-r", "-z", "--no-renames", f"{before}:files", f"{after}:files")
            facts = [decode_facts(await self._git.run("cat-file", "blob", f"{tree}:facts")) for tree in (before, after)]
            listed = await self._git.run("ls-tree", "-r", "-z", f"{after}:files") if may_differ(*facts) else b""
        except (GitFailed, OSError) as error:
            raise WorkFailed(
                f"a snapshot of {self.root} is not there any more: {error}", next_step="Leave the files as they are."
            ) from error
        return _compared(raw, listed, facts[0], facts[1])

    async def holds(self, tree: str, paths: Sequence[bytes]) -> set[bytes]:
        """Those of the paths (relative to the folder) that the snapshot has."""
        asked = [path for path in paths if b"\n" not in path]
        lines = b"".join(b"%s:files/%s\n" % (tree.encode(), path) for path in asked)
        answers = (await self._git.run("cat-file", "--batch-check", given=lines)).splitlines()
        return {path for path, answer in zip(asked, answers, strict=True) if not answer.endswith(b" missing")}

    async def restore(self, from_tree: str, to_tree: str, paths: Collection[bytes] | None = None) -> Difference:
        """Makes these paths (None = all) as they are in ``to_tree``, if each is what ``from_tree`` says; answers what was
        changed. All or nothing, errors as of ``put``."""
        found = await self.difference(from_tree, to_tree)
        changes = tuple(change for change in found.changes if paths is None or change.path in paths)
        async with self.hold():
            await self.put([Move(change.path, change.before, change.after) for change in changes], "restore")
        return Difference(changes, found.unkept)

    async def put(self, moves: Sequence[Move], token: str) -> None:
        """Makes the moves, for one who holds the lock: all or none. ``token`` names the folder in which contents wait.

        Raises Differs (a path is not what it is said to be), NotPut (the system did not allow it): nothing was changed.
        """
        await asyncio.to_thread(put, os.fsencode(self.root), moves, self._contents(), token)

    async def prune(self, keep: Collection[str], *, at_once: bool = False) -> int:
        """Removes what no snapshot of ``keep`` needs and is older than two hours (``at_once``: and whatever its age); answers
        the bytes freed. For one who holds the lock (``at_once``: and had it when he asked which to keep). Raises
        WorkFailed."""
        since = "now" if at_once else _FRESH
        before = await asyncio.to_thread(_size, self._git.folder)
        try:
            await self._git.prepare()
            self._forget_locks()
            if at_once:
                self._git.index.unlink(missing_ok=True)  # it names the files as they were last seen
            await self._keep(keep)
            await self._git.run("repack", "-q", "-A", "-d", f"--unpack-unreachable={since}")
            await self._git.run("prune", f"--expire={since}")
        except (GitFailed, OSError) as error:
            raise WorkFailed(f"the snapshots of {self.root} could not be pruned: {error}") from error
        return max(0, before - await asyncio.to_thread(_size, self._git.folder))

    # --- inside ----------------------------------------------------------------------------------------------------

    def _unfit(self) -> str:
        """Why this folder is none to take snapshots of; empty = it is one."""
        if self._git.missing:
            return "git is not installed"
        home = Path(os.path.realpath(self._home))
        if self.root == home:
            return "the folder is the home folder"
        if self.root == Path(self.root.anchor) or self.root in home.parents:
            return f"the folder {self.root} is too much of the system"
        return "" if self.root.is_dir() else f"the folder {self.root} is gone"

    def _forget_locks(self) -> None:
        """Whoever holds our lock is alone: a lock file of git is left from one that was killed."""
        self._git.index.with_name("index.lock").unlink(missing_ok=True)

    async def _take(self) -> Taken:
        seen, gone, new = await self._scan()
        bulk = _IN_ONE_PACK if new > _MANY else ()
        git, root = self._git, self.root
        if len(seen.kept) > FILES_MOST:
            raise TooMany(FILES_MOST)
        if seen.size > TOTAL_MOST:
            raise TooMany(TOTAL_MOST, "bytes that are not ignored")
        if gone:
            await git.run("update-index", "-z", "--force-remove", "--stdin", tree=root, given=_ended(gone))
        for at in range(0, len(seen.kept), _BATCH):
            options = ("--add", "--remove", "--replace")
            given = _ended(seen.kept[at : at + _BATCH])
            await git.run("update-index", "-z", *options, "--stdin", tree=root, given=given, config=bulk)
        files = (await git.run("write-tree")).strip()
        facts = (await git.run("hash-object", "-w", "--stdin", given=encode_facts(seen.facts))).strip()
        both = b"100644 blob %s\tfacts\0" % facts + b"040000 tree %s\tfiles\0" % files
        tree = (await git.run("mktree", "-z", given=both)).strip().decode()
        return Taken(tree, tuple(map(shown, sorted(seen.facts.left))))

    async def _scan(self) -> tuple[Scan, list[bytes], int]:
        """The files as they stand, what the index has beside them, and how many of them it does not have."""
        git, root, most = self._git, self.root, FILES_MOST
        theirs = await asyncio.to_thread(repository_of, root)
        await asyncio.to_thread(_copy_excludes, theirs.exclude, git.folder / "info" / "exclude")
        nothing = git.folder / "no-index"
        others = (*_LS, "--others", "--exclude-standard")
        listed = await git.names(*others, most=most, cwd=root, tree=theirs.top, index=nothing)
        if not listed and theirs.top != root:
            # The repository ignores the whole folder: it is looked at for itself.
            listed = await git.names(*others, most=most, cwd=root, tree=root, index=nothing)
        ours = await git.names(*_LS, "--cached", most=2 * most, cwd=root, tree=root)
        known = list(ours)
        if theirs.index is not None:
            ignored = (*_LS, "--cached", "--ignored", "--exclude-standard")
            with contextlib.suppress(GitFailed):  # an index of a kind that cannot be read from outside: the rest is listed
                known += await git.names(*ignored, most=most, cwd=root, tree=theirs.top, index=theirs.index)
        seen = await asyncio.to_thread(scan, os.fsencode(root), listed, known, self._own())
        kept, indexed = set(seen.kept), set(ours)
        return seen, [path for path in ours if path not in kept], len(kept - indexed)

    def _own(self) -> bytes:
        data = Path(os.path.realpath(self._data))
        return os.fsencode(data.relative_to(self.root)) + b"/" if data.is_relative_to(self.root) else b""

    def _contents(self) -> Contents:
        return Contents(self._git.command("cat-file", "--batch"), self._git.environment())

    async def _keep(self, keep: Collection[str]) -> None:
        """References to these trees and no other."""
        git = self._git
        there = set((await git.run("for-each-ref", "--format=%(objectname)", "refs/kept")).decode().split())
        asked = "".join(f"{tree}\n" for tree in sorted(set(keep) - there)).encode()
        answers = (await git.run("cat-file", "--batch-check", given=asked)).decode().splitlines()
        new = [words[0] for words in map(str.split, answers) if words[1:2] == ["tree"]]
        lines = [f"create refs/kept/{tree} {tree}\n" for tree in new]
        lines += [f"delete refs/kept/{tree}\n" for tree in sorted(there - set(keep))]
        await git.run("update-ref", "--stdin", given="".join(lines).encode())


def _name(root: Path) -> str:
    """Readable, and never the same for two folders."""
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name)[:40].strip(".-") or "folder"
    return f"{words}-{sha256(os.fsencode(root)).hexdigest()[:16]}"


def _ended(paths: Sequence[bytes]) -> bytes:
    return b"\0".join(paths) + b"\0"


def _copy_excludes(source: Path | None, to: Path) -> None:
    """The user's own list of what is to be ignored in this repository."""
    wanted = b""
    if source is not None:
        with contextlib.suppress(OSError):
            wanted = source.read_bytes()
    if not to.exists() or to.read_bytes() != wanted:
        to.write_bytes(wanted)


def _compared(raw: bytes, listed: bytes, before: Facts, after: Facts) -> Difference:
    """``raw`` is what ``diff-tree -z`` prints: ``:modes shas letter``, NUL, path, NUL. ``listed`` is what ``ls-tree -z``
    prints: ``mode kind sha``, tab, path, NUL; only files whose permissions alone differ are looked for in it."""
    words = raw.split(b"\0")[:-1]
    changes: list[Changed] = []
    unkept = {path for path in (*before.left, *after.left) if before.left.get(path) != after.left.get(path)}
    for head, path in zip(words[::2], words[1::2], strict=True):
        old_mode, new_mode, old_sha, new_sha, _ = head[1:].split()
        if path in before.left or path in after.left:
            unkept.add(path)
            continue
        changes.append(Changed(path, _entry(path, old_mode, old_sha, before), _entry(path, new_mode, new_sha, after)))
    different = {change.path for change in changes}
    for line in listed.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, sha = head.split()
        old, new = _entry(path, mode, sha, before), _entry(path, mode, sha, after)
        if old != new and path not in different:
            changes.append(Changed(path, old, new))
    return Difference(tuple(changes), tuple(sorted(unkept)))


def _entry(path: bytes, mode: bytes, sha: bytes, facts: Facts) -> Entry | None:
    bits = int(mode, 8)
    return Entry(bits, sha.decode(), facts.permissions_of(path, bits)) if bits else None


def _size(folder: Path) -> int:
    return sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file())
