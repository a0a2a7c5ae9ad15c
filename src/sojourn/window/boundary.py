"""Where a window's view begins and in which state the session stands (W-2, W-7, K-5). Pure, over messages in order of seq."""

from collections.abc import Sequence

from sojourn.base import Finish
from sojourn.meter import message_tokens, total
from sojourn.record import File, Image, Message, Notice, Reasoning, Reminder, Text, ToolCall
from sojourn.window.digest import has_digest_line
from sojourn.window.types import Closing, OpenTask, TurnStatus

_TAIL_LEAST, _TAIL_MOST, _TAIL_TEXTS, _FULL_TRIGGER = 10_000, 20_000, 5, 180_000
_STOPPED = (Finish.INTERRUPTED, Finish.ERROR)


def is_answer(message: Message) -> bool:
    """Whether it is a message of the model (R-2)."""
    return message.role == "assistant" and message.origin == "model"


def is_finished(message: Message) -> bool:
    """Whether the model brought it to an end: neither running, nor stopped, nor failed."""
    return is_answer(message) and message.finish is not None and message.finish not in _STOPPED


def makes_calls(message: Message) -> bool:
    """Whether results follow that the model has yet to see."""
    return message.finish is Finish.TOOL_CALLS or any(isinstance(part, ToolCall) for part in message.parts)


def is_request(message: Message) -> bool:
    """Whether the user said something: own text that is not blank, a picture or a file."""
    if message.role != "user" or message.origin != "user":
        return False
    return any(isinstance(part, Image | File) or (isinstance(part, Text) and part.text.strip()) for part in message.parts)


def digest_seq(messages: Sequence[Message], covered_seq: int) -> int:
    """The newest seq that the opening stands for by digest lines (W-2).

    The last finished answer if it made no calls, else the message before it; ``covered_seq`` where there is none after
    it, or where no digest line would come of it.
    """
    new = [message for message in messages if message.seq > covered_seq]
    last = next((index for index in range(len(new) - 1, -1, -1) if is_finished(new[index])), None)
    if last is None:
        return covered_seq
    end = last if makes_calls(new[last]) else last + 1
    return new[end - 1].seq if has_digest_line(new[:end]) else covered_seq


def live_tail(messages: Sequence[Message], digest_seq: int) -> tuple[Message, ...]:
    """Everything after ``digest_seq`` without the messages that hold nothing but reminders and notices (W-2)."""
    return tuple(
        message
        for message in messages
        if message.seq > digest_seq
        and not (message.parts and all(isinstance(part, Reminder | Notice) for part in message.parts))
    )


def statuses(messages: Sequence[Message]) -> dict[int, TurnStatus]:
    """The status of each user message, by seq (W-2).

    ``interrupted``: the last answer before the next user message (or the end) was stopped or failed, or an imported
    marker says so. Else ``answered``: some later answer is finished without calls. Else ``open``. A failed call that
    left nothing, last in the record, is one that is being sent again: it decides nothing.
    """
    result: dict[int, TurnStatus] = {}
    answered, stopped, decided, newest = False, False, False, True
    for message in reversed(messages):
        if is_request(message):
            result[message.seq] = "interrupted" if stopped else "answered" if answered else "open"
            stopped, decided, newest = False, False, False
        elif message.origin == "import" and message.source == "interrupted":
            stopped, decided = stopped or not decided, True
        elif is_answer(message):
            retried = newest and not decided and message.finish is Finish.ERROR and not message.parts
            if not retried:
                stopped, decided = stopped or (not decided and message.finish in _STOPPED), True
            answered = answered or (is_finished(message) and not makes_calls(message))
    return dict(reversed(result.items()))


def watermark(messages: Sequence[Message], trigger: int, covered_seq: int) -> int | None:
    """The seq that a writer starting now will cover (K-5); None when there is nothing new past ``covered_seq``.

    The tail is counted from the message before the last finished answer, that message included, and extended back
    until it has at least 10,000 tokens and 5 messages with text or reasoning, stopping at 20,000; one that has 20,000
    is left. The message where it begins is the newest that the checkpoint covers (seed). All three are scaled by
    ``trigger`` / 180,000 on smaller windows, messages rounded up.
    """
    last = next((index for index in range(len(messages) - 1, -1, -1) if is_finished(messages[index])), 0)
    if last == 0:
        return None
    scale = min(trigger, _FULL_TRIGGER)
    least, most = _TAIL_LEAST * scale, _TAIL_MOST * scale
    texts_wanted = -(-_TAIL_TEXTS * scale // _FULL_TRIGGER)
    start = last - 1
    weight = sum(_weight(message) for message in messages[start:])
    texts = sum(map(_speaks, messages[start:]))
    while start > 0 and weight < most and (weight < least or texts < texts_wanted):
        start -= 1
        weight += _weight(messages[start])
        texts += _speaks(messages[start])
    mark = messages[start].seq
    return mark if mark > covered_seq else None


def _weight(message: Message) -> int:
    """Tokens times 180,000: compared with the scaled lines without rounding."""
    return total(message_tokens(message)) * _FULL_TRIGGER


def _speaks(message: Message) -> bool:
    return any(isinstance(part, Text | Reasoning) for part in message.parts)


def closing_state(messages: Sequence[Message], open_task: OpenTask | None) -> Closing:
    """What the closing tells the model to do (W-7), the first that holds.

    ``answer_user``: a user message came after the last finished answer and its turn was not stopped. ``mid_loop``: the
    last answer made calls and all have ended by themselves, or it was cut at the output limit. ``open_task``: there is
    one. ``wait``: the turn is over, or a person stopped it: nothing tells the model to act then.
    """
    for message in reversed(messages):
        if is_request(message):
            return "answer_user"
        if message.origin == "import" and message.source == "interrupted":
            return "wait"
        if not is_answer(message):
            continue
        if message.finish is Finish.INTERRUPTED:
            return "wait"
        if not is_finished(message):  # a failed or running call is sent again: what came before it decides
            continue
        calls = [part.state for part in message.parts if isinstance(part, ToolCall)]
        if "interrupted" in calls:
            return "wait"
        if (calls and all(state in ("completed", "error") for state in calls)) or (
            not calls and message.finish is Finish.LENGTH
        ):
            return "mid_loop"
        break
    return "open_task" if open_task is not None else "wait"
