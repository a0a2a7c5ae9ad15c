"""Where one request stops repeating another, in words for a person (A-7, P-7)."""

from collections.abc import Iterator

import msgspec

from sojourn.wire import About, ModelRequest, ResultPart


class Change(msgspec.Struct, frozen=True):
    part: str
    """``tool read``, ``system/stable``, ``context/rules``, ``message 12 (result read)``, ``settings``."""
    shared: int
    """Uncalibrated tokens before it: what a provider can still read from its cache."""


def changed_part(old: ModelRequest, new: ModelRequest) -> Change | None:
    """The first part of ``old`` that ``new`` does not repeat; None = ``new`` extends it (Q-2). Marks do not count."""
    if (old.settings.model, old.settings.thinking, old.settings.tool_choice) != (
        new.settings.model,
        new.settings.thinking,
        new.settings.tool_choice,
    ):
        return Change("settings", 0)
    shared = 0
    theirs = _parts(new)
    for name, part, tokens in _parts(old):
        if next(theirs, (name, None, 0))[1] != part:
            return Change(name, shared)
        shared += tokens
    return None


def _parts(request: ModelRequest) -> Iterator[tuple[str, object, int]]:
    for tool in request.tools:
        yield f"tool {tool.name}", (tool.name, tool.description, tool.schema), tool.about.tokens
    yield "the end of the tools", None, 0
    for block in request.system:
        yield f"system/{block.about.name}", block.text, block.about.tokens
    yield "the end of the system blocks", None, 0
    for message in request.messages:
        for part in message.parts:
            tokens = part.about.tokens
            if isinstance(part, ResultPart):
                tokens += sum(one.about.tokens for one in part.content)
            yield _name(part.about), (message.role, part), tokens


def _name(about: About) -> str:
    where = f"message {about.seq}" if about.seq else about.kind
    what = f"{about.kind} {about.name}".strip() if about.seq else about.name
    return f"{where} ({what})" if about.seq else f"{where}/{what}"
