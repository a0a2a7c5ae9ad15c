"""Output styles: Markdown that says how the agent writes; packaged ones, the user's, the project's (P-9)."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import msgspec

from sojourn.base import UserMistake
from sojourn.prefix.sources.decode import decode
from sojourn.prefix.sources.file_head import head, inside, real
from sojourn.prefix.sources.front_matter import front_matter
from sojourn.prefix.sources.levels import levels

MOST = 8_192
"""Bytes of a style: it is paid for in every step."""


class Style(msgspec.Struct, frozen=True):
    name: str
    text: str
    description: str = ""
    source: str = "sojourn"
    """``sojourn`` for a packaged one, else the path of its file."""


class _Unusable(msgspec.Struct, frozen=True):
    name: str
    reason: str


def load_style(name: str, cwd: Path, config_folder: Path, *, project: bool = True) -> Style:
    """The style of that name: the project's (``.sojourn/styles/``, nearest folder first), the user's (``styles/`` in the
    configuration folder), or a packaged one. ``project`` False: the project's are not looked at, because nobody trusts its
    folder (Y-6), and a style stands in a system block.

    Raises UserMistake that lists the known ones, or says why this one cannot be used.
    """
    found = _all(cwd, config_folder, project=project)
    style = found.get(name)
    if isinstance(style, Style):
        return style
    known = ", ".join(sorted(one.name for one in found.values() if isinstance(one, Style)))
    reason = f"the output style {name} cannot be used: {style.reason}" if style else f"there is no output style {name}"
    left_out = "" if project else " The folder's own are left out: it is not trusted."
    raise UserMistake(reason, next_step=f"Known: {known}.{left_out}")


def _all(cwd: Path, config_folder: Path, *, project: bool) -> dict[str, Style | _Unusable]:
    found: dict[str, Style | _Unusable] = {}
    for folder, within in (*(_folders(cwd) if project else ()), (config_folder / "styles", None)):
        for path in sorted(folder.glob("*.md")):
            style = _read(path, within)
            found.setdefault(style.name, style)
    for resource in sorted(files(__name__).iterdir(), key=lambda one: one.name):
        if resource.name.endswith(".md"):
            style = _parsed(resource.read_text("utf-8"), resource.name.removesuffix(".md"), "sojourn")
            found.setdefault(style.name, style)
    return found


def _folders(cwd: Path) -> Iterator[tuple[Path, Path | None]]:
    """The project's, nearest first, each with the folder that its files must not lead out of."""
    place = levels(cwd)
    here = real(cwd)
    for folder in reversed(place.folders) if place.root else (one for one in place.folders if one == here):
        yield folder / ".sojourn" / "styles", place.root or here


def _read(path: Path, within: Path | None) -> Style | _Unusable:
    if within is not None and not inside(path, within):
        return _Unusable(path.stem, f"{path} leads out of {within}")
    try:
        found = head(path, MOST)
    except OSError as error:
        return _Unusable(path.stem, f"{path} could not be read: {error.strerror or error}")
    decoded = decode(found.data, cut=found.cut)
    if decoded is None:
        return _Unusable(path.stem, f"{path} is not text in UTF-8, UTF-16 or GBK")
    if found.cut:
        return _Unusable(path.stem, f"{path} is longer than {MOST} bytes")
    return _parsed(decoded[0], path.stem, str(path))


def _parsed(text: str, stem: str, source: str) -> Style | _Unusable:
    front = front_matter(text)
    name = front.fields.get("name", "").strip() or stem
    if not front.body.strip():
        return _Unusable(name, f"{source} says nothing")
    return Style(name, front.body, " ".join(front.fields.get("description", "").split()), source)
