"""Questions to the person at the terminal while an agent works (Y-6)."""

import asyncio
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from sojourn.agent.asking import Answer, Asked
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import harmless, one_line

_ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("y", "yes", "是"), "once"),
    **dict.fromkeys(("a", "always", "总是"), "always"),
    **dict.fromkeys(("n", "no", "否", ""), "no"),
}


def at_terminal() -> bool:
    """Whether a person can be asked: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def typed_line() -> str | None:
    """One line of standard input; None = it has ended. While a person thinks, the session goes on being held.

    The thread reads the descriptor itself: one that waits on Python's own stream could not be left behind at exit."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None) -> None:
        if not answer.done():
            answer.set_result(line)

    def read(handle: int) -> None:
        data = b""
        while not data.endswith(b"\n"):
            more = _some(handle)
            if not more:
                break
            data += more
        line = data.decode("utf-8", "replace").strip() if data else None
        with suppress(RuntimeError):  # nobody waits any more
            loop.call_soon_threadsafe(settle, line)

    threading.Thread(target=read, args=(sys.stdin.fileno(),), daemon=True).start()
    return await answer


def _some(handle: int) -> bytes:
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""


async def says_yes(text: str) -> bool:
    """A question whose answer is no unless somebody says yes."""
    sys.stderr.write(f"{harmless(text)} [y/N] ")
    sys.stderr.flush()
    return (await typed_line() or "").lower() in ("y", "yes", "是")


class TerminalAsker:
    """Shows what is to run and why it is asked, then waits for y, a or n; anything else is asked again, an end means no."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, asked: Asked) -> Answer:
        from sojourn.agent.permissions import grant_for

        async with self._one_at_a_time:
            sys.stderr.write(question(asked, str(grant_for(asked, self._root))))
            while True:
                sys.stderr.write(say("ask_choice") + " ")
                sys.stderr.flush()
                line = await typed_line()
                if line is None:
                    sys.stderr.write("\n")
                    return "no"
                if line.lower() in _ANSWERS:
                    return _ANSWERS[line.lower()]


def question(asked: Asked, always: str) -> str:
    """The call as it would run, why it is asked, and what ``always`` would cover; nothing in it drives the terminal."""
    lines = [say("ask_may_it", tool=harmless(asked.tool), reason=one_line(asked.reason))]
    # Whole, however long: nobody should say yes to what was not shown.
    lines += [f"  {line}" for line in harmless(asked.subject or str(asked.arguments)).split("\n")]
    if always != f"{asked.tool}({asked.subject})":
        lines.append(say("ask_always", rule=one_line(always)))
    return "\n".join(lines) + "\n"
