"""An extractive checkpoint over 200,000 tokens of a made-up session (K-10: under 200 ms on one core)."""

import time

from bench._row import Row
from sojourn.base import Finish
from sojourn.checkpoint import WriterInput, extract
from sojourn.meter import message_tokens, total
from sojourn.record import Message, Text, ToolCall, Touch

_TOKENS = 200_000


def run(quick: bool) -> list[Row]:
    """Best of several runs, milliseconds of processor time (one core); the second row carries the items of the first on."""
    messages = _session(_TOKENS)
    tokens = sum(total(message_tokens(message)) for message in messages)
    first = WriterInput(items=(), messages=messages, range=(0, messages[-1].seq), trigger=180_000)
    items = extract(first)
    second = WriterInput(items=items, messages=messages, range=first.range, trigger=180_000)
    repeats = 2 if quick else 7
    note = f"{tokens:,} tokens in {len(messages)} messages, goal 200"
    return [
        Row("extractive checkpoint", _best(first, repeats), "ms", note),
        Row("extractive checkpoint with present items", _best(second, repeats), "ms", f"{note}, {len(items)} items"),
    ]


def _best(run_input: WriterInput, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        extract(run_input)
        best = min(best, time.process_time() - started)
    return best * 1_000


def _session(tokens: int) -> tuple[Message, ...]:
    """Requests, reads of code, edits, test runs and answers, until they weigh the tokens."""
    messages: list[Message] = []
    weight = 0
    round_ = 0
    while weight < tokens:
        for message in _round(round_, len(messages)):
            messages.append(message)
            weight += total(message_tokens(message))
        round_ += 1
    return tuple(messages)


def _round(i: int, seq: int) -> list[Message]:
    path = f"/srv/app/services/module_{i % 40}/handler_{i % 7}.py"
    code = "\n".join(
        f"    {line}\tdef handle_event_{i}_{line}(self, payload, limit={line}):  # queue {line}\n"
        f"    {line + 1}\t    return self.dispatcher.dispatch('{path}', payload, retries={line % 9})"
        for line in range(0, 160, 2)
    )
    log = "\n".join(f"tests/test_module_{i % 40}.py::test_case_{n} PASSED [ {n}%] in {n * 7} ms" for n in range(40))
    edit = {"file_path": path, "old_string": code[:600], "new_string": code[600:1_400]}
    said = f"The root cause in `handle_event_{i}_4` is a missing lock, so I will use a queue instead of a list."
    parts: list[tuple[str, list[Text | ToolCall], Finish | None]] = [
        ("user", [Text(f"Fix handler {i}. Never change `public_api_{i % 5}`; use queue_{i} instead of list_{i}.")], None),
        ("assistant", [_call("Read", {"file_path": path}, code, Touch(path, "read", (1, 160)))], Finish.TOOL_CALLS),
        ("assistant", [Text(said), _call("Edit", edit, "ok", Touch(path, "edit", (8, 20)))], Finish.TOOL_CALLS),
        ("assistant", [_call("Bash", {"command": f"pytest tests/test_module_{i % 40}.py"}, log)], Finish.TOOL_CALLS),
        (
            "assistant",
            [Text(f"Handler {i} is fixed: all tests pass. The queue was chosen because it is bounded.")],
            Finish.STOP,
        ),
    ]
    return [
        Message(
            id=f"m{seq + n}",
            role="user" if role == "user" else "assistant",
            origin="user" if role == "user" else "model",
            parts=tuple(content),
            seq=seq + n,
            finish=finish,
        )
        for n, (role, content, finish) in enumerate(parts, 1)
    ]


def _call(name: str, arguments: dict[str, str], result: str, *touches: Touch) -> ToolCall:
    return ToolCall(call_id="c", name=name, arguments=arguments, state="completed", result=(Text(result),), touches=touches)
