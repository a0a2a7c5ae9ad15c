"""Errors and what followed them: the fix (K-10)."""

import re
from typing import NamedTuple

from sojourn.base import Section
from sojourn.checkpoint.extract.commands import ending, trivial
from sojourn.checkpoint.extract.evidence import Act, Evidence
from sojourn.checkpoint.extract.files import touches
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip, plain

_TELLING = re.compile(
    r"^.*?(?:\b(?:[A-Z]\w*(?:Error|Exception|Panic)\b|(?i:error)(?:\[\w+\]| [A-Z]+\d+)?:|panic:|fatal:"
    r"|CONFLICT\b|FAIL(?:ED|URE)?\b|--- FAIL|Traceback|undefined:|"
    r"cannot |could not |not found|No such file|Permission denied|command not found|assertion|AssertionError"
    r"|segmentation fault|timed? ?out)"
    r"|错误|失败|异常|找不到|无法|超时).*$",
    re.M,
)
_SAYS = re.compile(
    r"\b\w*(?:Error|Exception|Panic|error(?:\[\w+\])?|fatal|panic)\b[^:\n]{0,20}: \S.{6}|(?:错误|失败|异常)[:：]\s*\S.{3}"
)
"""A line that names an error and says what it is."""
_STACK = re.compile(r"Traceback|^\s*(?:at |File \")")
_EXIT_LINE = re.compile(r"exit code", re.I)
_NUMBERS = re.compile(r"\d+")
_MOST = 260
_FIX_STEPS = 40
"""Calls looked at after an error for what was done about it."""


class _Error(NamedTuple):
    line: str
    seq: int
    act: int
    """Index of the call."""


def errors(evidence: Evidence) -> list[Found]:
    """Each error once, by its newest occurrence: the line that says what went wrong, then the changes made and whether the
    same command then passed."""
    newest: dict[str, _Error] = {}
    times: dict[str, int] = {}
    for index, act in enumerate(evidence.acts):
        if not act.failed:
            continue
        line = _telling(act.output)
        if line:
            key = _NUMBERS.sub("#", line)[:120]
            newest.pop(key, None)
            newest[key] = _Error(line, act.seq, index)
            times[key] = times.get(key, 0) + 1
    return [_found(error, evidence.acts, times[key]) for key, error in newest.items()]


def _telling(output: str) -> str:
    """The line of a failed result that says most: the last of a stack, else the first that names an error, else its last."""
    head, tail = output[:6_000], output[6_000:][-6_000:]
    lines = [found[0] for found in _TELLING.finditer(head + tail) if not _STACK.search(found[0])]
    if lines:
        lines = [line for line in lines if _SAYS.search(line)] or lines
        return clip(plain(lines[-1] if "Traceback" in output else lines[0]), _MOST)
    rest = [text for line in (head + tail).splitlines() if len(text := plain(line)) > 8 and not _EXIT_LINE.match(text)]
    return clip(rest[-1], _MOST) if rest else ""


def _found(error: _Error, acts: tuple[Act, ...], times: int) -> Found:
    failed = acts[error.act]
    changed: dict[str, int] = {}
    passed: Act | None = None
    for act in acts[error.act + 1 : error.act + 1 + _FIX_STEPS]:
        changed.update((touch.path, act.seq) for touch in touches(act) if touch.kind != "read")
        if not act.failed and _same(failed, act):
            passed = act
            break
    steps = [f"changed `{path}` m{seq}" for path, seq in list(changed.items())[-3:]] if (passed or failed.command) else []
    if passed is not None:
        again = f"`{clip(ending(passed.command), 80)}` passed" if passed.command else f"{passed.name} passed"
        steps.append(f"{again} m{passed.seq}")
    where = f" (`{clip(ending(failed.command), 80)}`)" if failed.command and not trivial(failed.command) else ""
    text = f"{error.line}{where}" + (f" -> {', '.join(steps)}" if steps else "")
    sources = (error.seq, passed.seq) if passed else (error.seq,)
    weight = (1.5 if passed is None else 1.2) + 0.4 * min(times - 1, 4) + (0.8 if failed.command else 0.0)
    return Found(Section.ERRORS, text, sources, weight)


def _same(failed: Act, later: Act) -> bool:
    """Whether a later call does again what failed."""
    if failed.name != later.name:
        return False
    if failed.command:
        return ending(failed.command)[:40] == ending(later.command)[:40]
    return bool(failed.call.touches) and {t.path for t in failed.call.touches} == {t.path for t in later.call.touches}
