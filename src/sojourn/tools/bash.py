"""The ``bash`` tool: commands, in the foreground with a time limit or as jobs that go on (Y-5)."""

import asyncio
from typing import Any

from sojourn.tools.desk import Desk
from sojourn.tools.job import Job
from sojourn.tools.plain import plain
from sojourn.tools.texts import text
from sojourn.tools.types import Outcome, Tool, failed, said

TIMEOUT_MOST = 3600
_EARLY = 0.2
"""Seconds in which a background job that fails at once is caught."""
_LEFT = 0.1
"""Seconds given to children that are just ending."""
_CANCEL_GRACE = 1.0


async def _bash(arguments: dict[str, Any], desk: Desk) -> Outcome:
    command, number = arguments.get("command", ""), arguments.get("id")
    if number is not None:
        if command.strip():
            return failed("command and id were both given.", "Give command to run something, or id to look at a job.")
        return await _look(number, arguments, desk)
    if not command.strip():
        return failed("command is empty.", "Give a command, or the id of a background job.")
    if "\0" in command:
        return failed("command holds a NUL character.", "Leave it out.")
    if arguments.get("background", False):
        return await _background(command, desk)
    return await _foreground(command, arguments.get("timeout", desk.timeout), desk)


async def _foreground(command: str, seconds: int, desk: Desk) -> Outcome:
    notes = _reset_note(desk)
    job, where = await desk.shell.start(command, follow=True)
    try:
        in_time = await job.ended(seconds)
        left = in_time and job.running and not await job.over(_LEFT)
        if not in_time:
            await job.stop()
    except asyncio.CancelledError:
        await asyncio.shield(_abandon(job, desk))
        raise
    output = _output(job)
    if desk.shell.arrive(where):
        notes.append(f"[now in {desk.shell.cwd}]")
    if not in_time:
        notes.append(f"[stopped after {seconds} s; for more time set timeout, or background]")
    elif left:
        notes.append(f"[it left processes running: job {job.number}]")
    if in_time and job.code:
        notes.append(_code(job))
    if not left:
        desk.shell.forget(job)
    return _told(output, notes, error=not in_time or job.code != 0)


async def _abandon(job: Job, desk: Desk) -> None:
    await job.stop(_CANCEL_GRACE)
    desk.shell.forget(job)


async def _background(command: str, desk: Desk) -> Outcome:
    notes = _reset_note(desk)
    job, _ = await desk.shell.start(command, follow=False)
    try:
        early = await job.over(_EARLY)
    except asyncio.CancelledError:
        await asyncio.shield(_abandon(job, desk))  # nobody was told its number
        raise
    if early:
        return _over(job, notes, desk)
    output = _output(job)
    return _told(output, [*notes, f"[job {job.number} runs; look at it with id {job.number}]"])


async def _look(number: int, arguments: dict[str, Any], desk: Desk) -> Outcome:
    job = desk.shell.jobs.get(number)
    if job is None:
        known = ", ".join(map(str, desk.shell.jobs)) or "none"
        return failed(f"There is no job {number}.", f"Jobs: {known}. One that ended is told once.")
    if arguments.get("stop", False):
        if job.running:
            await job.stop()
            return _over(job, [f"[job {number} stopped after {job.age} s]"], desk, stopped=True)
        return _over(job, [], desk)
    if await job.over(arguments.get("timeout", 0)):
        return _over(job, [], desk)
    return _told(_output(job), [f"[job {number} still runs, {job.age} s]"])


def _over(job: Job, notes: list[str], desk: Desk, *, stopped: bool = False) -> Outcome:
    """The last word on a job."""
    output = _output(job)
    desk.shell.forget(job)
    if not stopped:
        notes = [*notes, _code(job)]
    return _told(output, notes, error=not stopped and job.code != 0)


def _output(job: Job) -> str:
    return plain(job.spool.take(final=not job.running)).rstrip("\n")


def _code(job: Job) -> str:
    code = job.code or 0
    return f"[exit code {code}]" if code >= 0 else f"[ended by signal {-code}]"


def _reset_note(desk: Desk) -> list[str]:
    gone = desk.shell.cwd
    return [f"[{gone} is gone: back in {desk.root}]"] if desk.shell.reset() else []


def _told(output: str, notes: list[str], *, error: bool = False) -> Outcome:
    body = "\n".join([*([output] if output.strip() else []), *notes]) or "(no output)"
    outcome = said(body)
    return Outcome(outcome.parts, error=error)


BASH = Tool(
    name="bash",
    description=text("bash"),
    schema={
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": TIMEOUT_MOST,
                "description": "seconds; with id: wait so long for its end",
            },
            "background": {"type": "boolean"},
            "id": {"type": "integer", "description": "a background job: what it printed since you last looked"},
            "stop": {"type": "boolean", "description": "with id: end it"},
        },
    },
    effect="execute",
    subject="command",
    run=_bash,
)
