"""Short names for what the script does with the tools."""

from collections.abc import Sequence

from sojourn.models.scripted import Check, Look, Planned, Use


def step(say: str, *uses: Use, looks: Sequence[Look] = ()) -> Planned:
    """One answer; without calls it ends the turn."""
    return Planned(say, uses, tuple(looks))


def read(path: str, offset: int = 0, limit: int = 0) -> Use:
    arguments: dict[str, object] = {"path": path}
    if limit:
        arguments |= {"offset": offset, "limit": limit}
    return Use("read", arguments)


def glob(pattern: str, *checks: str) -> Use:
    return Use("glob", {"pattern": pattern}, _checks(checks))


def grep(pattern: str, *checks: str, path: str = "") -> Use:
    return Use("grep", {"pattern": pattern} | ({"path": path} if path else {}), _checks(checks))


def edit(path: str, old: str, new: str) -> Use:
    """Replaces the only place where ``old`` stands."""
    return Use("edit", {"path": path, "edits": [{"old": old, "new": new}]})


def write(path: str, content: str) -> Use:
    return Use("write", {"path": path, "content": content})


def bash(command: str, *checks: str, fails: bool = False) -> Use:
    """``fails``: it has to end with another exit code than 0."""
    return Use("bash", {"command": command}, _checks(checks), fails=fails)


def log(first: int, last: int) -> Use:
    """Lines of last night's log."""
    return bash(f"sed -n '{first},{last}p' var/log/lockerd.log")


def commit(subject: str, *, git: bool) -> tuple[Planned, ...]:
    """The commit, where git is there."""
    return (step("", bash(f"./commit '{subject}'", "^[0-9a-f]{7,} ")),) if git else ()


def _checks(patterns: Sequence[str]) -> tuple[Check, ...]:
    return tuple(Check(pattern) for pattern in patterns)
