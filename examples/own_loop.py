"""The engine under a loop of your own: tell it what happens, ask it what to send.

Run it: ``python examples/own_loop.py``. The "model" here is a function and its provider is strict: it refuses anything
over its limit, as real ones do. Put your own client in its place; nothing else changes.
"""

import asyncio
from pathlib import Path

from sojourn import ErrorKind, Finish, Message, ModelError, Session, Settings, Text, ToolCall, Traits, Usage, open_session
from sojourn.models import anthropic
from sojourn.prefix import Wanted, build, gather, sections

LIMIT = 24_000
READ_FILE = {
    "name": "read_file",
    "description": "Reads a file of the project.",
    "schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


async def main() -> None:
    """Forty turns of work in a window that holds a few of them."""
    # Who the agent is, where it works, git, and AGENTS.md of every folder above: frozen for the life of a window.
    sources = await gather(Path.cwd(), Settings(), budget_tokens=LIMIT // 10, config_folder=Path.home() / ".config/sojourn")
    prefix = build(sections(sources, Wanted(model="demo")), [READ_FILE])
    traits = Traits(name="demo", limit=LIMIT)
    async with await open_session(session=Session(id="", title="A long day"), traits=traits, prefix=prefix) as engine:
        windows = set()
        for turn in range(1, 41):
            await engine.observe(
                Message(id="", role="user", origin="user", parts=(Text(f"Turn {turn}: check file_{turn}.py"),))
            )
            for _ in range(2):  # one call with a tool, one answer
                projected = await engine.project()
                windows.add(projected.window.number)
                try:
                    answer, usage = ask(anthropic.encode(projected.request), turn)
                except ModelError as error:
                    projected = await engine.recover(error)
                    answer, usage = ask(anthropic.encode(projected.request), turn)
                await engine.observe(answer)
                await engine.observe_usage(usage)
        context = await engine.context()
        print(f"{engine.head} messages, {len(windows)} windows, level {context.level:,} of {LIMIT:,} tokens")
        for name, tokens in context.categories.items():
            print(f"  {name:<24} {tokens:>7,}")


def ask(body: dict, turn: int) -> tuple[Message, Usage]:
    """Stands for a provider: answers a body of the Messages API, or refuses one that is too long."""
    size = len(str(body)) // 4
    if size > LIMIT:
        raise ModelError(
            ErrorKind.CONTEXT_OVERFLOW, f"prompt is too long: {size} tokens > {LIMIT} maximum", limit=LIMIT, used=size
        )
    last = body["messages"][-1]["content"]
    if any(block["type"] == "tool_result" for block in last):
        answer = Message(
            id="", role="assistant", origin="model", parts=(Text(f"file_{turn}.py is sound."),), finish=Finish.STOP
        )
        return answer, Usage(fresh=size, output=12)
    listing = "\n".join(f"{line}: value_{line} = compute(value_{line - 1}, turn={turn})" for line in range(1, 80))
    call = ToolCall(
        call_id=f"call_{turn}",
        name="read_file",
        arguments={"path": f"file_{turn}.py"},
        state="completed",
        result=(Text(listing),),
    )
    return Message(id="", role="assistant", origin="model", parts=(call,), finish=Finish.TOOL_CALLS), Usage(
        fresh=size, output=40
    )


if __name__ == "__main__":
    asyncio.run(main())
