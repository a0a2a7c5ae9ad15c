"""The same window work by ours and by two real libraries, each in a process of its own, in one run (T-7).

Work, over one made-up coding session: *a step* = one more message has come, what is to be sent now, as messages of a
request; *a cut* = leave the window for one of at most 30% of its tokens.

- Sojourn: a step is ``observe`` (counted, stored in an in-memory record) and ``project``; a cut is ``rebuild`` with the
  checkpoint written before: items, digest, the user's words and the live tail composed, counted and stored.
- OpenHands SDK: what its agent does: ``View.append_event`` on the cached view, then ``prepare_llm_messages`` with its
  ``LLMSummarizingCondenser``. Once with its token limit (it counts the history with the model's tokenizer, as it does
  for every model whose limit is known), once by number of events alone. A cut is its condensation (what is forgotten,
  by its manipulation indices, applied to the view) with a fixed sentence in place of the model's summary.
- LangChain: ``trim_messages`` over the whole history with ``count_tokens_approximately``; a cut is the same call with
  30% of the tokens.

A call and its result are one message with us and two with them. Nothing goes over the network and no model is called.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench._row import Row

_ROOT = Path(__file__).resolve().parent.parent
_PYTHON = _ROOT / ".venv-peers" / "bin" / "python"
_SIZES = (1_000, 5_000)
_SHARE = 0.3
_OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1", "LOG_LEVEL": "ERROR"}
_TITLES = {
    "openhands_tokens": "OpenHands SDK, token limit",
    "openhands_events": "OpenHands SDK, events only",
    "langchain": "LangChain trim_messages",
}

Figures = dict[str, dict[str, float]]
"""By number of messages: seconds of ``step`` and ``cut``; ``tokens`` before and ``kept`` after, by the library's count."""


def run(quick: bool) -> list[Row]:
    """How many times the processor time of ours each library takes; one row that says how where none is installed."""
    if not _PYTHON.exists():
        return [Row("other libraries beside ours", 0.0, "", "not installed; `make bench-peers` installs them and runs this")]
    # Ours before and after theirs, the faster of both: the machine is not equally busy all the time.
    first = _measured("sojourn", quick)["sojourn"]
    theirs = _measured("openhands", quick) | _measured("langchain", quick)
    second = _measured("sojourn", quick)["sojourn"]
    ours = {size: {kind: min(value, second[size][kind]) for kind, value in first[size].items()} for size in first}
    rows = []
    for size, figures in ours.items():
        before, after = f"{figures['tokens']:,.0f} tokens", f"{figures['kept']:,.0f}"
        rows.append(Row(f"Sojourn: one more step, {int(size):,} messages", figures["step"] * 1e6, "µs", before))
        rows.append(Row(f"Sojourn: a cut, {int(size):,} messages", figures["cut"] * 1e3, "ms", f"{before} to {after}"))
    for name, title in _TITLES.items():
        for size, figures in theirs[name].items():
            step, cut = (figures[kind] / ours[size][kind] for kind in ("step", "cut"))
            weight = f"{figures['tokens']:,.0f} to {figures['kept']:,.0f} tokens by its count"
            where = f"{int(size):,} messages"
            each = f"{figures['step'] * 1e3:.2f} ms; goal over 10"
            rows.append(Row(f"{title}: one more step, {where}", step, "x ours", each))
            rows.append(Row(f"{title}: a cut, {where}", cut, "x ours", f"{figures['cut'] * 1e3:.1f} ms, {weight}"))
    return rows


def _measured(library: str, quick: bool) -> dict[str, Figures]:
    """What one library's process measured, by way of using it."""
    arguments = [str(_PYTHON), "-m", "bench.bench_peers", library, *(["--quick"] if quick else [])]
    answer = subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True, cwd=_ROOT, env={**os.environ, **_OFFLINE})
    figures: dict[str, Figures] = json.loads(answer.stdout.splitlines()[-1])
    return figures


# --- in the other environment -------------------------------------------------------------------------------------


def _history(size: int) -> Any:
    from bench.bench_engine import history

    return history(size)


