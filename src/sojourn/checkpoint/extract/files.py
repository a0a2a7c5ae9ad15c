"""Files and places in play, one line each, with the last thing done to them (K-10)."""

from typing import NamedTuple

from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import Act, Evidence
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip, plain
from sojourn.record import Touch

_PATH_KEYS = ("file_path", "path", "filePath", "filename", "notebook_path", "absolute_path")
_WRITES = ("write", "create", "save")
_EDITS = ("edit", "replace", "patch", "update", "insert")
_READS = ("read", "view", "open", "cat")
_NEW_KEYS = ("new_string", "new_str", "newString", "new_text", "insert_text")
_HINT = 110
"""Characters of the first changed line."""
_SPAN = 200
"""Lines: reads that lie closer than this are told as one range."""


class _Trace(NamedTuple):
    kind: str
    call: str
    """How the file was named in the call: ``Edit(file_path)``."""
    seq: int
    lines: tuple[int, int] | None
    hint: str
    touched: int
    changed: int


def files(evidence: Evidence) -> list[Found]:
    """A line for each file that a call read or changed: what was done last, where, the first line of the last change."""
    seen: dict[str, _Trace] = {}
    for act in evidence.acts:
        for touch in touches(act):
            before = seen.get(touch.path)
            changes = touch.kind != "read"
            call = _call(act, touch.path)
            hint = _first_change(act) if changes else ""
            if before is None:
                seen[touch.path] = _Trace(touch.kind, call, act.seq, touch.lines, hint, 1, int(changes))
                continue
            keep = before.kind != "read" and not changes
            seen[touch.path] = _Trace(
                before.kind if keep else touch.kind,
                before.call if keep else call,
                act.seq,
                before.lines if keep else _joined(before.lines, touch.lines),
                hint or before.hint,
                before.touched + 1,
                before.changed + int(changes),
            )
    return [
        Found(Section.FILES, _line(path, trace), (trace.seq,), 1.0 + min(trace.touched, 6) * 0.15 + min(trace.changed, 6) * 0.4)
        for path, trace in seen.items()
    ]


def touches(act: Act) -> tuple[Touch, ...]:
    """The files that a call touched: as recorded, else as its arguments say. A call that failed touched nothing."""
    if act.call.state == "error":
        return ()
    if act.call.touches:
        return act.call.touches
    path = next((value for key in _PATH_KEYS if isinstance(value := act.call.arguments.get(key), str) and value), "")
    name = act.name.lower()
    if not path or act.command:
        return ()
    if any(word in name for word in _WRITES):
        return (Touch(path, "write"),)
    if any(word in name for word in _EDITS):
        return (Touch(path, "edit"),)
    if any(word in name for word in _READS):
        return (Touch(path, "read"),)
    return ()


def _line(path: str, trace: _Trace) -> str:
    where = f" lines {trace.lines[0]}-{trace.lines[1]}" if trace.lines else ""
    hint = f": {trace.hint}" if trace.hint else ""
    return f"`{path}` {trace.call} m{trace.seq}{where}{hint}"


def _call(act: Act, path: str) -> str:
    """The call as it was made, its path left out: ``Edit(file_path)``."""
    for key, value in act.call.arguments.items():
        if value == path:
            return f"{act.name}({key})"
    return act.name


def _first_change(act: Act) -> str:
    """The first line that a change brought, long enough to say something."""
    for key in _NEW_KEYS:
        value = act.call.arguments.get(key)
        if isinstance(value, str):
            for line in value.splitlines():
                text = plain(line)
                if len(text) > 8 and text in " ".join(act.arguments.split()):
                    return clip(text, _HINT)
    return ""


def _joined(before: tuple[int, int] | None, now: tuple[int, int] | None) -> tuple[int, int] | None:
    if before is None or now is None:
        return now
    if now[0] - before[1] > _SPAN or before[0] - now[1] > _SPAN:
        return now
    return (min(before[0], now[0]), max(before[1], now[1]))
