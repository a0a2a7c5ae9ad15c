"""Agent Skills: folders with a ``SKILL.md``, of the project and of the user (P-6)."""

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec

from sojourn.base import UserMistake
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.sources.decode import decode
from sojourn.prefix.sources.file_head import head, inside, real
from sojourn.prefix.sources.front_matter import FrontMatter, front_matter
from sojourn.prefix.sources.levels import levels

BODY_MOST = 100_000
"""Bytes of a ``SKILL.md`` that are read when it is loaded."""
_FRONT_MOST = 8_192
"""Bytes in which its front matter must end."""
_FOLDERS_MOST = 1_000
"""Of one root: the first ones by name are looked into."""
_DESCRIPTION_MOST = 1_024
"""Characters, as the format says; more is cut."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}")
_PROJECT_ROOTS = (".sojourn/skills", ".agents/skills")
"""Ours and the one that agents share. Folders of other products (``.claude/skills``) are theirs: link them to one of these."""

Level = Literal["project", "user"]


class Skill(msgspec.Struct, frozen=True):
    """What is known of a skill before it is loaded."""

    name: str
    description: str
    path: Path
    """Its ``SKILL.md``."""
    shown: str
    """The path as the listing shows it: short where it can be."""
    level: Level
    within: Path | None = None
    """The real file must lie here; None = the user's own, which may be a link to anywhere."""


class SkillText(msgspec.Struct, frozen=True):
    name: str
    folder: Path
    """What paths in the text are relative to."""
    text: str
    """Without front matter. Not escaped: results of tools are escaped where they are taken in (M-R4)."""
    cut: bool
    """The file is longer than 100,000 bytes: ends at a line."""


def find_skills(cwd: Path, config_folder: Path, home: Path) -> tuple[tuple[Skill, ...], tuple[Diagnostic, ...]]:
    """Every skill once, sorted by name, and what a person should know. Nothing that a skill holds makes this fail.

    Of two skills with one name the nearer counts: the working folder's, up to the git root's (outside a repository the
    working folder only), then the user's.
    """
    found: dict[str, Skill] = {}
    seen: set[Path] = set()
    notes: list[Diagnostic] = []
    for root, level, within in _roots(cwd, config_folder, home):
        for folder in _folders(root, notes):
            skill = _skill(folder, level, within, _base(cwd, home, level), notes)
            if skill is None or real(skill.path) in seen:
                continue
            seen.add(real(skill.path))
            other = found.setdefault(skill.name, skill)
            if other is skill:
                notes.append(Diagnostic("loaded", f"{skill.path}: skill {skill.name} ({level})", str(skill.path)))
            else:
                notes.append(_warning(f"the name {skill.name} is taken by {other.path}: left out", skill.path))
    return tuple(sorted(found.values(), key=lambda one: (one.name.casefold(), one.name))), tuple(notes)


def load_skill(skills: Iterable[Skill], name: str) -> SkillText:
    """The skill's text as it is on disk now, at most 100,000 bytes of the file.

    Raises UserMistake that lists the known names, or says why the file cannot be read.
    """
    known = {skill.name: skill for skill in skills}
    skill = known.get(name.removeprefix("/"))
    if skill is None:
        near = get_close_matches(name, known, n=3) or list(known)[:20]
        raise UserMistake(
            f"there is no skill {name}", next_step=f"Known: {', '.join(near)}." if near else "There are no skills here."
        )
    text, cut, reason = _text(skill.path, skill.within, BODY_MOST)
    if text is None:
        raise UserMistake(f"the skill {skill.name} cannot be read: {reason}", next_step=f"Look at {skill.path}.")
    body = front_matter(text).body
    if cut:
        body = body[: body.rfind("\n") + 1].rstrip("\n") or body
    return SkillText(skill.name, skill.path.parent, body, cut)


def _roots(cwd: Path, config_folder: Path, home: Path) -> Iterator[tuple[Path, Level, Path | None]]:
    place = levels(cwd)
    here = real(cwd)
    folders = reversed(place.folders) if place.root else [folder for folder in place.folders if folder == here]
    for folder in folders:
        for name in _PROJECT_ROOTS:
            yield folder / name, "project", place.root or here
    yield config_folder / "skills", "user", None
    yield home / ".agents" / "skills", "user", None


def _base(cwd: Path, home: Path, level: Level) -> tuple[Path, str]:
    """What shown paths are relative to, and what stands for it."""
    return (real(cwd), "") if level == "project" else (home, "~/")


def _folders(root: Path, notes: list[Diagnostic]) -> list[Path]:
    """The folders that have a ``SKILL.md``."""
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        notes.append(_warning(f"skills could not be looked for: {error.strerror or error}", root))
        return []
    if len(names) > _FOLDERS_MOST:
        notes.append(_warning(f"has {len(names)} entries: the first {_FOLDERS_MOST} are looked into", root))
    return [root / name for name in names[:_FOLDERS_MOST] if os.path.lexists(root / name / "SKILL.md")]


def _skill(folder: Path, level: Level, within: Path | None, base: tuple[Path, str], notes: list[Diagnostic]) -> Skill | None:
    path = folder / "SKILL.md"
    text, _, reason = _text(path, within, _FRONT_MOST)
    front = front_matter(text) if text is not None else FrontMatter({}, "")
    if front.problem:
        notes.append(_warning(front.problem, path))
    name = front.fields.get("name", folder.name).strip()
    description = " ".join(front.fields.get("description", "").split())
    if text is not None:
        reason = _fault(name, description)
    if reason:
        notes.append(_warning(f"skill left out: {reason}", path))
        return None
    if len(description) > _DESCRIPTION_MOST:
        notes.append(_warning(f"its description is longer than {_DESCRIPTION_MOST} characters: cut", path))
    when = " ".join(front.fields.get("when_to_use", "").split())
    whole = f"{description} {when}".strip()[:_DESCRIPTION_MOST]
    return Skill(name, whole, path, _shown(path, *base), level, within)


def _fault(name: str, description: str) -> str:
    if not _NAME.fullmatch(name):
        return f"{name[:80]!r} is no name (letters, digits, - _ . :, at most 64)"
    return "" if description else "its front matter has no description, so nobody could know what it is for"


def _shown(path: Path, base: Path, instead: str) -> str:
    return f"{instead}{path.relative_to(base).as_posix()}" if path.is_relative_to(base) else str(path)


def _text(path: Path, within: Path | None, most: int) -> tuple[str | None, bool, str]:
    """Text (None = unreadable), whether it was cut, and why it cannot be read."""
    if within is not None and not inside(path, within):
        return None, False, f"it leads out of {within}"
    try:
        found = head(path, most)
    except OSError as error:
        return None, False, f"could not be read: {error.strerror or error}"
    decoded = decode(found.data, cut=found.cut)
    if decoded is None:
        return None, False, "it is not text in UTF-8, UTF-16 or GBK"
    return decoded[0], found.cut, ""


def _warning(message: str, path: Path) -> Diagnostic:
    return Diagnostic("warning", f"{path}: {message}", str(path))
