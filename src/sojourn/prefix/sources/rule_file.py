"""Reading one rule file, whatever it turns out to be (P-5)."""

import re
from pathlib import Path

import msgspec

from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.sources.decode import decode

FILE_MOST = 100 * 1024
"""Bytes that are read of one file."""
_LINK_MOST = 300
"""A file longer than this (characters) is rules, not the name of another file."""
_LINK_HOPS = 5
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$|^ {0,3}(?:`{3,}|~{3,}).*\Z", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INCLUDE = re.compile(r"(?:^|(?<=[\s(]))@((?:\\ |[^\s`\\()<>\"'])+)")


class RuleFile(msgspec.Struct, frozen=True):
    """A file that was read. ``path`` is where it was looked for, ``real`` what it really is."""

    path: Path
    real: Path
    text: str
    cut: bool = False
    """Longer than 100 KiB: ends at the last line that fits."""


def read(path: Path, within: Path) -> tuple[RuleFile | None, list[Diagnostic]]:
    """The file, a one-line link to another file of ``within`` followed. None = it could not be read: the reason is in
    the diagnostics."""
    notes: list[Diagnostic] = []
    current = path
    visited: set[Path] = set()
    for _ in range(_LINK_HOPS):
        real = current.resolve()
        if real in visited:
            return None, [*notes, _warning(f"links lead back to {real}", path)]
        visited.add(real)
        text, cut, reason = _load(current)
        if text is None:
            return None, [*notes, _warning(reason, current)]
        if reason:
            notes.append(_warning(reason, current))
        target = link_target(text, current)
        if target is None:
            return RuleFile(path, real, text, cut), notes
        if not _inside(target, within):
            return None, [*notes, _warning(f"its one line names {target}, which lies outside {within}: not read", path)]
        current = target
    return None, [*notes, _warning(f"more than {_LINK_HOPS} links in a row", path)]


def link_target(text: str, path: Path) -> Path | None:
    """The existing file that a one-line file names: what a symbolic link becomes where links are not supported."""
    name = text.strip()
    if not name or len(name) > _LINK_MOST or name.startswith("@"):
        return None
    target = path.parent / name
    try:
        return target if target.is_file() else None
    except (OSError, ValueError):
        return None


def includes(file: RuleFile, within: Path) -> tuple[list[RuleFile], list[Diagnostic]]:
    """The files that ``@path`` in the text names, code left aside; one level deep, inside ``within``.

    A name that is no file is taken for ordinary text, unless it stands alone on its line: then it is reported.
    """
    prose = _CODE.sub("", _FENCE.sub("", file.text))
    found: list[RuleFile] = []
    notes: list[Diagnostic] = []
    for match in _INCLUDE.finditer(prose):
        name = match[1].replace("\\ ", " ").rstrip(".,;:!?")
        target = Path(name).expanduser() if name.startswith("~/") else file.real.parent / name
        if not _is_file(target):
            line = prose[prose.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0]
            if line.strip(" \t-*+") == match[0].strip():
                notes.append(_warning(f"@{name} names no file", file.path))
        elif not _inside(target, within):
            notes.append(_warning(f"@{name} lies outside {within}: not read", file.path))
        else:
            text, cut, reason = _load(target)
            if reason:
                notes.append(_warning(reason, target))
            if text is not None:
                found.append(RuleFile(target, target.resolve(), text, cut))
    return found, notes


def _load(path: Path) -> tuple[str | None, bool, str]:
    """Text (None = unreadable), whether it was cut, and what there is to say."""
    try:
        with path.open("rb") as stream:
            data = stream.read(FILE_MOST + 1)
    except OSError as error:
        return None, False, f"could not be read: {error.strerror or error}"
    cut = len(data) > FILE_MOST
    decoded = decode(data[:FILE_MOST], cut=cut)
    if decoded is None:
        return None, False, "is not text in UTF-8, UTF-16 or GBK: not read"
    text, encoding = decoded
    if cut:
        text = text[: text.rfind("\n") + 1] or text
        return text, True, "is longer than 100 KiB: cut at a line"
    return text, False, "is not UTF-8: read as GBK" if encoding == "gb18030" else ""


def _inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _warning(message: str, path: Path) -> Diagnostic:
    return Diagnostic("warning", f"{path}: {message}", str(path))
