"""Reading one rule file, whatever it turns out to be (P-5)."""

import os
import re
from hashlib import sha256
from pathlib import Path

import msgspec

from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.sources.decode import decode
from sojourn.prefix.sources.file_head import head, inside, real

FILE_MOST = 100 * 1024
"""Bytes that are read of one file."""
_LINK_MOST = 300
"""A file longer than this (characters) is rules, not the name of another file."""
_LINK_HOPS = 5
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$|^ {0,3}(?:`{3,}|~{3,}).*\Z", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INCLUDE = re.compile(r"(?:^|(?<=[\s(]))@((?:\\ |[^\s`\\()<>\"'])+)")


class RuleStamp(msgspec.Struct, frozen=True):
    """What a file was when it was read: enough to see later that it changed. Plain values, so that a host can store it."""

    path: str
    """Where the rules were looked for."""
    at: str
    """The file itself: the same, or where a one-line link led."""
    size: int
    modified: int
    """Nanoseconds since 1970."""
    sha256: str
    """Of the bytes that were read."""


class RuleFile(msgspec.Struct, frozen=True):
    """A file that was read. ``path`` is where it was looked for, ``real`` what it really is."""

    path: Path
    real: Path
    text: str
    cut: bool
    """Longer than 100 KiB: ends at the last line that fits."""
    stamps: tuple[RuleStamp, ...] = ()
    """Of the file, and of the one-line links that led to it."""


def read(path: Path, within: Path | None) -> tuple[RuleFile | None, list[Diagnostic]]:
    """The file, a one-line link to another file followed; never one whose real place is outside ``within``.

    None for the file = it could not be read: the reason is in the diagnostics. None for ``within``: a file of the
    user's own, which may lie anywhere.
    """
    notes: list[Diagnostic] = []
    stamps: list[RuleStamp] = []
    current = path
    visited: set[Path] = set()
    for _ in range(_LINK_HOPS):
        here = real(current)
        if here in visited:
            return None, [*notes, _warning(f"links lead back to {here}", path)]
        visited.add(here)
        if within is not None and not inside(current, within):
            # A cloned repository could put any file of the user's before the model.
            return None, [*notes, _warning(f"leads out of {within} to {here}, which lies outside: not read", path)]
        loaded, reason = _load(current)
        if reason:
            notes.append(_warning(reason, current))
        if loaded is None:
            return None, notes
        stamps.append(msgspec.structs.replace(loaded.stamp, path=str(path)))
        target = link_target(loaded.text, current)
        if target is None:
            return RuleFile(path, here, loaded.text, loaded.cut, tuple(stamps)), notes
        current = target
    return None, [*notes, _warning(f"more than {_LINK_HOPS} links in a row", path)]


def link_target(text: str, path: Path) -> Path | None:
    """The existing file that a one-line file names: what a symbolic link becomes where links are not supported."""
    name = text.strip()
    if len(name) > _LINK_MOST or name.startswith("@") or "\n" in name:
        return None
    target = path.parent / name
    return target if _is_file(target) else None


def includes(file: RuleFile, within: Path) -> tuple[list[RuleFile], list[Diagnostic]]:
    """The files that ``@path`` in the text names, code left aside; one level deep, inside ``within``.

    A name that is no file is taken for ordinary text, unless it stands alone on its line: then it is reported.
    """
    prose = _CODE.sub("", _FENCE.sub("", file.text))
    found: list[RuleFile] = []
    notes: list[Diagnostic] = []
    for match in _INCLUDE.finditer(prose):
        name = match[1].replace("\\ ", " ").rstrip(".,;:!?")
        target = Path(os.path.expanduser(name)) if name.startswith("~/") else file.real.parent / name
        if not _is_file(target):
            line = prose[prose.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0]
            if line.strip(" \t-*+") == match[0].strip():
                notes.append(_warning(f"@{name} names no file", file.path))
        elif not inside(target, within):
            notes.append(_warning(f"@{name} lies outside {within}: not read", file.path))
        else:
            loaded, reason = _load(target)
            if reason:
                notes.append(_warning(reason, target))
            if loaded is not None:
                found.append(RuleFile(target, real(target), loaded.text, loaded.cut, (loaded.stamp,)))
    return found, notes


class _Loaded(msgspec.Struct, frozen=True):
    text: str
    cut: bool
    stamp: RuleStamp


def _load(path: Path) -> tuple[_Loaded | None, str]:
    """The file (None = unreadable), and what there is to say."""
    try:
        found = head(path, FILE_MOST)
    except OSError as error:
        return None, f"could not be read: {error.strerror or error}"
    decoded = decode(found.data, cut=found.cut)
    if decoded is None:
        return None, "is not text in UTF-8, UTF-16 or GBK: not read"
    text, encoding = decoded
    stamp = RuleStamp(str(path), str(path), found.size, found.modified, sha256(found.data).hexdigest())
    if found.cut:
        text = text[: text.rfind("\n") + 1] or text
        return _Loaded(text, True, stamp), "is longer than 100 KiB: cut at a line"
    return _Loaded(text, False, stamp), "is not UTF-8: read as GBK" if encoding == "gb18030" else ""


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _warning(message: str, path: Path) -> Diagnostic:
    return Diagnostic("warning", f"{path}: {message}", str(path))
