"""The rules of the user and of the project: found, read, shared out (P-5)."""

from pathlib import Path

import msgspec

from sojourn.config.settings import Instructions as InstructionSettings
from sojourn.meter import estimate_text, fit_head, total
from sojourn.prefix.diagnostic import Diagnostic
from sojourn.prefix.escape import escape_reminders
from sojourn.prefix.section import PrefixSection, section
from sojourn.prefix.sources.levels import levels
from sojourn.prefix.sources.rule_file import RuleFile, includes, read
from sojourn.prefix.texts import text

_FALLBACK = "CLAUDE.md"


class Rules(msgspec.Struct, frozen=True):
    """One file that was found, and where it belongs."""

    file: RuleFile
    depth: int
    """0 = the user's, then from the root down: the higher, the nearer."""
    level: str
    """``user``, ``git root``, ``folder``, ``working folder``, ``included by <path>``."""


def instructions(
    cwd: Path, settings: InstructionSettings, budget_tokens: int, config_folder: Path
) -> tuple[PrefixSection | None, tuple[Diagnostic, ...]]:
    """The section with every rule file under its own heading, nearest last, and what was looked for, loaded and wrong.

    The section is at most ``budget_tokens`` (uncalibrated): the nearest file gets its room first. None = no rules.
    """
    found, notes = find(cwd, settings, config_folder)
    if not found:
        return None, tuple(notes)
    blocks, cuts = _share(found, budget_tokens)
    notes += cuts
    if not blocks:
        return None, tuple(notes)
    body = "\n\n".join(["# Rules", text("precedence"), *blocks])
    return section("instructions", "instructions", "context", "dynamic", body), tuple(notes)


def find(cwd: Path, settings: InstructionSettings, config_folder: Path) -> tuple[list[Rules], list[Diagnostic]]:
    """Every rule file once, farthest first: the user's, then each level down to the working folder."""
    place = levels(cwd)
    search = _Search(settings)
    search.folder(config_folder, "user", config_folder, fallback=False)
    for folder in place.unsafe:
        search.leave_out(folder)
    for folder in place.folders:
        level = "git root" if folder == place.root else "working folder" if folder == cwd.resolve() else "folder"
        search.folder(folder, level, place.root or folder, fallback=True)
    return search.with_includes(), search.notes


class _Search:
    """The walk over the folders: what was found so far, each real file once."""

    def __init__(self, settings: InstructionSettings) -> None:
        self._settings = settings
        self._seen: set[Path] = set()
        self._depth = -1
        self._found: list[tuple[Rules, Path]] = []
        """With the folder that its includes must lie in."""
        self.notes: list[Diagnostic] = []

    def folder(self, folder: Path, level: str, within: Path, *, fallback: bool) -> None:
        self._depth += 1
        present = False
        for name in self._settings.names:
            present |= self._candidate(folder / name, level, within)
        mode = self._settings.claude_md if fallback and _FALLBACK not in self._settings.names else "off"
        if mode == "also" or (mode == "fallback" and not present):
            self._candidate(folder / _FALLBACK, level, within)

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
        names = dict.fromkeys((*self._settings.names, *(() if self._settings.claude_md == "off" else (_FALLBACK,))))
        for name in names:
            if _exists(folder / name):
                reason = f"{folder / name}: left out, because other users can write to {folder}"
                self.notes.append(Diagnostic("warning", reason, str(folder / name)))

    def _candidate(self, path: Path, level: str, within: Path) -> bool:
        """Whether the file is there, readable or not."""
        if not _exists(path):
            self.notes.append(Diagnostic("absent", f"{path}: looked for, not there", str(path)))
            return False
        file, notes = read(path, within)
        self.notes += notes
        if file is not None and within is not None and not file.real.is_relative_to(within.resolve()):
            # A cloned repository could put any file of the user's before the model.
            self.notes.append(Diagnostic("warning", f"{path}: leads out of {within} to {file.real}, not read", str(path)))
            return True
        if file is not None and self._new(file, level):
            self._found.append((Rules(file, self._depth, level), within))
        return True

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


def _share(found: list[Rules], budget: int) -> tuple[list[str], list[Diagnostic]]:
    """The blocks that fit, in order, and a warning for each that is cut. The nearest is served first."""
    room = budget - _tokens(f"# Rules\n\n{text('precedence')}\n\n")
    blocks: dict[int, str] = {}
    notes: list[Diagnostic] = []
    for index, rules in sorted(enumerate(found), key=lambda pair: (-pair[1].depth, pair[0])):
        heading = f"## {rules.file.path} ({rules.level})"
        body = escape_reminders(rules.file.text.strip("\n"))
        if rules.file.cut:
            body += "\n[Cut here: the file is longer than 100 KiB.]"
        block = f"{heading}\n\n{body}"
        if _tokens(block) + 1 > room:
            block = _cut(heading, body, room - 1)
            left = f"cut to {_tokens(block)} tokens" if block else "left out"
            notes.append(
                Diagnostic(
                    "warning", f"{rules.file.path}: {left}, the rules' budget of {budget} tokens is full", str(rules.file.path)
                )
            )
        if block:
            room -= _tokens(block) + 1
            blocks[index] = block
    return [blocks[index] for index in sorted(blocks)], notes


def _cut(heading: str, body: str, room: int) -> str:
    """The block cut at a line, with a marker; "" where not even heading and marker fit."""
    marker = "[Cut here to fit: read the rest of the file when it matters.]"
    frame = f"{heading}\n\n\n{marker}"
    if _tokens(frame) > room:
        return ""
    kept = fit_head(body, room - _tokens(frame) - 1).rstrip("\n")
    block = f"{heading}\n\n{kept}\n{marker}" if kept else f"{heading}\n\n{marker}"
    return block if _tokens(block) <= room else f"{heading}\n\n{marker}"


def _tokens(body: str) -> int:
    return total(estimate_text(body))


def _exists(path: Path) -> bool:
    """Also for a link that leads nowhere and a folder of that name: those are worth a word."""
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True
