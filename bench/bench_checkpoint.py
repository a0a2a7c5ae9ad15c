"""An extractive checkpoint over 200,000 tokens of made-up sessions (K-10: under 200 ms on one core): calls with their results,
and nothing but prose of the assistant in English and Chinese; the check beside a model writer over the same."""

import random
import time
from collections.abc import Callable

from bench._row import Row
from sojourn.base import Finish, Item
from sojourn.checkpoint import WriterInput, extract
from sojourn.checkpoint.extract import sure
from sojourn.meter import message_tokens, total
from sojourn.record import Message, Text, ToolCall, Touch

_TOKENS = 200_000
_ENGLISH = (
    "We looked at the slow path in `{name}` and it reads {n} rows in {m} ms, which is enough for the {thing}.",
    "The {thing} is loaded when the {other} starts, and {name} then walks every entry in order.",
    "I decided to keep the {thing} in src/{other}/{name}.py because the {other} would break otherwise.",
    "That leaves the {other}, which nobody has touched since the last release, as it was.",
    "It is worth saying that the {thing} does not depend on the {other} in any way that matters here.",
    "A careful reader would expect the {thing} to be closed after the {other} is done, and it is.",
    "Everything in this paragraph describes how the {thing} talks to the {other} through the layer in between.",
    "Instead of a list the {thing} now holds a ring of {n} entries.",
    "You asked whether the {thing} could be shared; it can, as long as each {other} keeps its own copy.",
    "The documentation of the {thing} says little about how the {other} behaves under load.",
)
_CHINESE = (
    "我们决定把 {thing} 放在 src/{other} 里，因为缓存太大。",
    "每次读取 {n} 行，耗时 {m} 毫秒，对解析器来说足够了。",
    "这一段说明索引怎样通过中间层和账本通信，没有特别的限制。",
    "文档里没有讲队列在高负载下的表现，我们后面再看。",
    "根因是 {name} 没有加锁，两个线程会同时写入快照。",
)
_THINGS = ("cache", "parser", "queue", "index", "writer", "ledger", "session", "meter", "window", "cursor", "snapshot")


def run(quick: bool) -> list[Row]:
    """Best of several runs, milliseconds of processor time (one core); the second row carries the items of the first on."""
    messages = _session(_TOKENS)
    tokens = sum(total(message_tokens(message)) for message in messages)
    first = WriterInput(items=(), messages=messages, range=(0, messages[-1].seq), trigger=180_000)
    items = extract(first)
    second = WriterInput(items=items, messages=messages, range=first.range, trigger=180_000)
    repeats = 2 if quick else 7
    note = f"{tokens:,} tokens in {len(messages)} messages, goal 200"
    said = _prose(_TOKENS)
    told = WriterInput(items=(), messages=said, range=(0, said[-1].seq), trigger=180_000)
    prose = f"{sum(total(message_tokens(message)) for message in said):,} tokens in {len(said)} messages, goal 200"
    return [
        Row("extractive checkpoint", _best(extract, first, repeats), "ms", note),
        Row("extractive checkpoint with present items", _best(extract, second, repeats), "ms", f"{note}, {len(items)} items"),
        Row("what is sure", _best(sure, first, repeats), "ms", note),
        Row("extractive checkpoint of prose", _best(extract, told, repeats), "ms", prose),
        Row("what is sure of prose", _best(sure, told, repeats), "ms", prose),
    ]


def _prose(tokens: int) -> tuple[Message, ...]:
    """Answers of many sentences, one in three of them Chinese, until they weigh the tokens."""
    dice = random.Random(3)
    messages: list[Message] = []
    weight = 0
    while weight < tokens:
        seq = len(messages) + 1
        lines = _CHINESE if seq % 3 == 0 else _ENGLISH
        text = "\n\n".join(" ".join(_sentence(dice, lines) for _ in range(5)) for _ in range(8))
        message = Message(id=f"m{seq}", role="assistant", origin="model", parts=(Text(text),), seq=seq, finish=Finish.STOP)
        messages.append(message)
        weight += total(message_tokens(message))
    return tuple(messages)


def _sentence(dice: random.Random, lines: tuple[str, ...]) -> str:
    thing, other = dice.choice(_THINGS), dice.choice(_THINGS)
    name = f"{thing}_{other}_{dice.randrange(90)}"
    return dice.choice(lines).format(thing=thing, other=other, name=name, n=dice.randrange(9_000), m=dice.randrange(900))


def _best(work: Callable[[WriterInput], tuple[Item, ...]], run_input: WriterInput, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        work(run_input)
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
