"""Made-up sessions in a few words."""

from typing import Any

import msgspec

from sojourn.base import Finish, Item, ItemStatus, Section
from sojourn.checkpoint import WriterInput, extract
from sojourn.record import Message, Reasoning, Text, ToolCall, Touch


def user(text: str) -> Message:
    return Message(id="u", role="user", origin="user", parts=(Text(text),))


def engine(text: str) -> Message:
    return Message(id="e", role="user", origin="engine", parts=(Text(text),), source="rebuild")


def imported(text: str, role: str = "user") -> Message:
    return Message(id="i", role=role, origin="import", parts=(Text(text),), source="summary")


def says(text: str, finish: Finish | None = Finish.STOP) -> Message:
    return Message(id="a", role="assistant", origin="model", parts=(Text(text),), finish=finish)


def thinks(text: str) -> Message:
    return Message(id="t", role="assistant", origin="model", parts=(Reasoning(text),), finish=Finish.TOOL_CALLS)


def calls(
    name: str, result: str = "", *, failed: bool = False, touches: tuple[Touch, ...] = (), text: str = "", **arguments: Any
) -> Message:
    call = ToolCall(
        call_id="c",
        name=name,
        arguments=arguments,
        state="error" if failed else "completed",
        result=(Text(result),) if result else (),
        touches=touches,
    )
    return Message(
        id="a", role="assistant", origin="model", parts=(*([Text(text)] if text else []), call), finish=Finish.TOOL_CALLS
    )


def reads(path: str, result: str = "...", lines: tuple[int, int] | None = None) -> Message:
    return calls("Read", result, touches=(Touch(path, "read", lines),), file_path=path)


def edits(path: str, old: str = "old", new: str = "new text here", lines: tuple[int, int] | None = None) -> Message:
    return calls("Edit", "ok", touches=(Touch(path, "edit", lines),), file_path=path, old_string=old, new_string=new)


def runs(command: str, result: str = "", *, failed: bool = False, **more: Any) -> Message:
    return calls("Bash", result, failed=failed, command=command, **more)


def record(*messages: Message, after: int = 0) -> tuple[Message, ...]:
    return tuple(msgspec.structs.replace(message, seq=after + 1 + i) for i, message in enumerate(messages))


def run_of(*messages: Message, items: tuple[Item, ...] = (), trigger: int = 50_000, after: int = 0) -> WriterInput:
    return WriterInput(
        items=items, messages=record(*messages, after=after), range=(after, after + len(messages)), trigger=trigger
    )


def found(*messages: Message, items: tuple[Item, ...] = (), trigger: int = 50_000, after: int = 0) -> tuple[Item, ...]:
    return extract(run_of(*messages, items=items, trigger=trigger, after=after))


def texts(items: tuple[Item, ...], section: Section, status: ItemStatus = ItemStatus.OPEN) -> list[str]:
    return [item.text for item in items if item.section is section and item.status is status]
