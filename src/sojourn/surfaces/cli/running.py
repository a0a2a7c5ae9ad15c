"""What ``sojourn run`` prints while an agent works (S-1).

``--output text``: the answer on standard output, all else on standard error. ``--output json``: one event a line on
standard output, as it happens. Every event has ``type``; readers ignore types and fields they do not know. A field at its
default (``""``, 0, null, an empty list) is left out. Tokens are counts, money is US dollars (null: unknown).

type        fields
session     session_id, how (new, continued, resumed, forked), model, limit, mode, cwd, window, rules: first of a run
turn        seq, prompt
step        number, call_id, level, trigger, estimated, window: a request leaves
text        text: a piece of the answer
reasoning   text: a piece of the model's thinking
call        call_id, name, arguments: the model asks for a tool
result      call_id, name, state (completed, error, denied, interrupted), text, milliseconds
reminder    source, text: the engine's note to the model
window      number, reason, outcome, level_before, level_after, covered, saved: the context was rebuilt or compacted
checkpoint  state (started, written, failed), writer, covered, items, reason, usage
retry       attempt, wait (seconds), error, message: the text of this step so far is void
notice      key, detail: something a person should know
usage       call_id, usage (fresh, cached, written, output, reasoning), price, verdict of the cache
end         finish (stop, length, interrupted, error), steps, text, usage, price, error, next_step: the last
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from sojourn.agent.types import (
    AgentEvent,
    Called,
    CheckpointEvent,
    Metered,
    Noticed,
    Retrying,
    Returned,
    Said,
    SessionOpened,
    StepStarted,
    TurnEnded,
    WindowOpened,
)
from sojourn.base import Finish, Usage
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cells, cut, harmless, one_line, wrapped
from sojourn.surfaces.cli.kinds import outcome_word, reason_word, state_word, verdict_word, writer_word
from sojourn.surfaces.cli.notices import notice
from sojourn.surfaces.cli.options import print_json
from sojourn.surfaces.cli.render import width

_SUBJECTS = ("path", "command", "pattern", "query", "url", "name")
"""Arguments that say what a call is about, the most telling first."""
_QUIET_VERDICTS = frozenset({"", "first", "hit", "new_window", "not_reported"})


class Teller:
    """Tells events as they come. A reader that has gone away is remembered: nothing more is written, ``gone`` is called
    once, ``check`` raises what happened."""

    def __init__(self, gone: Callable[[], object]) -> None:
        self._gone = gone
        self._lost: OSError | None = None
        self.denied: list[tuple[Called, str]] = []
        """Calls that were not run, each with what the model was told."""
        self.mode = ""
        """Of the session, once it is open."""
        self._calls: dict[str, Called] = {}

    def __call__(self, event: AgentEvent) -> None:
        self._note(event)
        if self._lost is not None:
            return
        try:
            self.tell(event)
        except OSError as error:
            self._lost = error
            self._gone()

    def check(self) -> None:
        """Raises the OSError that ended the output, if one did."""
        if self._lost is not None:
            raise self._lost

    def tell(self, event: AgentEvent) -> None:
        """One JSON object a line, each flushed."""
        print_json(event)
        sys.stdout.flush()

    def _note(self, event: AgentEvent) -> None:
        match event:
            case SessionOpened():
                self.mode = event.mode
            case Called():
                self._calls[event.call_id] = event
            case Returned(state="denied") if event.call_id in self._calls:
                self.denied.append((self._calls[event.call_id], event.text))
            case _:
                pass


class TextTeller(Teller):
    """For people: the answer as it streams on a terminal, a step at a time elsewhere (a step that is asked again leaves
    nothing behind in a pipe)."""

    def __init__(self, gone: Callable[[], object]) -> None:
        super().__init__(gone)
        self._terminal = sys.stdout.isatty()
        self._held: list[str] = []
        self._open_line = False
        self._answered = ""
        self._newest_call = ""

    def tell(self, event: AgentEvent) -> None:
        match event:
            case Said():
                self._say(event.text)
            case StepStarted():
                self._end_step()
            case Called():
                self._end_step()
                self._newest_call = event.call_id
                self._aside(f"> {call_line(event)}")
            case Returned():
                self._result(event)
            case Retrying():
                self._void(event)
            case TurnEnded():
                self._end(event)
            case _:
                for line in aside(event):
                    self._aside(_within(line))

    def _say(self, text: str) -> None:
        self._held.append(text)
        if self._terminal and text:
            sys.stdout.write(harmless(text))
            sys.stdout.flush()
            self._open_line = not text.endswith("\n")

    def _end_step(self) -> None:
        """What was said stands on lines of its own."""
        text = "".join(self._held)
        self._held = []
        self._answered = text or self._answered
        if self._terminal:
            self._close_line()
        elif text:
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            sys.stdout.flush()

    def _close_line(self) -> None:
        if self._open_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._open_line = False

    def _void(self, event: Retrying) -> None:
        void = self._terminal and "".join(self._held).strip()
        self._held = []
        if self._terminal:
            self._close_line()
        told = say(
            "run_retry", attempt=event.attempt, seconds=event.wait, error=event.error.value, message=one_line(event.message)
        )
        self._aside(told + (" " + say("run_void") if void else ""))

    def _result(self, event: Returned) -> None:
        call = self._calls.get(event.call_id)
        named = "" if event.call_id == self._newest_call or call is None else f"{call_line(call)}: "
        state = "" if event.state == "completed" else f"{state_word(event.state)}: "
        first, *rest = [line for line in event.text.splitlines() if line.strip()] or [say("run_empty")]
        more = " " + say("run_more_lines", count=len(rest)) if rest else ""
        self._aside(f"  {named}{state}{cut(one_line(first), max(20, width() - len(more) - 4 - len(named) - len(state)))}{more}")

    def _end(self, event: TurnEnded) -> None:
        self._end_step()
        if event.text.strip() and not self._answered.strip():
            self._say(event.text)
            self._end_step()
        if event.usage.input or not event.error:  # a refused request has no numbers to show
            self._aside(summary(event))

    def _aside(self, line: str) -> None:
        if self._terminal:
            self._close_line()
        sys.stderr.write(_dimmed(harmless(line)) + "\n")
        sys.stderr.flush()


def _within(line: str) -> str:
    """What is wider than the terminal goes on in the next line."""
    return "\n".join(part if cells(part) <= width() else wrapped(part, width()) for part in line.split("\n"))


def _dimmed(text: str) -> str:
    """What is not the answer stands back, where standard error shows it."""
    shows = sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, dim=True) if shows else text


def _window(event: WindowOpened) -> list[str]:
    opened = say(
        "run_window",
        number=event.number,
        reason=reason_word(event.reason),
        outcome=outcome_word(event.outcome),
        before=event.level_before,
        after=event.level_after,
        covered=event.covered,
    )
    return [opened, say("run_window_saved", tokens=event.saved)] if event.saved else [opened]


def _checkpoint(event: CheckpointEvent) -> list[str]:
    written = say("run_checkpoint", covered=event.covered, items=event.items, writer=writer_word(event.writer))
    if event.usage is None:
        return [written]
    spent = say("run_checkpoint_spent", input=event.usage.input, cached=event.usage.cached or 0, output=event.usage.output)
    return [f"{written} ({spent})"]


def aside(event: AgentEvent) -> list[str]:
    """Lines for standard error about what the agent did beside its answer; most events need none."""
    match event:
        case SessionOpened():
            return _opened(event)
        case WindowOpened():
            return _window(event)
        case CheckpointEvent(state="written"):
            return _checkpoint(event)
        case CheckpointEvent(state="failed"):
            return [say("run_checkpoint_failed", reason=one_line(event.reason))]
        case Noticed():
            return [notice(event.key, event.detail)]
        case Metered() if event.verdict not in _QUIET_VERDICTS:
            return [
                say("run_cache", verdict=verdict_word(event.verdict), written=event.usage.input - (event.usage.cached or 0))
            ]
        case _:
            return []


def _opened(event: SessionOpened) -> list[str]:
    how = {
        "new": say("run_new"),
        "continued": say("run_continued"),
        "resumed": say("run_resumed"),
        "forked": say("run_forked"),
    }[event.how]
    told = [say("run_session", id=event.session_id, how=how, model=event.model, limit=event.limit, mode=event.mode)]
    # Which rules are active is shown at once: a session in the wrong folder looks the same otherwise.
    return [*told, say("run_rules", files=", ".join(event.rules)) if event.rules else say("run_no_rules", folder=event.cwd)]


def call_line(call: Called) -> str:
    """A call in one line: the tool, and what it is about."""
    subject = next((call.arguments[key] for key in _SUBJECTS if isinstance(call.arguments.get(key), str)), "")
    return cut(one_line(f"{call.name} {subject}"), max(20, width() - 4)).rstrip()


def summary(event: TurnEnded) -> str:
    """The last line: steps, tokens, price; what is unknown is called unknown."""
    return say("run_summary", steps=event.steps, **usage_words(event.usage), price=dollars(event.price))


def usage_words(usage: Usage) -> dict[str, Any]:
    """Tokens for a line: input, the cached part of it, output."""
    cached = say("unknown") if usage.cached is None else f"{usage.cached:,}"
    return {"input": usage.input, "cached": cached, "output": usage.output}


def dollars(price: float | None) -> str:
    """Four digits behind the point, or the word for unknown."""
    return say("unknown") if price is None else f"${price:,.4f}"


def exit_code(ended: TurnEnded) -> int:
    """0 finished; 1 the work failed; 3 cut at the output limit; 130 interrupted."""
    match ended.finish:
        case Finish.INTERRUPTED:
            return 130
        case Finish.LENGTH:
            return 3
        case Finish.ERROR:
            return 1
        case _:
            return 1 if ended.error else 0
