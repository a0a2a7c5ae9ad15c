"""Where each document lives (K-1): the one function for a path, and its inverse.

```
sessions/<sid>/checkpoint.md   notes.md   tasks/<tid>/progress.md
projects/<project>/MEMORY.md   facts/<name>.md
global/MEMORY.md               facts/<name>.md
```
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Literal

from sojourn.base import UserMistake
from sojourn.memory.types import Belonging, Locator, Scope

Shared = Literal["project", "global"]
"""Scopes that outlive a session."""

FOLDERS: dict[Scope, str] = {"session": "sessions", "project": "projects", "global": "global"}
_SCOPES: dict[str, Scope] = {folder: scope for scope, folder in FOLDERS.items()}

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_NAME = re.compile(r"\w[\w.-]{0,127}")
"""Names of facts and of project folders may be in any language."""
_DEVICE = re.compile(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
"""Names that are devices on Windows."""
_NAME_BYTES = 200
"""A file system takes 255 bytes for a name."""

_GIT = re.compile(r"git:([0-9a-f]{7,64})")
_GIT_FOLDER = re.compile(r"git-([0-9a-f]{7,64})")
_DRIVE = re.compile(r"[A-Za-z]:(?=/|$)")
_ODD = re.compile(r"[^\w-]+")
_SLUG_CHARACTERS = 40


def checkpoint(session_id: str) -> Locator:
    """The rendering of a session's newest checkpoint. UserMistake, here and below: an id that cannot be part of a path."""
    return _sound(Locator("session", session_id, "checkpoint"))


def notes(session_id: str) -> Locator:
    """A session's notes."""
    return _sound(Locator("session", session_id, "notes"))


def progress(session_id: str, task_id: str) -> Locator:
    """What the actor of a task writes down."""
    return _sound(Locator("session", session_id, f"tasks/{task_id}/progress"))


def project_memory(project_id: str) -> Locator:
    """A project's durable knowledge."""
    return _sound(Locator("project", project_id, "MEMORY"))


def global_memory() -> Locator:
    """What holds for every project."""
    return Locator("global", "", "MEMORY")


def fact(scope: Shared, scope_id: str, name: str) -> Locator:
    """A file of one fact; its index line stands in the MEMORY of the same scope."""
    return _sound(Locator(scope, scope_id, f"facts/{name}"))


def index_of(locator: Locator) -> Locator:
    """The MEMORY of the document's scope."""
    return Locator(locator.scope, locator.scope_id, "MEMORY")


def path_of(root: Path, locator: Locator) -> Path:
    """The document's path under the root (K-1). UserMistake: an id or key that is none."""
    return root.joinpath(*parts_of(locator))


def locator_of(root: PurePath | str, path: PurePath | str, known: Iterable[str] = ()) -> Locator | None:
    """The inverse of ``path_of``, by names alone; None = no document's path.

    Absolute paths must lie below the root, others count from there; backslashes, drive letters and case (of a Windows
    root) are evened out, ``..`` is refused. A project's folder gives its id where the folder's name shows it (``git-...``)
    or one of the ``known`` ids makes that name; else the name stands for the id: ``path_of`` takes it as one.
    """
    below = _below(str(root), str(path))
    if not below or not below[-1].endswith(".md"):
        return None
    scope = _SCOPES.get(below[0])
    inner = (*below[1:-1], below[-1].removesuffix(".md"))
    if scope is None:
        return None
    scope_id, key = ("", inner) if scope == "global" else (inner[0], inner[1:])
    if scope == "project":
        scope_id = _project_of_folder(scope_id, known)
    locator = Locator(scope, scope_id, "/".join(key))
    try:
        return locator if parts_of(locator) == below else None
    except UserMistake:
        return None


def parts_of(locator: Locator) -> tuple[str, ...]:
    """The path's parts below the root. UserMistake as ``path_of``."""
    *folders, name = _key_parts(locator)
    return (*top_parts(locator.scope, locator.scope_id), *folders, f"{name}.md")


def top_parts(scope: Scope, scope_id: str) -> tuple[str, ...]:
    """The folder that holds all of a scope's documents."""
    match scope:
        case "session":
            return (FOLDERS[scope], _plain(scope_id, "session", _ID))
        case "project":
            return (FOLDERS[scope], folder_of_project(scope_id))
        case _:
            if scope_id:
                raise UserMistake(f"global memory has no id, not {scope_id!r}", next_step="Leave it out.")
            return (FOLDERS["global"],)


