"""Folders, their git repositories and snapshots, compared byte for byte."""

import asyncio
import contextlib
import os
import stat
import subprocess
from collections.abc import Iterator
from hashlib import sha1, sha256
from pathlib import Path

from sojourn.agent.snapshot_types import Taken, shown
from sojourn.agent.snapshots import Snapshots

QUIET = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, env=QUIET, check=True, capture_output=True, text=True)
    return done.stdout


def snapshots(work: Path, **options: object) -> Snapshots:
    return Snapshots(work.parent / "data", work, **options)  # type: ignore[arg-type]


def take(shots: Snapshots) -> Taken:
    taken = asyncio.run(shots.take())
    assert isinstance(taken, Taken), taken
    return taken


async def prune(shots: Snapshots, keep: list[str]) -> int:
    async with shots.hold():
        return await shots.prune(keep)


def held(shots: Snapshots, tree: str) -> dict[str, str]:
    """Mode and content by path."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "-z", f"{tree}:files"],
        env=QUIET | {"GIT_DIR": str(shots.folder / "git")},
        check=True,
        capture_output=True,
    ).stdout
    found = {}
    for line in listed.split(b"\0")[:-1]:
        head, path = line.split(b"\t", 1)
        mode, _, sha = head.decode().split()
        found[os.fsdecode(path)] = f"{mode} {sha}"
    return found


def names(shots: Snapshots, tree: str) -> list[str]:
    return sorted(held(shots, tree))


def kinds(shots: Snapshots, before: str, after: str) -> dict[str, str]:
    found = asyncio.run(shots.difference(before, after))
    return {shown(change.path): change.kind for change in found.changes}


def picture(folder: Path) -> dict[str, tuple[str, int, bytes]]:
    """Everything below the folder but repositories: kind, permissions, content."""
    found: dict[str, tuple[str, int, bytes]] = {}
    for base, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != ".git"]
        for name in (*files, *folders):
            path = Path(base, name)
            bits = stat.S_IMODE(path.lstat().st_mode)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = ("link", 0, os.fsencode(os.readlink(path)))
            elif path.is_dir():
                found[key] = ("folder", 0, b"")
            else:
                found[key] = ("file", bits, path.read_bytes())
    return found


def every_byte(folder: Path) -> str:
    """Of all that lies below, names, times and permissions included."""
    digest = sha256()
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        digest.update(f"{path} {info.st_mode} {info.st_mtime_ns} {info.st_ino} {info.st_size}\n".encode())
        if path.is_file() and not path.is_symlink():
            digest.update(path.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def nobody(folder: Path) -> Iterator[None]:
    """As somebody whom permissions hold; the folder and all in it are theirs."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, 65_534, 65_534)
    for parent in folder.parents:
        if parent.stat().st_mode & 0o1 == 0 and parent.stat().st_uid == 0:
            parent.chmod(parent.stat().st_mode | 0o011)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def blob(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data).hexdigest()
