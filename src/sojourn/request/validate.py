"""What a provider would refuse in a request (Q-3)."""

import re

from sojourn.models import Protocol
from sojourn.wire import CallPart, ImagePart, ModelRequest, ReasoningPart, RequestSettings, ResultPart, TextPart, WireMessage

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GEMINI_NAME = re.compile(r"[a-zA-Z_].*")
_BEFORE_TALK = ("context", "opening")
_APART = ("chat", "responses")
"""Protocols that take several answers of the model in a row."""
_MARKS = 4
_CALL_ID_MOST = 64
_THINKING_LEAST = 1_024
"""Tokens: the smallest budget that the protocol takes."""


def problems(request: ModelRequest, protocol: Protocol) -> list[str]:
    """Everything that is wrong with the request, one line each; empty = a provider takes it."""
    found = _roles(request.messages, protocol) + _calls(request.messages) + _blanks(request)
    names = [tool.name for tool in request.tools]
    found += [f"tool {name}: defined twice" for name in sorted({name for name in names if names.count(name) > 1})]
    found += [f"tool {name!r}: not a name that providers take" for name in names if not _TOOL_NAME.fullmatch(name)]
    match protocol:
        case "anthropic":
            found += _anthropic(request) + _anthropic_system(request.messages) + _anthropic_thinking(request.settings)
        case "responses":
            found += _responses(request)
        case "gemini":
            found += _gemini(request)
        case "chat":
            pass
    return found


def _roles(messages: tuple[WireMessage, ...], protocol: Protocol) -> list[str]:
    found = []
    if not any(message.role == "user" for message in messages):
        return ["no user-role message"]
    if messages[0].role != "user":
        found.append(f"message 0: the first is of role {messages[0].role}")
    if messages[-1].role == "assistant":
        found.append("the last message is the model's: there is nothing to answer")
    for index, message in enumerate(messages):
        found += [f"message {index}: {what} in a message of role {message.role}" for what in _misplaced(message)]
        if index and _clash(messages[index - 1], message, protocol):
            found.append(f"message {index}: a second one of role {message.role} in a row")
    return found


def _clash(one: WireMessage, two: WireMessage, protocol: Protocol) -> bool:
    if one.role != two.role or (protocol in _APART and one.role == "assistant"):
        return False
    marked_opening = protocol == "anthropic" and all(part.about.kind in _BEFORE_TALK for part in one.parts)
    return not marked_opening


def _misplaced(message: WireMessage) -> list[str]:
    match message.role:
        case "user":
            allowed: tuple[type, ...] = (TextPart, ImagePart, ResultPart)
        case "assistant":
            allowed = (TextPart, ReasoningPart, CallPart)
        case "system":
            allowed = (TextPart,)
    return [type(part).__name__ for part in message.parts if not isinstance(part, allowed)]


def _calls(messages: tuple[WireMessage, ...]) -> list[str]:
    """Every call answered once, by the message right behind it, before any other part."""
    found = []
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        results = [part.call_id for part in message.parts if isinstance(part, ResultPart)]
        if results != waiting:
            found.append(f"message {index}: answers {results}, the calls before it are {waiting}")
        if any(not isinstance(part, ResultPart) for part in message.parts[: len(results)]):
            found.append(f"message {index}: a result stands behind another part")
        waiting = [part.call_id for part in message.parts if isinstance(part, CallPart)]
        for call_id in waiting:
            if call_id in seen:
                found.append(f"message {index}: call id {call_id!r} was used before")
            seen.add(call_id)
        names = [part.name for part in message.parts if isinstance(part, CallPart | ResultPart)]
        found += [f"message {index}: tool name {name!r}" for name in names if not _TOOL_NAME.fullmatch(name)]
    if waiting:
        found.append(f"the calls {waiting} are never answered")
    return found


def _blanks(request: ModelRequest) -> list[str]:
    found = [f"system block {index}: blank" for index, block in enumerate(request.system) if not block.text.strip()]
    for index, message in enumerate(request.messages):
        if not message.parts:
            found.append(f"message {index}: no parts")
        for part in message.parts:
            if isinstance(part, ResultPart) and not part.content:
                found.append(f"message {index}: the result of {part.call_id} is empty")
            texts = part.content if isinstance(part, ResultPart) else (part,)
            found += [f"message {index}: blank text" for one in texts if isinstance(one, TextPart) and not one.text.strip()]
    return found


def _anthropic(request: ModelRequest) -> list[str]:
    found = []
    marks = sum(block.mark is not None for block in request.system) + sum(one.mark is not None for one in request.messages)
    if marks > _MARKS:
        found.append(f"{marks} cache marks: the protocol takes {_MARKS}")
    for index, message in enumerate(request.messages):
        for part in message.parts:
            if isinstance(part, CallPart) and not _CALL_ID.fullmatch(part.call_id):
                found.append(f"message {index}: call id {part.call_id!r} is not one that the protocol takes")
            if isinstance(part, ReasoningPart) and not (part.signature or part.redacted):
                found.append(f"message {index}: thinking without its signature")
    return found + _only_thinking(request.messages)


def _anthropic_system(messages: tuple[WireMessage, ...]) -> list[str]:
    """A message of role system stands behind a user's and before the model's, or at the end; it carries no mark (Q-6)."""
    found = []
    for index, message in enumerate(messages):
        if message.role != "system":
            continue
        if index and messages[index - 1].role == "assistant":
            found.append(f"message {index}: a system message behind one of role assistant")
        if index + 1 < len(messages) and messages[index + 1].role == "user":
            found.append(f"message {index}: a system message before one of role user")
        if message.mark:
            found.append(f"message {index}: a cache mark on a system message")
    return found


def _anthropic_thinking(settings: RequestSettings) -> list[str]:
    if settings.thinking is None or not settings.thinking.isdecimal():
        return []
    budget = int(settings.thinking)
    found = []
    if budget < _THINKING_LEAST:
        found.append(f"thinking of {budget:,} tokens: the protocol takes {_THINKING_LEAST:,} or more")
    if settings.tool_choice not in (None, "auto", "none"):
        found.append(f"tool choice {settings.tool_choice!r}: not while the model thinks")
    return found


def _responses(request: ModelRequest) -> list[str]:
    found = []
    for index, message in enumerate(request.messages):
        for part in message.parts:
            if isinstance(part, CallPart) and not 0 < len(part.call_id) <= _CALL_ID_MOST:
                found.append(f"message {index}: call id {part.call_id!r} is not one that the protocol takes")
            if isinstance(part, ReasoningPart) and not part.redacted:
                found.append(f"message {index}: thinking without its encrypted content")
    return found + _only_thinking(request.messages)


def _gemini(request: ModelRequest) -> list[str]:
    found = [f"tool {one.name!r}: a name begins with a letter" for one in request.tools if not _GEMINI_NAME.fullmatch(one.name)]
    for index, message in enumerate(request.messages):
        if message.role == "system":
            found.append(f"message {index}: the protocol has no system messages in mid-conversation")
    return found + _only_thinking(request.messages)


def _only_thinking(messages: tuple[WireMessage, ...]) -> list[str]:
    found = []
    for index, message in enumerate(messages):
        if message.parts and all(isinstance(part, ReasoningPart) for part in message.parts):
            found.append(f"message {index}: nothing but thinking")
    return found
