"""A session for people to read: messages, windows, what stands in view. Nothing here decides or measures."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sojourn.record import Message, Reasoning, Reminder, Text, ToolCall, Window
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cut, harmless, one_line, pad, table, wrapped
from sojourn.surfaces.cli.kinds import kind_word, outcome_word, reason_word, state_word
from sojourn.surfaces.cli.render import moment, paint, table_width, width

if TYPE_CHECKING:
    from sojourn.engine import Context


def message_lines(
    messages: Sequence[Message], windows: Sequence[Window], undone: frozenset[int] = frozenset()
) -> Iterator[str]:
    """Messages as text, with a line where a window opened: what stands before it is in the record. ``undone``: numbers of
    those that are taken back."""
    for message in messages:
        who = message.origin if message.origin in ("engine", "import") else message.role
        mark = f"  ({say('run_undone')})" if message.seq in undone else ""
        yield paint(f"m{message.seq} {who}  {moment(message.created)}{mark}", bold=True)
        for part in message.parts:
            yield from (f"  {line}".rstrip() for line in _part_lines(part))
        for window in windows:
            if window.kind != "start" and window.opened_at_seq == message.seq:
                told = say(
                    "boundary",
                    number=window.number,
                    covered=window.covered_seq,
                    before=window.meter_before,
                    after=window.meter_after,
                )
                yield paint(wrapped(f"--- {told} ---", width()), fg="cyan")


def _part_lines(part: object) -> list[str]:
    match part:
        case Text():
            return harmless(part.text).split("\n")
        case Reasoning():
            return [say("thinking", characters=len(part.text))]
        case ToolCall():
            arguments = ", ".join(f"{one_line(key)}={one_line(str(value))[:60]!r}" for key, value in part.arguments.items())
            size = sum(len(result.text) for result in part.result if isinstance(result, Text))
            return [say("call", call=f"{one_line(part.name)}({arguments})", state=state_word(part.state), characters=size)]
        case Reminder():
            return harmless(f"[{part.source}] {part.body}").split("\n")
        case _:
            return [f"[{type(part).__name__.lower()} {one_line(getattr(part, 'name', ''))}]"]


def window_list(windows: Sequence[Window]) -> str:
    """The windows of a session, a line each."""
    rows = [
        (
            f"{w.number}",
            kind_word(w.kind),
            reason_word(w.reason),
            outcome_word(w.outcome),
            f"m{w.opened_at_seq}",
            *_levels(w.kind, w.meter_before, w.meter_after),
        )
        for w in windows
    ]
    keys = ("number", "kind", "reason", "outcome", "opened", "before", "after")
    return table([say(f"column_{key}") for key in keys], rows, right=(0, 5, 6), limit=table_width())


def _levels(kind: str, before: int, after: int) -> tuple[str, str]:
    """A first window has nothing before it."""
    return ("-", "-") if kind == "start" else (f"{before:,}", f"{after:,}")


def window_lines(window: Window) -> Iterator[str]:
    """One window: its numbers, then its opening exactly as the model saw it."""
    head = say(
        "window_head",
        number=window.number,
        kind=kind_word(window.kind),
        reason=reason_word(window.reason),
        outcome=outcome_word(window.outcome),
        opened=window.opened_at_seq,
        covered=window.covered_seq,
        digest=window.digest_seq,
    )
    yield wrapped(head, width())
    if window.kind != "start":
        yield say(
            "window_levels", before=window.meter_before, after=window.meter_after, trigger=window.trigger, hard=window.hard
        )
    yield ""
    yield harmless("".join(block.text for block in window.opening)) or say("empty_opening")


def context_report(context: "Context", newest: int) -> str:
    """The parts of the window as a bar each; they add up to the level. ``newest``: the newest message in view."""
    lines = context.lines
    tiers = " ".join(f"{tier:,}" for tier in lines.tiers) or "-"
    told = [
        paint(cut(f"{context.session_id}  {one_line(context.title)}", width()), bold=True),
        say(
            "context_level",
            about="~" if context.estimated else "",
            level=context.level,
            effective=lines.effective,
            source=context.limit_source,
            share=100 * context.level / max(1, lines.effective),
        ),
        wrapped(say("context_lines", trigger=lines.trigger, hard=lines.hard, tiers=tiers), width()),
        say("context_window", number=context.window.number, head=newest)
        if context.window.number
        else say("context_no_window", head=newest),
        say("context_mark", watermark=context.watermark) if context.watermark else say("context_no_mark"),
    ]
    if context.level >= lines.trigger:
        told.append(paint(say("context_due"), fg="yellow"))
    told.append("")
    longest = max([len(name) for name in context.categories] or [0])
    room = max(10, width() - longest - 24)
    for name, tokens in sorted(context.categories.items(), key=lambda pair: -pair[1]):
        share = tokens / max(1, context.level)
        told.append(f"  {pad(name, longest)} {tokens:>10,} {share:>6.1%}  {'█' * round(room * share)}".rstrip())
    return "\n".join(told)
