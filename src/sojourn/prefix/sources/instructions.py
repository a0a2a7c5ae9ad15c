"""The rules of the user and of the project: found, read, shared out (P-5)."""

from pathlib import Path

import msgspec

from sojourn.config.settings import Instructions as InstructionSettings
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.section import PrefixSection, section
from sojourn.prefix.sources.file_head import real
from sojourn.prefix.sources.levels import Levels, levels
from sojourn.prefix.sources.rule_file import RuleFile, includes, read
from sojourn.prefix.sources.share import Rules, share
from sojourn.prefix.texts import text

_FALLBACK = "CLAUDE.md"


class Found(msgspec.Struct, frozen=True):
    """Every rule file, whole, farthest first."""

    root: Path | None = None
    """The git root; None = outside a repository."""
    rules: tuple[Rules, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


class Instructions(msgspec.Struct, frozen=True):
    """What was found: the section for the prefix, every file that was read, what a person should know."""

    section: PrefixSection | None = None
    """At most the budget, the nearest file first; None = no rules, or no room for any."""
    files: tuple[RuleFile, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


def within_budget(found: Found, budget_tokens: int) -> Instructions:
    """Every file under its own heading, nearest last, in at most ``budget_tokens`` (uncalibrated). Pure."""
    files = tuple(rules.file for rules in found.rules)
    if not files:
        return Instructions(notes=found.notes)
    opening = f"# Rules\n\n{text('precedence')}"
    blocks, cuts = share(found.rules, budget_tokens, opening)
    notes = (*found.notes, *cuts)
    if not blocks:
        return Instructions(None, files, notes)
    body = "\n\n".join([opening, *blocks])
    return Instructions(section("instructions", "instructions", "context", "dynamic", body), files, notes)


def find(cwd: Path, settings: InstructionSettings, config_folder: Path) -> Found:
    """Every rule file once, farthest first: the user's, then each level down to the working folder."""
    place = levels(cwd)
    search = _Search(settings)
    search.folder(config_folder, "user", None)
    for folder in place.unsafe:
        search.leave_out(folder)
    for folder in place.folders:
        search.folder(folder, _level(folder, cwd, place), place.root or folder)
    rules = tuple(search.with_includes())
    return Found(place.root, rules, tuple(search.notes))


def names(settings: InstructionSettings) -> tuple[str, ...]:
    """Every file name that rules may have in a project's folder, each once."""
    return tuple(dict.fromkeys((*settings.names, *(() if settings.claude_md == "off" else (_FALLBACK,)))))


def wanted_names(settings: InstructionSettings, present: frozenset[str]) -> tuple[str, ...]:
    """Those of ``present`` that are read, in order: ours, then ``CLAUDE.md`` as the setting has it."""
    ours = tuple(name for name in settings.names if name in present)
    if _FALLBACK in settings.names or _FALLBACK not in present:
        return ours
    return (*ours, _FALLBACK) if settings.claude_md == "also" or (settings.claude_md == "fallback" and not ours) else ours


def _level(folder: Path, cwd: Path, place: Levels) -> str:
    return "git root" if folder == place.root else "working folder" if folder == real(cwd) else "folder"


class _Search:
    """The walk over the folders: what was found so far, each real file once."""

    def __init__(self, settings: InstructionSettings) -> None:
        self._settings = settings
        self._seen: set[Path] = set()
        self._depth = -1
        self._found: list[tuple[Rules, Path]] = []
        """With the folder that its includes must lie in."""
        self.notes: list[Diagnostic] = []

    def folder(self, folder: Path, level: str, within: Path | None) -> None:
        """``within``: the files must lie there; None = the user's own folder, where links may lead anywhere."""
        self._depth += 1
        settings = self._settings if within else msgspec.structs.replace(self._settings, claude_md="off")
        present = frozenset(name for name in names(settings) if exists(folder / name))
        wanted = wanted_names(settings, present)
        for name in names(settings):
            path = folder / name
            if name in wanted:
                self._candidate(path, level, within)
            elif name not in present and not (name == _FALLBACK and settings.claude_md == "fallback" and wanted):
                self.notes.append(Diagnostic("absent", f"{path}: looked for, not there", str(path)))

    def with_includes(self) -> list[Rules]:
        """Every file followed by what it includes. Done last: a rule file of some level keeps its own place."""
        result: list[Rules] = []
        for rules, within in self._found:
            result.append(rules)
            included, notes = includes(rules.file, within)
            self.notes += notes
            level = f"included by {rules.file.path}"
            result += [Rules(file, rules.depth, level) for file in included if self._new(file, level)]
        return result

    def leave_out(self, folder: Path) -> None:
        for name in names(self._settings):
            if exists(folder / name):
                reason = f"{folder / name}: left out, because other users can write to {folder}"
                self.notes.append(Diagnostic("warning", reason, str(folder / name)))

    def _candidate(self, path: Path, level: str, within: Path | None) -> None:
        file, notes = read(path, within)
        self.notes += notes
        if file is not None and self._new(file, level):
            self._found.append((Rules(file, self._depth, level), within or file.real.parent))

    def _new(self, file: RuleFile, level: str) -> bool:
        """Whether it has something to say that was not said yet."""
        if file.real in self._seen:
            self.notes.append(
                Diagnostic("loaded", f"{file.path}: the same file as another one here, shown once", str(file.path))
            )
            return False
        self._seen.add(file.real)
        if not file.text.strip():
            self.notes.append(Diagnostic("warning", f"{file.path}: is empty", str(file.path)))
            return False
        really = "" if file.real == file.path else f", really {file.real}"
        self.notes.append(Diagnostic("loaded", f"{file.path}: {level}{really}", str(file.path)))
        return True


def exists(path: Path) -> bool:
    """Also for a link that leads nowhere and a folder of that name: those are worth a word."""
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True
