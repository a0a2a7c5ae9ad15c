"""The items of a compaction window: by the model where there is one, by extraction where it fails (C-9, W-14)."""

from sojourn.base import Item
from sojourn.checkpoint import WriterFailed, WriterInput, Written, extract, validate
from sojourn.engine.handing import count_unrecorded, hand_over
from sojourn.engine.state import State, is_economic
from sojourn.engine.writing import answer_of
from sojourn.record import Message


async def summary(
    state: State, items: tuple[Item, ...], gone: tuple[Message, ...], covered: int, *, reason: str, focus: str
) -> tuple[Item, ...]:
    """What is kept of the messages that leave. Never fails: an answer that is none is told, and extraction stands in."""
    upto = gone[-1].seq
    run = WriterInput(
        items=items,
        messages=gone,
        range=(covered, upto),
        trigger=state.lines().full_trigger,
        economic=is_economic(state),
        summary=True,
        focus=focus,
    )
    writer, lease = state.ports.writer, state.lease
    if writer.name == "extractive" or lease is None:
        return extract(run)
    state.emit("notice", key="summarising")
    handed = await hand_over(state, writer, lease, run.range, purpose="compaction", reason=reason, items=items)
    written = await answer_of(writer, handed.into(run))
    count_unrecorded(state, handed, written.usage)
    if isinstance(written, Written):
        written = validate(written, upto)
        if written.items:
            return written.items
        written = WriterFailed("retryable", "empty answer")
    state.emit("checkpoint_failed", reason=written.reason, failure=written.kind)
    return extract(run)
