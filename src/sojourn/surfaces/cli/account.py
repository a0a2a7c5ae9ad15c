"""What ``sojourn demo`` tells while it runs, and what it came to. Nothing here decides or measures."""

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cells, cut, listed, one_line, pad, table, wrapped
from sojourn.surfaces.cli.render import color, paint, width

if TYPE_CHECKING:
    from sojourn.agent.types import AgentEvent
    from sojourn.lab.live import Live, Moment, Opened, Proof

_CLEAR = "\x1b[K"


class Account:
    """Tells the run line by line on standard output; a status line on standard error where that is a terminal."""

    def __init__(self, window: int, *, quiet: bool) -> None:
        self._window = window
        self._quiet = quiet
        self._status = not quiet and sys.stderr.isatty()
        self._answers = 0
        self._turns = 0
        self._steps = 0
        self._calls: Counter[str] = Counter()

    def tell(self, moment: "Moment") -> None:
        """One moment of the run."""
        from sojourn.lab.live import Began, Opened, Proof

        if self._quiet:
            return
        match moment:
            case Began():
                self._answers = moment.answers
                self._say(paint(moment.title, bold=True), wrapped(say("live_intro", window=self._window), width()))
            case Opened():
                if moment.summary.kind != "start":
                    self._say(*_window_lines(moment))
            case Proof():
                self._say(*_proof_lines(moment))
            case _:
                self._event(moment)

    def clear(self) -> None:
        """Removes the status line."""
        if self._status:
            sys.stderr.write(f"\r{_CLEAR}")
            sys.stderr.flush()

    def _event(self, event: "AgentEvent") -> None:
        from sojourn.agent.types import Called, StepStarted, TurnEnded, TurnStarted

        match event:
            case TurnStarted():
                self._turns += 1
                self._calls.clear()
                self._say("", f"{paint(f'{self._turns:>2}', bold=True)}  {cut(one_line(event.prompt), width() - 4)}")
            case StepStarted():
                self._steps += 1
                self._show(say("live_step", step=self._steps, steps=self._answers, level=event.level))
            case Called():
                self._calls[event.name] += 1
            case TurnEnded():
                calls = ", ".join(f"{name} {count}" for name, count in self._calls.most_common())
                self._say(f"      {say('live_turn', steps=event.steps, calls=calls)}")
            case _:
                pass

    def _say(self, *lines: str) -> None:
        self.clear()
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    def _show(self, status: str) -> None:
        if self._status:
            sys.stderr.write(f"\r{_CLEAR}    {status}")
            sys.stderr.flush()


def _window_lines(opened: "Opened") -> list[str]:
    one = opened.summary
    told = say(
        "live_window",
        number=one.number,
        before=one.level_before,
        after=one.level_after,
        visible=len(opened.held) - len(opened.missing),
        asked=len(opened.held),
    )
    rule = f"   ── {told} "
    lines = [paint(rule + "─" * max(0, width() - cells(rule)), fg="cyan" if not opened.missing else "red")]
    sections = [f"{name} {tokens:,}" for name, tokens in one.sections.items() if tokens]
    sections[:1] = [f"{say('live_carried')} {one}" for one in sections[:1]]
    return [*lines, listed(sections, width() - 2, indent="      ")]


def _proof_lines(proof: "Proof") -> list[str]:
    lines = [f"      $ {proof.command}"]
    for key, text, fg in ((say("live_before"), proof.before, "red"), (say("live_after"), proof.after, "green")):
        for number, line in enumerate(text.splitlines()):
            head = pad(key if number == 0 else "", 8)
            lines.append(f"        {head}{paint(cut(one_line(line), width() - 18), fg=fg)}")
    return lines


def live_report(live: "Live", kept: Path | None) -> str:
    """What it came to."""
    from sojourn.lab.journey import terminal_chart
    from sojourn.lab.live import cached_share

    asked = len(live.asked)
    told = ["", terminal_chart(live.points, live.stays, width(), color(), live.marks), ""]
    counts = say(
        "live_counts",
        turns=live.turns,
        steps=live.steps,
        calls=sum(live.calls.values()),
        tokens=live.result_tokens,
        checkpoints=live.checkpoints,
        seconds=live.milliseconds / 1_000,
    )
    told.append(wrapped(counts, width()))
    cost = say(
        "live_cost", units=live.cost.units, fresh=live.cost.fresh, cached=live.cost.cached, share=cached_share(live.cost)
    )
    told += [wrapped(cost, width()), ""]
    if asked:
        told.append(_verdict(say("live_facts", visible=live.kept, asked=asked, windows=len(live.opened)), live.kept == asked))
        told.append(wrapped(say("live_how"), width(), indent="  "))
    else:
        told.append(wrapped(say("no_boundary"), width()))
    for fact, windows in live.missing:
        where = ", ".join(str(number) for number in windows)
        told.append(wrapped(say("demo_missing", windows=where, fact=one_line(fact.text)), width(), indent="  "))
    with_task = live.requests - live.without_task
    told.append(_verdict(say("live_task", visible=with_task, asked=live.requests), not live.without_task))
    told.append(_verdict(say("live_unmet", count=len(live.missed)) if live.missed else say("live_met"), not live.missed))
    told += [wrapped(one_line(what), width(), indent="  ") for what in live.missed]
    told += [*(_others(live) if asked else ()), "", *_next(kept)]
    return "\n".join(told) + "\n"


def _others(live: "Live") -> list[str]:
    rows = [
        ("sojourn", f"{live.kept} / {len(live.asked)}"),
        *((one.name, f"{one.visible} / {one.asked}") for one in live.others),
    ]
    lines = table([say("column_strategy"), say("column_facts")], rows, right=(1,)).split("\n")
    return ["", wrapped(say("live_compare"), width()), *(f"  {line}" for line in lines)]


def _verdict(text: str, good: bool) -> str:
    return paint(text, fg="green" if good else "red", bold=True)


def _next(kept: Path | None) -> list[str]:
    if kept is None:
        commands = (
            ("sojourn demo --keep DIR", say("live_next_keep")),
            ('sojourn run "..."', say("live_next_run")),
            ("sojourn replay SESSION.jsonl", say("demo_next_replay")),
            ("sojourn --help", say("demo_next_help")),
        )
        return [say("demo_next"), *(f"  {pad(command, 30)}  {text}" for command, text in commands)]
    home = f"SOJOURN_HOME={shlex.quote(str(kept))}"
    return [
        say("live_kept"),
        f"  {home} sojourn show last",
        f"  {home} sojourn checkpoint last",
        f"  {home} sojourn search 8512",
        f"  git -C {shlex.quote(str(kept / 'repo'))} log --stat",
        wrapped(say("live_files"), width()),
    ]
