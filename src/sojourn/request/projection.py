"""From prefix, window and stored messages to one request: a fold in order, without look-ahead (Q-1)."""

from collections.abc import Iterable
from itertools import groupby
from typing import Literal

from sojourn.meter import estimate_text, estimate_value, total
from sojourn.record import Block, Message, PrefixSnapshot, Reminder, ToolCall, Window
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
UNANSWERED = "[No answer came here.]"
"""Stands for the model between a system message and what the user says next: the step that the system message was placed
for ended without a word. Anthropic refuses any other neighbour, and the system message itself was sent already (Q-2)."""

_FOREIGN_SUMMARY = "summary"
Role = Literal["user", "assistant", "system"]


class Projection:
    """The request of one window, grown message by message.

    Extending costs the new messages only, and never changes a unit that was there before (Q-2). Where there was a window
    before this one, reminders at or before ``opened_at_seq`` are left out: those that still hold are placed anew (W-2). So
    is thinking: it was signed for that window (report 61). Messages come as the view holds them: in order, trimmed,
    without what an undo covers. ``prefix_since``: the newest seq before the present prefix took the place of
    another one inside this window (P-7); thinking up to there was signed for that one.

    A reminder goes as a system message where it was stored as one and the model takes them, behind the user's message, tool
    results or another one of its kind; else wrapped. What stands before it decides, nothing later does (Q-1).
    """

    def __init__(self, prefix: PrefixSnapshot | None, window: Window | None, traits: Traits, *, prefix_since: int = 0) -> None:
        self._traits = traits
        self._marks = traits.marks if traits.protocol == "anthropic" else 0
        """Other protocols cache prefixes by themselves (Q-5)."""
        self._system = tuple(SystemBlock(block.text, _about(block, "system")) for block in prefix.system) if prefix else ()
        self._tools = tuple(_tool(tool) for tool in prefix.tools) if prefix else ()
        self._opened_at = window.opened_at_seq if window and window.number > 1 else 0
        """What a window before this one held; the first one has none before it."""
        self._signed_after = max(self._opened_at, prefix_since)
        self._done: list[WireMessage] = []
        self._role: Role = "user"
        self._open: list[WirePart] = []
        """The parts of the newest message, which what comes next may join."""
        self._call_ids: set[str] = set()
        self._pictures = parts.Pictures(traits)
        self._began_thinking: bool | None = None
        """Whether the calls of the running turn began with a thought that is sent; None = it has made none."""
        self._append("user", [_block(block, "context") for block in (prefix.context if prefix else ())])
        self._append("user", [_block(block, "opening") for block in (window.opening if window else ())])
        if self._marks:
            self._close()

    @property
    def thinks(self) -> bool:
        """Whether the model may be asked to think. Anthropic refuses it where the running turn has made calls whose first
        thought is not in the request: a boundary inside a turn takes it away (W-2)."""
        return self._traits.protocol != "anthropic" or self._began_thinking is not False

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

    def fork(self, extra: WireMessage, settings: RequestSettings, previous_seq: int | None = None) -> ModelRequest:
        """The same request with the same marks and one more message of the user's role, without a mark: a writer's, whose
        input is a cache read (Q-7). The projection does not change.

        Behind a message that carries a mark the extra one stands by itself, so that the mark keeps its place; else it
        joins a user message before it.
        """
        request = self.request(settings, previous_seq)
        messages = list(request.messages)
        last = messages[-1] if messages else None
        if last is not None and last.role == "system" and self._traits.protocol == "anthropic":
            messages.append(_unanswered())
        if last is not None and last.role == "user" and last.mark is None:
            messages[-1] = WireMessage("user", (*last.parts, *extra.parts))
        else:
            messages.append(extra)
        return ModelRequest(request.system, request.tools, tuple(messages), settings)

    def _add_user(self, message: Message) -> None:
        """Runs of parts that go in one role; reminders that were placed together stay one message."""
        if message.origin == "user":
            self._began_thinking = None
        reminders = message.seq == 0 or message.seq > self._opened_at
        for are_reminders, run in groupby(message.parts, lambda part: isinstance(part, Reminder)):
            if not are_reminders:
                for part in run:
                    self._append("user", parts.user_part(part, message, self._pictures))
            elif reminders:
                self._add_reminders([part for part in run if isinstance(part, Reminder)], message.seq or None)

    def _add_reminders(self, run: list[Reminder], seq: int | None) -> None:
        """What stands before the first of them decides for all."""
        takes = self._takes_system()
        for system, same in groupby(run, lambda part: takes and parts.as_system(part, self._traits)):
            said: list[WirePart] = [parts.reminder(part, seq, system=system) for part in same if part.body.strip()]
            self._append("system" if system else "user", said)

    def _takes_system(self) -> bool:
        """Whether what stands last is the user's, a result, or a system message that may grow. One of Chat's is a single
        string that was sent already, and two in a row are refused by many servers."""
        if not self._open:
            return bool(self._done)
        return self._role == "user" or (self._role == "system" and self._traits.protocol != "chat")

    def _add_assistant(self, message: Message) -> None:
        thinking = parts.reasoning(message, self._traits, self._signed_after) and not self._joins_unthinking()
        said: list[WirePart] = []
        results: list[WirePart] = []
        seq = message.seq or None
        own = message.model == self._traits.name
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                call_id = parts.call_id(part, message.seq, index, self._call_ids, self._traits)
                said.append(parts.call(part, call_id, seq, own=own))
                results.append(parts.result(part, call_id, seq, self._traits, self._pictures))
            else:
                said += parts.assistant_part(part, message, thinking=thinking)
        if all(isinstance(part, ReasoningPart) for part in said):
            return
        if not self._done and not self._open:
            about = About("opening", "goes_on", None, total(estimate_text(GOES_ON)))
            self._append("user", [TextPart(GOES_ON, about)])
        if results and self._began_thinking is None:
            self._began_thinking = isinstance(said[0], ReasoningPart)
        self._append("assistant", said)
        self._append("user", results)

    def _joins_unthinking(self) -> bool:
        """Whether an assistant message would join one without thinking: then it goes without, as one whole message."""
        apart = self._traits.protocol == "chat"
        return not apart and self._role == "assistant" and not isinstance(self._open[0], ReasoningPart)

    def _append(self, role: Role, new: list[WirePart]) -> None:
        """Neighbours of one role become one message; Chat does not want that of the model's."""
        if not new:
            return
        protocol = self._traits.protocol
        if role != self._role or (role == "assistant" and protocol == "chat"):
            self._close()
            if role == "user" and self._role == "system" and protocol == "anthropic":
                self._done.append(_unanswered())
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


def _unanswered() -> WireMessage:
    return WireMessage(
        "assistant", (TextPart(UNANSWERED, About("assistant", "unanswered", None, total(estimate_text(UNANSWERED)))),)
    )


def _about(block: Block, kind: str) -> About:
    return About(kind, block.section, None, block.tokens or total(estimate_text(block.text)))


def _block(block: Block, kind: str) -> TextPart:
    return TextPart(block.text, _about(block, kind))


def _tool(tool: dict[str, object]) -> Tool:
    name, description, schema = str(tool["name"]), str(tool["description"]), tool["schema"]
    assert isinstance(schema, dict)
    tokens = total(estimate_text(name)) + total(estimate_text(description)) + total(estimate_value(schema))
    return Tool(name, description, schema, About("tools", name, None, tokens))
