"""Live state: the branch, what runs, ports, and how the last commands ended (K-10)."""

import re

from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import Act, Evidence
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip, plain

_TRIVIAL = re.compile(
    r"(?:cd|ls|cat|head|tail|pwd|echo|grep|rg|find|wc|which|sed -n|git (?:status|diff|log|show)|tree|stat|file)\b"
)
_SWITCH = re.compile(r"\bgit (?:checkout|switch)\s+(?:-[bBcC]\s+|--create\s+)?([\w./-]+)(?=\s*(?:$|[;&|\n]))")
_ON_BRANCH = re.compile(r"^(?:On branch |Switched to (?:a new )?branch '|\* )([\w./-]+)", re.M)
_SHOWN = re.compile(r"\bgit (?:branch --show-current|rev-parse --abbrev-ref HEAD)\s*$")
_WORKTREE = re.compile(r"\bgit worktree add\s+(?:-[bB]\s+\S+\s+)?([\w./~-]+)")
_PORT = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{2,5})\b|\bports?[ :=]{1,2}(\d{2,5})\b"
    r"|--port[ =](\d{2,5})\b|端口\s*[:：是为]?\s*(\d{2,5})",
    re.I,
)
_PORT_SIGNS = ("localhost:", "127.0.0.1:", "0.0.0.0:", "[::", "port", "端口")
_PID = re.compile(r"\b(?:pid|process(?: id)?|进程)\s*[:=#]?\s*(\d{2,7})\b", re.I)
_KILLED = re.compile(r"\b(?:kill|pkill|killall)\b(?:\s+-\S+)*\s+(\S+)")
_RUNS = re.compile(r"(?:^|[;&|]\s*)(?:nohup|setsid|screen|tmux new)\b|(?<!&)&\s*$|\bdocker(?:-compose| compose) up\b", re.M)
_MOST = 180


def resources(evidence: Evidence) -> list[Found]:
    """Branch, worktree, processes, ports and the last run of each command that checks or builds, with its exit status."""
    state: dict[str, Found] = {}
    for act in evidence.acts:
        if act.command:
            _branch(act, state)
            _process(act, state)
            _ended(act, state)
            _ports(act.seq, f"{act.command}\n{act.output[:2_000]}\n{act.output[-2_000:]}", state)
    for speech in evidence.user:
        _ports(speech.seq, speech.text[:4_000], state)
    return list(state.values())


def ending(command: str) -> str:
    """The part of a command line that decides how it ends: without leading changes of folder and settings, one line."""
    line = plain(command)
    while (match := re.match(r"(?:cd\s+\S+|export\s+\S+|source\s+\S+)\s*(?:&&|;)\s*", line)) is not None:
        line = line[match.end() :]
    return line


def trivial(command: str) -> bool:
    """Whether a command only looks at something."""
    return not command or _TRIVIAL.match(ending(command)) is not None


def _put(state: dict[str, Found], key: str, rest: str, seq: int, weight: float) -> None:
    state.pop(key, None)
    state[key] = Found(Section.RESOURCES, f"{key}: {rest}", (seq,), weight)


def _branch(act: Act, state: dict[str, Found]) -> None:
    if act.failed:
        return
    found = _SWITCH.search(act.command) or (_ON_BRANCH.search(act.output) if "git" in act.command else None)
    name = found[1] if found else (act.output.strip() if _SHOWN.search(act.command) else "")
    if name and " " not in name and name != "--" and "\n" not in name:
        _put(state, "branch", name, act.seq, 4.0)
    if found := _WORKTREE.search(act.command):
        _put(state, "worktree", found[1], act.seq, 3.0)


def _process(act: Act, state: dict[str, Found]) -> None:
    if found := _KILLED.search(act.command):
        for key in [key for key in state if key.startswith("running") and found[1] in state[key].text]:
            _put(state, key, f"killed m{act.seq}", act.seq, 0.5)
    if act.call.arguments.get("run_in_background") is True or _RUNS.search(act.command):
        pid = _PID.search(act.output[:500])
        told = f"pid {pid[1]}" if pid else clip(plain(act.output[:200]), 80) or "started"
        _put(state, f"running `{clip(plain(act.command), 100)}`", told, act.seq, 4.0)


def _ended(act: Act, state: dict[str, Found]) -> None:
    if trivial(act.command) or act.call.state in ("pending", "running"):
        return
    end = f"exit {act.exit}" if act.exit is not None else "failed" if act.failed else act.call.state
    lines = [line for line in act.output[-600:].splitlines() if line.strip()]
    last = f", {clip(plain(lines[-1]), 80)}" if lines else ""
    key = f"ran `{clip(ending(act.command), 100)}`"
    weight = (state[key].weight if key in state else 0.8) + 0.3
    _put(state, key, f"{end}{last}", act.seq, min(weight, 3.0))


def _ports(seq: int, text: str, state: dict[str, Found]) -> None:
    low = text.lower()
    if not any(sign in low for sign in _PORT_SIGNS):
        return
    for found in _PORT.finditer(text):
        start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        line = plain(text[start : end if end >= 0 else None])
        number = next(one for one in found.groups() if one)
        _put(state, f"port {number}", clip(line, _MOST, max(0, line.find(number))), seq, 2.0)