def tops(belonging: Belonging, scope: Scope | None = None) -> tuple[str, ...]:
    """Folders below the root that a session may look through: its own, its project's, the global one; none for an empty id."""
    wanted: list[tuple[Scope, str]] = [("session", belonging.session_id), ("project", belonging.project_id), ("global", "")]
    return tuple(
        "/".join(top_parts(one, scope_id)) for one, scope_id in wanted if scope in (None, one) and (scope_id or one == "global")
    )


def may_hold(folder: str) -> bool:
    """Whether documents, or folders with documents, can lie directly in this folder below the root (``global/facts``)."""
    match folder.split("/"):
        case ["global" | "sessions" | "projects"] | ["sessions" | "projects", _] | ["global", "facts"]:
            return True
        case ["projects", _, "facts"] | ["sessions", _, "tasks"] | ["sessions", _, "tasks", _]:
            return True
        case _:
            return False


def folder_of_project(project_id: str) -> str:
    """The name of a project's folder: ``git-<hash>``, or for a folder path its last part and 8 hex digits of its SHA-256.

    Two ids of one folder (other slashes, other case on Windows) give one name. A plain name stands for itself, so that the
    name of a project's folder is an id too. UserMistake: neither of these.
    """
    if found := _GIT.fullmatch(project_id):
        return f"git-{found[1]}"
    normal = unicodedata.normalize("NFC", project_id)
    if _is_windows(normal):
        normal = normal.replace("\\", "/").casefold()
    if not normal.startswith("/") and not _DRIVE.match(normal):
        return _plain(normal, "project", _NAME)
    normal = posixpath.normpath(normal)
    normal = f"/{normal.lstrip('/')}" if normal.startswith("/") else normal
    slug = _ODD.sub("-", posixpath.basename(normal))[:_SLUG_CHARACTERS].strip("-") or "project"
    return f"{slug}-{sha256(normal.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _sound(locator: Locator) -> Locator:
    parts_of(locator)
    return locator


def _key_parts(locator: Locator) -> tuple[str, ...]:
    key = tuple(locator.key.split("/"))
    match locator.scope, key:
        case "session", ("checkpoint" | "notes",):
            return key
        case "session", ("tasks", task_id, "progress"):
            return ("tasks", _plain(task_id, "task", _ID), "progress")
        case "project" | "global", ("MEMORY",):
            return key
        case "project" | "global", ("facts", name):
            return ("facts", _plain(name, "fact", _NAME))
        case _:
            raise UserMistake(
                f"there is no document {locator.key!r} in {locator.scope} memory",
                next_step="A session has notes, checkpoint, tasks/<id>/progress; project and global: MEMORY, facts/<name>.",
            )


def _plain(name: str, kind: str, rule: re.Pattern[str]) -> str:
    long = len(name.encode("utf-8", "surrogatepass")) > _NAME_BYTES
    odd = not rule.fullmatch(name) or unicodedata.normalize("NFC", name) != name
    if odd or long or _DEVICE.fullmatch(name) or name.endswith("."):
        raise UserMistake(
            f"{kind} id {name!r} cannot be part of a path",
            next_step="Ids have letters, digits, '_', '-' and '.', begin with neither of the last two, at most 128 of them.",
        )
    return name


def _project_of_folder(folder: str, known: Iterable[str]) -> str:
    if found := _GIT_FOLDER.fullmatch(folder):
        return f"git:{found[1]}"
    return next((one for one in known if one and folder_of_project(one) == folder), folder)


def _is_windows(path: str) -> bool:
    return path.startswith("\\\\") or bool(_DRIVE.match(path.replace("\\", "/")))


def _below(root: str, path: str) -> tuple[str, ...] | None:
    """The parts of the path behind the root's; None = it is not below it."""
    inner, base = _even(path), _even(root)
    absolute = inner.startswith("/") or bool(_DRIVE.match(inner))
    parts = tuple(part for part in inner.split("/") if part not in ("", "."))
    if not absolute:
        return parts
    above = tuple(part for part in posixpath.normpath(base).split("/") if part not in ("", "."))
    start = parts[: len(above)]
    if _is_windows(base) or _is_windows(root):
        above, start = tuple(map(str.casefold, above)), tuple(map(str.casefold, start))
    return parts[len(above) :] if start == above else None


def _even(path: str) -> str:
    path = unicodedata.normalize("NFC", path).replace("\\", "/")
    return path.removeprefix("//?/")
