"""Rules that a user keeps for other agents, and their copy into ours (P-5)."""

from pathlib import Path

from sojourn.base import UserMistake, WorkFailed
from sojourn.config.paths import ensure_private
from sojourn.prefix.sources.rule_file import read

_PLACES = (
    ".claude/CLAUDE.md",
    ".codex/AGENTS.md",
    ".config/opencode/AGENTS.md",
    ".gemini/GEMINI.md",
    ".qwen/QWEN.md",
    ".zcode/AGENTS.md",
    ".pi/agent/AGENTS.md",
    ".factory/AGENTS.md",
    ".config/goose/.goosehints",
)
USER_RULES = "AGENTS.md"
"""The user's own rules, in the configuration folder."""


def found_elsewhere(home: Path) -> tuple[Path, ...]:
    """User-level rule files of other agents that have something in them, each real file once, in a fixed order."""
    found: dict[Path, Path] = {}
    for place in _PLACES:
        path = home / place
        if path.is_file():
            file, _ = read(path, None)
            if file is not None and file.text.strip():
                found.setdefault(file.real, path)
    return tuple(found.values())


def copy_rules(path: Path, config_folder: Path) -> Path:
    """Writes the rules as ``AGENTS.md`` in our configuration folder (UTF-8, readable by their owner alone); its path.

    Never replaces what is there. Raises UserMistake for that, for a file that cannot be read and for one over 100 KiB;
    WorkFailed where the copy cannot be written.
    """
    file, notes = read(path, None)
    if file is None or file.cut:
        raise UserMistake(f"The rules were not copied: {notes[-1].message}", next_step="Copy the part that matters by hand.")
    target = ensure_private(config_folder) / USER_RULES
    try:
        with target.open("x", encoding="utf-8", newline="\n") as stream:
            target.chmod(0o600)
            stream.write(file.text)
    except FileExistsError:
        raise UserMistake(
            f"The rules were not copied: {target} is there already",
            next_step=f"Edit it, or move it away, then copy {path} again.",
        ) from None
    except OSError as error:
        raise WorkFailed(
            f"The rules could not be written to {target}: {error.strerror or error}", next_step="Copy them by hand."
        ) from error
    return target
