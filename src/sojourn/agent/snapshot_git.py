"""A git of our own, which has nothing to do with the user's: no configuration, hook, filter, monitor or remote of anybody
is looked at or run (W-12)."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

import msgspec

_SAFE = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.sparseCheckout": "false",
    "core.precomposeUnicode": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_OPTIONS = tuple(word for key, value in _SAFE.items() for word in ("-c", f"{key}={value}"))
_ENV = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_DEFAULT_HASH": "sha1",
}
_ATTRIBUTES = "* -text !eol -crlf -filter -ident !working-tree-encoding\n"
"""Above every ``.gitattributes`` of the folder: bytes are kept as they are, no filter has a name."""
_CHUNK = 1 << 16


class GitFailed(Exception):
    """git is missing or said no; the text is for a person."""


class TooMany(Exception):
    """The folder is too large; the text is for a person."""

    def __init__(self, most: int, what: str = "files that are not ignored") -> None:
        super().__init__(f"the folder has more than {most:,} {what}")


class PrivateGit:
    """A bare repository in ``folder`` (0700), made at first use."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.index = folder / "index"
        self._program = shutil.which("git", path=environ.get("PATH"))
        self._env = {key: value for key, value in environ.items() if not key.startswith("GIT_")} | _ENV

    @property
    def missing(self) -> bool:
        """git is not installed."""
        return self._program is None

    def command(self, *arguments: str) -> list[str]:
        """The words of a call."""
        if self._program is None:
            raise GitFailed("git is not installed")
        return [self._program, *_OPTIONS, *arguments]

    def environment(self, tree: Path | None = None, index: Path | None = None) -> dict[str, str]:
        """Of a call. Without ``tree`` it needs no files, without ``index`` it has ours."""
        more = {"GIT_DIR": str(self.folder), "GIT_INDEX_FILE": str(index or self.index)}
        return self._env | more | ({"GIT_WORK_TREE": str(tree)} if tree else {})

    async def prepare(self) -> None:
        """Makes the repository, or ends the making of it. The caller holds the lock."""
        if not self._is_ready():
            await self.run("init", "--quiet", "--bare", "--template=")
            self._make_ready()

    def _is_ready(self) -> bool:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (self.folder / "ready").exists()

    def _make_ready(self) -> None:
        (self.folder / "info").mkdir(exist_ok=True)
        (self.folder / "info" / "attributes").write_text(_ATTRIBUTES)
        (self.folder / "ready").touch()

    async def run(self, *arguments: str, given: bytes = b"", tree: Path | None = None, config: tuple[str, ...] = ()) -> bytes:
        """What it prints. ``config`` are settings for this call alone. Raises GitFailed."""
        options = [word for setting in config for word in ("-c", setting)]
        process = await self._start(self.command(*options, *arguments), self.environment(tree), tree, asyncio.subprocess.PIPE)
        try:
            out, error = await process.communicate(given)
        except BaseException:
            await _end(process)
            raise
        if process.returncode:
            raise GitFailed(f"git {arguments[0]} failed: {' '.join(error.decode('utf-8', 'replace').split())[:300]}")
        return out

    async def names(self, *arguments: str, most: int, cwd: Path, tree: Path, index: Path | None = None) -> list[bytes]:
        """Names that it prints, each ended by a NUL. Raises TooMany as soon as there are more than ``most``; GitFailed."""
        command, quiet = self.command(*arguments), asyncio.subprocess.DEVNULL
        process = await self._start(command, self.environment(tree, index), cwd, quiet)
        assert process.stdout is not None
        chunks: list[bytes] = []
        count = 0
        try:
            while chunk := await process.stdout.read(_CHUNK):
                chunks.append(chunk)
                count += chunk.count(0)
                if count > most:
                    raise TooMany(most)
            code = await process.wait()
        except BaseException:
            await _end(process)
            raise
        if code:
            raise GitFailed(f"git {arguments[0]} failed with code {code}")
        return b"".join(chunks).split(b"\0")[:-1]

    async def _start(
        self, command: list[str], environ: dict[str, str], cwd: Path | None, spoken: int
    ) -> asyncio.subprocess.Process:
        """``spoken``: where what goes in, and what it says of errors, goes: PIPE or DEVNULL."""
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                cwd=cwd or self.folder,
                env=environ,
                start_new_session=True,
                stdin=spoken,
                stdout=asyncio.subprocess.PIPE,
                stderr=spoken,
            )
        except OSError as error:
            raise GitFailed(f"git cannot be started: {error.strerror or error}") from error


class Theirs(msgspec.Struct, frozen=True):
    """The user's repository around a folder: read as files, never asked."""

    top: Path
    """Its working tree; the folder itself where there is no repository."""
    index: Path | None = None
    exclude: Path | None = None


def repository_of(root: Path) -> Theirs:
    """The nearest repository from ``root`` upwards."""
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), None)
    if top is None:
        return Theirs(root)
    own = top / ".git"
    if own.is_file():  # a worktree or a submodule: the file says where
        with contextlib.suppress(OSError):
            own = top / os.fsdecode(own.read_bytes().removeprefix(b"gitdir:").strip())
    common = own
    with contextlib.suppress(OSError):
        common = own / os.fsdecode((own / "commondir").read_bytes().strip())
    index, exclude = own / "index", common / "info" / "exclude"
    return Theirs(top, index if index.is_file() else None, exclude if exclude.is_file() else None)


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    await process.wait()
