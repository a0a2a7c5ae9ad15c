"""Which files a foreign tool call read or changed, as far as its name and arguments tell (R-3)."""

import re
from typing import Any, Literal

from sojourn.importers.fields import string
from sojourn.record import Touch

Kind = Literal["read", "edit", "write"]

_KINDS: dict[str, Kind] = {
    "read": "read",
    "readfile": "read",
    "view": "read",
    "viewfile": "read",
    "viewimage": "read",
    "notebookread": "read",
    "edit": "edit",
    "editfile": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "replace": "edit",
    "strreplace": "edit",
    "write": "write",
    "writefile": "write",
    "createfile": "write",
    "savefile": "write",
}
_EDITOR_COMMANDS: dict[str, Kind] = {
    "view": "read",
    "create": "write",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
_PATH_KEYS = ("file_path", "path", "absolute_path", "notebook_path", "filePath", "filename", "file")
_PATCH_START = "*** Begin Patch"
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)


def touches(name: str, arguments: dict[str, Any], raw: str = "") -> tuple[Touch, ...]:
    """The files named by a call, in the order of its arguments; ``()`` where it names none."""
    plain = name.lower().replace("_", "").replace("-", "")
    patches = [raw, *_texts(arguments)]
    for patch in patches:
        if _PATCH_START in patch:
            return tuple(Touch(path, "write" if verb == "Add" else "edit") for verb, path in _PATCH_FILE.findall(patch))
    if plain in ("strreplaceeditor", "strreplacebasededittool", "fileeditor"):
        kind = _EDITOR_COMMANDS.get(string(arguments.get("command")))
    else:
        kind = _KINDS.get(plain)
    path = next((string(arguments[key]) for key in _PATH_KEYS if string(arguments.get(key))), "")
    if kind is None or not path:
        return ()
    return (Touch(path, kind, _lines(arguments) if kind == "read" else None),)


def _texts(arguments: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for value in arguments.values():
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found.extend(item for item in value if isinstance(item, str))
    return found


def _lines(arguments: dict[str, Any]) -> tuple[int, int] | None:
    span = arguments.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(type(end) is int for end in span) and 0 < span[0] <= span[1]:
        return span[0], span[1]
    limit = arguments.get("limit")
    first = arguments.get("offset", 1)
    if type(limit) is not int or type(first) is not int or limit < 1:
        return None
    first = max(1, first)
    return first, first + limit - 1
