"""From prefix, window and stored messages to one request: a fold in order, without look-ahead (Q-1)."""

from collections.abc import Iterable
from typing import Literal

from sojourn.meter import estimate_text, estimate_value, total
from sojourn.record import Block, Message, PrefixSnapshot, ToolCall, Window
from sojourn.request import parts
from sojourn.request.marks import mark_places, put_marks
from sojourn.wire import (
    About,
    ModelRequest,
    ReasoningPart,
    RequestSettings,
    SystemBlock,
    TextPart,
    Tool,
    Traits,
    WireMessage,
    WirePart,
)

GOES_ON = "[The conversation goes on from here; what came before is not in view.]"
"""Opens a request whose first message would be the model's own: protocols want the user to begin (Q-3)."""

_FOREIGN_SUMMARY = "summary"


class Projection:
    """The request of one window, grown message by message.

    Extending costs the new messages only, and never changes a unit that was there before (Q-2). Reminders at or before
    the window's ``opened_at_seq`` are left out: those that still hold are placed anew (W-2). Messages come as the
    view holds them: in order, trimmed, without what an undo covers.
    """

    def __init__(self, prefix: PrefixSnapshot | None, window: Window | None, traits: Traits) -> None:
        self._traits = traits
        self._marks = traits.marks if traits.protocol == "anthropic" else 0
        """Other protocols cache prefixes by themselves (Q-5)."""
        self._system = tuple(SystemBlock(block.text, _about(block, "system")) for block in prefix.system) if prefix else ()
        self._tools = tuple(_tool(tool) for tool in prefix.tools) if prefix else ()
        self._opened_at = window.opened_at_seq if window else 0
        self._done: list[WireMessage] = []
        self._role: Literal["user", "assistant"] = "user"
        self._open: list[WirePart] = []
        """The parts of the newest message, which what comes next may join."""
        self._call_ids: set[str] = set()
        self._append("user", [_block(block, "context") for block in (prefix.context if prefix else ())])
        self._append("user", [_block(block, "opening") for block in (window.opening if window else ())])
        if self._marks:
            self._close()

    def extend(self, messages: Iterable[Message]) -> None:
        """Adds messages, oldest first."""
        for message in messages:
            if message.origin == "import" and message.source == _FOREIGN_SUMMARY:
                continue
            if message.role == "user":
                self._add_user(message)
            else:
                self._add_assistant(message)

    def request(self, settings: RequestSettings, previous_seq: int | None = None) -> ModelRequest:
        """The request as it stands, with its cache marks (Q-5).

        ``previous_seq``: the newest seq that the request before held (``Call.upto_seq``); None = there was none.
        """
        messages = self._done.copy()
        if self._open:
            messages.append(WireMessage(self._role, tuple(self._open)))
        in_system, in_messages = mark_places(self._system, messages, self._marks, previous_seq)
        system = put_marks(list(self._system), in_system)
        return ModelRequest(system, self._tools, put_marks(messages, in_messages), settings)

    def _add_user(self, message: Message) -> None:
        reminders = message.seq == 0 or message.seq > self._opened_at
        for part in message.parts:
            self._append("user", parts.user_part(part, message, self._traits, reminders=reminders))

    def _add_assistant(self, message: Message) -> None:
        thinking = parts.reasoning(message, self._traits) and not self._joins_unthinking()
        said: list[WirePart] = []
        results: list[WirePart] = []
        seq = message.seq or None
        own = message.model == self._traits.name
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                call_id = parts.call_id(part, message.seq, index, self._call_ids, self._traits)
                said.append(parts.call(part, call_id, seq, own=own))
                results.append(parts.result(part, call_id, seq, self._traits))
            else:
                said += parts.assistant_part(part, message, thinking=thinking)
        if all(isinstance(part, ReasoningPart) for part in said):
            return
        if not self._done and not self._open:
            about = About("opening", "goes_on", None, total(estimate_text(GOES_ON)))
            self._append("user", [TextPart(GOES_ON, about)])
        self._append("assistant", said)
        self._append("user", results)

    def _joins_unthinking(self) -> bool:
        """Whether an assistant message would join one without thinking: then it goes without, as one whole message."""
        return self._role == "assistant" and not isinstance(self._open[0], ReasoningPart)

    def _append(self, role: Literal["user", "assistant"], new: list[WirePart]) -> None:
        """Neighbours of one role become one message; Chat wants that of the user's only."""
        if not new:
            return
        if role != self._role or (role == "assistant" and self._traits.protocol == "chat"):
            self._close()
            self._role = role
        self._open += new

    def _close(self) -> None:
        if self._open:
            self._done.append(WireMessage(self._role, tuple(self._open)))
            self._open = []


def project(
    prefix: PrefixSnapshot | None,
    window: Window | None,
    messages: Iterable[Message],
    traits: Traits,
    settings: RequestSettings,
    previous_seq: int | None = None,
) -> ModelRequest:
    """The same fold in one go (Q-1)."""
    projection = Projection(prefix, window, traits)
    projection.extend(messages)
    return projection.request(settings, previous_seq)


def _about(block: Block, kind: str) -> About:
    return About(kind, block.section, None, block.tokens or total(estimate_text(block.text)))


def _block(block: Block, kind: str) -> TextPart:
    return TextPart(block.text, _about(block, kind))


def _tool(tool: dict[str, object]) -> Tool:
    name, description, schema = str(tool["name"]), str(tool["description"]), tool["schema"]
    assert isinstance(schema, dict)
    tokens = total(estimate_text(name)) + total(estimate_text(description)) + total(estimate_value(schema))
    return Tool(name, description, schema, About("tools", name, None, tokens))