def _sojourn(size: int, steps: int) -> dict[str, float]:
    """The engine in memory. The limit lets all of it fit, as in the other libraries' steps."""
    from sojourn.base import SystemClock
    from sojourn.engine import Engine
    from sojourn.meter import message_tokens, total
    from sojourn.wire import Traits

    messages = _history(size + steps)
    tokens = sum(total(message_tokens(message)) for message in messages)

    async def opened() -> Engine:
        engine = await Engine.open(traits=Traits(name="m", limit=tokens * 5 // 4), clock=SystemClock())
        await engine.observe(*messages[:size])
        await engine.project()  # crosses tiers: its checkpoint is written here
        return engine

    async def both() -> dict[str, float]:
        engine = await opened()
        before = engine.level().tokens
        spent = []
        for message in messages[size:]:
            spent.append(await _async_seconds(partial(_observe_project, engine, message)))
        await engine.close()
        engine = await opened()
        gc.collect()
        cut = await _async_seconds(engine.rebuild)
        after = engine.level().tokens
        await engine.close()
        return {"step": _typical(spent), "cut": cut, "tokens": before, "kept": after}

    return asyncio.run(both())


async def _observe_project(engine: Any, message: Any) -> None:
    await engine.observe(message)
    await engine.project()


async def _async_seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    await work()
    return time.process_time() - started


def _openhands(size: int, steps: int, *, by_tokens: bool) -> dict[str, float]:
    from openhands.sdk import LLM
    from openhands.sdk.agent.utils import prepare_llm_messages
    from openhands.sdk.context.condenser import LLMSummarizingCondenser
    from openhands.sdk.context.condenser.utils import get_total_token_count
    from openhands.sdk.context.view import View
    from openhands.sdk.event.condenser import Condensation

    class WithoutModel(LLMSummarizingCondenser):  # type: ignore[misc]  # unknown where it is not installed
        """Theirs but for the summary: a fixed sentence instead of a call of a model."""

        def _generate_condensation(self, forgotten_events: Any, summary_offset: int, **_: Any) -> Condensation:
            return Condensation(
                forgotten_event_ids={event.id for event in forgotten_events},
                summary="What came before was condensed.",
                summary_offset=summary_offset,
                llm_response_id="none",
            )

    events = _openhands_events(_history(size + steps))
    stored = [event for group in events[:size] for event in group]
    llm = LLM(model="gpt-4o", api_key="none", usage_id="bench", max_input_tokens=100_000_000)
    counter = llm if by_tokens else None
    view = View.from_events(stored)
    tokens = get_total_token_count(view.events, llm)
    roomy = WithoutModel(llm=llm, max_size=100_000_000)
    spent = []
    for group in events[size:]:
        started = time.process_time()
        for event in group:
            view.append_event(event)
        sent = prepare_llm_messages(view, condenser=roomy, llm=counter)
        spent.append(time.process_time() - started)
        assert isinstance(sent, list)
    # It keeps half of either limit, so twice the share asks for the share.
    size_limit = round(2 * _SHARE * len(stored))
    limits: dict[str, int] = {"max_tokens": round(2 * _SHARE * tokens)} if by_tokens else {"max_size": size_limit}
    full = WithoutModel(llm=llm, **{"max_size": 100_000_000, **limits})
    cuts = []
    for _ in range(1 if by_tokens else 3):  # counting by tokenizer takes seconds: one run is enough
        view = View(events=list(stored))
        gc.collect()
        started = time.process_time()
        condensation = prepare_llm_messages(view, condenser=full, llm=counter)
        assert isinstance(condensation, Condensation)
        view.append_event(condensation)
        prepare_llm_messages(view, llm=counter)
        cuts.append(time.process_time() - started)
    return {
        "step": _typical(spent),
        "cut": min(cuts),
        "tokens": tokens,
        "kept": get_total_token_count(view.events, llm),
    }


def _openhands_events(messages: Any) -> list[list[Any]]:
    from openhands.sdk.event import ActionEvent, MessageEvent, ObservationEvent
    from openhands.sdk.llm import Message, MessageToolCall, TextContent
    from openhands.sdk.tool.schema import Observation

    class Seen(Observation):  # type: ignore[misc]
        """A plain text result."""

    groups: list[list[Any]] = []
    for at, message in enumerate(messages):
        text, call = _text_and_call(message)
        said = [TextContent(text=text)]
        if call is None:
            source = "user" if message.role == "user" else "agent"
            groups.append([MessageEvent(source=source, llm_message=Message(role=message.role, content=said))])
            continue
        named = {"tool_name": call.name, "tool_call_id": call.call_id}
        made = MessageToolCall(id=call.call_id, name=call.name, arguments=json.dumps(call.arguments), origin="completion")
        action = ActionEvent(thought=said, tool_call=made, llm_response_id=f"r{at}", **named)
        seen = ObservationEvent(observation=Seen.from_text(call.result[0].text), action_id=action.id, **named)
        groups.append([action, seen])
    return groups


def _langchain(size: int, steps: int) -> dict[str, float]:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    groups: list[list[Any]] = []
    for message in _history(size + steps):
        text, call = _text_and_call(message)
        if call is None:
            groups.append([HumanMessage(text) if message.role == "user" else AIMessage(text)])
            continue
        made = [{"name": call.name, "args": call.arguments, "id": call.call_id}]
        groups.append([AIMessage(text, tool_calls=made), ToolMessage(call.result[0].text, tool_call_id=call.call_id)])
    messages = [one for group in groups[:size] for one in group]
    tokens = count_tokens_approximately(messages)

    def trim(most: int) -> list[Any]:
        return trim_messages(  # type: ignore[no-any-return]
            messages, max_tokens=most, token_counter="approximate", strategy="last", start_on="human", include_system=True
        )

    cuts = []
    for _ in range(3):
        gc.collect()
        started = time.process_time()
        kept = trim(round(_SHARE * tokens))
        cuts.append(time.process_time() - started)
    spent = []
    for group in groups[size:]:
        started = time.process_time()
        messages += group
        trim(100_000_000)
        spent.append(time.process_time() - started)
    return {"step": _typical(spent), "cut": min(cuts), "tokens": tokens, "kept": count_tokens_approximately(kept)}


def _text_and_call(message: Any) -> tuple[str, Any]:
    return message.parts[0].text, message.parts[1] if len(message.parts) > 1 else None


def _typical(spent: list[float]) -> float:
    """The mean of the faster half: collections of garbage and a busy machine fall into the other one."""
    fast = sorted(spent)[: max(1, len(spent) // 2)]
    return sum(fast) / len(fast)


def _child(library: str, quick: bool) -> dict[str, Figures]:
    sizes = _SIZES[:1] if quick else _SIZES
    match library:
        case "sojourn":
            return {"sojourn": {str(size): _sojourn(size, 50 if quick else 300) for size in sizes}}
        case "langchain":
            return {"langchain": {str(size): _langchain(size, 6 if quick else 20) for size in sizes}}
        case _:
            return {
                "openhands_tokens": {str(size): _openhands(size, 2, by_tokens=True) for size in sizes},
                "openhands_events": {str(size): _openhands(size, 10, by_tokens=False) for size in sizes},
            }


if __name__ == "__main__":
    print(json.dumps(_child(sys.argv[1], "--quick" in sys.argv)))
