"""Which files were worked on lately, what was done to each and which of its lines are warm (W-3a)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from sojourn.record import File, Message, Text, ToolCall, Touch
from sojourn.window.file_text import FileText, patched, read_lines, replacements, written

LATELY = 60
"""Answers of the model that make up "lately"."""
MOST_FILES = 40
_FADES = 0.93
"""What is left of warmth and weight after an answer: a half after ten."""
_WEIGHTS = {"read": 1.0, "look": 0.7, "edit": 2.0, "write": 2.0, "change": 0.5}
_READ_WARMTH, _CITED_WARMTH = 0.4, 0.7
_CLOSE_READ = 60
"""Lines: a part of a file that was asked for and is no longer than that was wanted for itself."""
_COMMAND_KEYS = ("command", "cmd", "script")
_PATH = r"(?:\"([^\"\n*?$]{1,250})\"|'([^'\n*?$]{1,250})'|([\w./@+~-]{1,250}))"
_SHELL = re.compile(
    r"(?:\bsed\s+-n\s+['\"]?(?P<first>\d+),(?P<last>\d+)p['\"]?\s|\bcat\s(?:-[nA]+\s)?"
    r"|\bhead\s+(?:-n\s*|-)(?P<head>\d+)\s|(?P<to>>>?))"
    rf"[ \t]*{_PATH}(?=[ \t]*(?:$|[|;&\n]))",
)
"""The commands that show the lines of one file, and the sign that writes to one."""
_COMMAND_CHARACTERS = 20_000
_SEVERAL = re.compile(r"[|;&\n]")
_CITED = re.compile(r"(?<![\w./@+-])([\w./@+-]*\w\.\w+)(?:\"?, line |[:(])(\d{1,6})\b")
"""``path:12``, ``path(12``, ``File "path", line 12``."""
_NUMBER = re.compile(r"(\d{1,6})[:-]")


Kind = Literal["read", "look", "edit", "write", "change"]
"""``look``: a command showed some of it among other things; ``change``: a command wrote to it."""


class Act(msgspec.Struct, frozen=True):
    """Something that a call did to a file."""

    age: int
    """Answers of the model since."""
    seq: int
    kind: Kind
    touch: Touch
    call: ToolCall


class FileUse(msgspec.Struct):
    """One file with what became of it, oldest act first."""

    path: str
    acts: list[Act] = []
    weight: float = 0.0
    """How much it was used, recent use counting more."""


def fade(age: int) -> float:
    """What is left after so many answers, 0 to 1."""
    return float(_FADES**age)


def uses(messages: Sequence[Message], root: str) -> dict[str, FileUse]:
    """The files that calls touched within the last 60 answers, by path (relative inside ``root``), the newest used first."""
    found: dict[str, FileUse] = {}
    for age, message in _answers(messages):
        for part in reversed(message.parts):
            if not isinstance(part, ToolCall) or part.state != "completed":
                continue
            for touch, kind in reversed(list(_touches(part))):
                path = shown_path(touch.path, root)
                if path not in found and len(found) >= MOST_FILES:
                    continue
                use = found.setdefault(path, FileUse(path))
                use.acts.append(Act(age, message.seq, kind, touch, part))
                use.weight += _WEIGHTS[kind] * fade(age)
    for use in found.values():
        use.acts.reverse()
    return found


def shown_path(path: str, root: str) -> str:
    """As the tools show it: relative inside the working folder."""
    inside = root and path.startswith(root.rstrip("/") + "/")
    return (path[len(root.rstrip("/")) + 1 :] if inside else path).removeprefix("./")


def _answers(messages: Sequence[Message]) -> Iterator[tuple[int, Message]]:
    """Newest first, with how many came after."""
    age = 0
    for message in reversed(messages):
        if message.role == "assistant" and message.origin == "model":
            if age >= LATELY:
                return
            yield age, message
            age += 1


def _touches(call: ToolCall) -> Iterator[tuple[Touch, Kind]]:
    """As recorded, else as a shell command names files."""
    if call.touches:
        for touch in call.touches:
            yield touch, touch.kind
        return
    command = next((text for key in _COMMAND_KEYS if (text := _words(call.arguments.get(key)))), "")
    matches = list(_SHELL.finditer(command[:_COMMAND_CHARACTERS]))
    alone = (
        len(matches) == 1 and matches[0].end() == len(command.rstrip()) and not _SEVERAL.search(command, 0, matches[0].start())
    )
    for match in matches:
        path = match[5] or match[6] or match[7]
        last = match["last"] or match["head"]
        lines = (int(match["first"] or 1), int(last)) if last else None
        if "." not in path and "/" not in path:
            continue
        if not match["to"]:
            yield Touch(path, "read", lines), "read" if alone else "look"
        elif path != "/dev/null":
            yield Touch(path, "edit"), "change"


def _words(value: object) -> str:
    if isinstance(value, list):
        return " ".join(word for word in value if isinstance(word, str))
    return value if isinstance(value, str) else ""


def texts_of(call: ToolCall) -> str:
    """What the call showed."""
    return "\n".join(one.text if isinstance(one, Text) else one.excerpt for one in call.result if isinstance(one, Text | File))


def known_text(acts: Sequence[Act], text: FileText) -> FileText:
    """``text`` with the acts carried out on it, in their order."""
    for act in acts:
        warmth = fade(act.age)
        call = act.call
        if act.kind == "read":
            run, length = read_lines(texts_of(call), act.touch.lines)
            if run is not None:
                text.take(run, length)
                lines = range(run[0], run[0] + run[1].count("\n") + 1)
                if len(lines) <= _CLOSE_READ and len(lines) != length:
                    text.warm(lines, warmth * _READ_WARMTH)
        elif act.kind == "look":
            if act.touch.lines and act.touch.lines[1] - act.touch.lines[0] < _CLOSE_READ:
                text.warm(range(act.touch.lines[0], act.touch.lines[1] + 1), warmth * _READ_WARMTH)
        elif act.kind == "change":
            text.stale = True
        else:
            _change(text, act, warmth)
    return text


def _change(text: FileText, act: Act, warmth: float) -> None:
    whole = written(act.call.arguments) if act.kind == "write" else None
    if whole is not None:
        body = whole.removesuffix("\n")
        text.take((1, body), body.count("\n") + 1)
        return
    edits = list(replacements(act.call.arguments)) or list(patched(_patch(act.call), act.touch.path))
    if not edits:
        text.stale = True
    first = act.touch.lines[0] if act.touch.lines and len(edits) == 1 else 0
    for old, new, everywhere in edits:
        text.edit(old, new, warmth, everywhere=everywhere, first=first)


def _patch(call: ToolCall) -> str:
    return call.raw_arguments or next(
        (text for text in call.arguments.values() if isinstance(text, str) and "*** " in text), ""
    )


def cited(messages: Sequence[Message], paths: Sequence[str], root: str) -> dict[str, dict[int, float]]:
    """Lines of those files that answers and results of other calls point at (``path:12``, hits of a search), with how warm."""
    found: dict[str, dict[int, float]] = {path: {} for path in paths}
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(path.rpartition("/")[2], []).append(path)

    def note(name: str, number: int, warmth: float) -> None:
        path = _meant(shown_path(name, root), by_name)
        if path and warmth > found[path].get(number, 0.0):
            found[path][number] = warmth

    for age, message in _answers(messages):
        warmth = fade(age) * _CITED_WARMTH
        for part in message.parts:
            if isinstance(part, Text):
                for match in _CITED.finditer(part.text):
                    note(match[1], int(match[2]), warmth)
            elif isinstance(part, ToolCall) and not part.touches:
                shown = texts_of(part)
                for match in _CITED.finditer(shown):
                    note(match[1], int(match[2]), warmth)
                for name, number in _hits(shown, by_name):
                    note(name, number, warmth)
    return found


def _hits(shown: str, by_name: Mapping[str, list[str]]) -> Iterator[tuple[str, int]]:
    """Hits of a search that stand below the name of their file."""
    name = ""
    for line in shown.split("\n"):
        if line[:1].isdigit():
            match = _NUMBER.match(line) if name else None
            if match:
                yield name, int(match[1])
        else:
            name = line if line.rpartition("/")[2] in by_name else ""


def _meant(name: str, by_name: Mapping[str, list[str]]) -> str:
    """The one file that a name as results write it stands for; "" where it is none or several."""
    name = name.lstrip("./")
    near = [
        path
        for path in by_name.get(name.rpartition("/")[2], ())
        if f"/{path}".endswith(f"/{name}") or name.endswith(f"/{path}")
    ]
    return near[0] if len(near) == 1 else ""
