"""One request taken apart for people and programs: its blocks, where each comes from, what the cache should hold (S-4, M-4).

Blocks stand in the order in which a provider caches them: settings, tools, system, then every part with its role.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from sojourn.models import canonical
from sojourn.request import first_difference
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import cut, harmless, one_line, table
from sojourn.surfaces.cli.render import paint, table_width, width
from sojourn.wire import About, CallPart, ImagePart, ModelRequest, ReasoningPart, ResultPart, TextPart, Tool, WirePart


class RequestBlock(msgspec.Struct, frozen=True):
    """One block of a request."""

    number: int
    """From 1; 0 is the settings that are part of the cache's key."""
    role: str
    """``settings``, ``tool``, ``system``, ``user`` or ``assistant``."""
    part: str
    """``text``, ``reasoning``, ``call``, ``result``, ``image``, ``schema``."""
    kind: str
    name: str
    seq: int | None
    tokens: int
    """Uncalibrated estimate; 0 = not counted apart."""
    mark: str | None
    cache: str
    """``read``: the request before had it at the same place; ``new``; empty = there is none before."""
    text: str


def blocks(request: ModelRequest, before: ModelRequest | None = None) -> list[RequestBlock]:
    """All blocks; ``before``: the request that was sent last, for what the cache should hold."""
    own = list(_blocks(request))
    if before is None:
        return own
    earlier = _units(list(_blocks(before)))
    shared = first_difference(_units(own), earlier)
    read = len(earlier) if shared is None else shared
    return [msgspec.structs.replace(block, cache="read" if at < read else "new") for at, block in enumerate(own)]


def _units(found: Sequence[RequestBlock]) -> list[bytes]:
    """What makes two blocks the same for a cache: role and content, not where we know it from."""
    return [canonical([block.role, block.part, block.name if block.role == "tool" else "", block.text]) for block in found]


def _blocks(request: ModelRequest) -> Iterator[RequestBlock]:
    settings = request.settings
    key = {"model": settings.model, "thinking": settings.thinking, "tool_choice": settings.tool_choice}
    yield _block(0, "settings", "settings", About("settings"), None, canonical(key).decode())
    number = 0
    for tool in request.tools:
        number += 1
        yield _block(number, "tool", "schema", msgspec.structs.replace(tool.about, name=tool.name), None, _tool_text(tool))
    for block in request.system:
        number += 1
        yield _block(number, "system", "text", block.about, block.mark, block.text)
    for message in request.messages:
        for index, part in enumerate(message.parts):
            number += 1
            last = index == len(message.parts) - 1
            name, text = _part(part)
            yield _block(number, message.role, name, _counted(part), message.mark if last else None, text)


def _block(number: int, role: str, part: str, about: About, mark: str | None, text: str) -> RequestBlock:
    return RequestBlock(number, role, part, about.kind, about.name, about.seq, about.tokens, mark, "", text)


def _tool_text(tool: Tool) -> str:
    return f"{tool.description}\n{canonical(tool.schema).decode()}"


def _counted(part: WirePart) -> About:
    """A result's tokens are those of what is in it."""
    if not isinstance(part, ResultPart) or part.about.tokens:
        return part.about
    return msgspec.structs.replace(part.about, tokens=sum(content.about.tokens for content in part.content))


def _part(part: WirePart) -> tuple[str, str]:
    match part:
        case TextPart():
            return "text", part.text
        case ReasoningPart():
            return "reasoning", part.text or f"[{len(part.redacted):,}]"
        case ImagePart():
            return "image", f"[{part.media_type} {part.blob}]"
        case CallPart():
            return "call", f"{part.name}({canonical(part.arguments).decode()})"
        case ResultPart():
            texts = [_part(content)[1] for content in part.content]
            return "result", ("[error] " if part.error else "") + "\n".join(texts)


# --- shown -----------------------------------------------------------------------------------------------------------


def request_report(found: Sequence[RequestBlock], head: str, *, full: bool) -> str:
    """A line a block, or (``full``) each block with its whole text under its line."""
    told = [paint(head, bold=True), ""]
    keys = ("number", "role", "part", "source", "tokens", "mark", "cache", "text")
    heads = [say(f"column_{key}") for key in keys]
    if not full:
        rows = [(*_row(block), one_line(block.text[:400])) for block in found]
        return "\n".join([*told, table(heads, rows, right=(0, 4), limit=table_width() or 200)])
    lines = table(heads[:-1], [_row(block) for block in found], right=(0, 4)).split("\n")
    told.append(paint(lines[0], bold=True))
    for line, block in zip(lines[1:], found, strict=True):
        told += [paint(line, bold=True), *(f"    {one}".rstrip() for one in harmless(block.text).split("\n")), ""]
    return "\n".join(told)


def _row(block: RequestBlock) -> tuple[str, ...]:
    source = " ".join(word for word in (block.kind, block.name, f"m{block.seq}" if block.seq else "") if word)
    tokens = f"{block.tokens:,}" if block.tokens else "-"
    return (str(block.number), block.role, block.part, one_line(source), tokens, block.mark or "", block.cache)


def difference(
    one: Sequence[RequestBlock], two: Sequence[RequestBlock]
) -> tuple[int | None, list[RequestBlock], list[RequestBlock]]:
    """Of two requests: index of the first block that is not the same in both (None: they are the same), then the blocks
    that only the first and only the second has, wherever they stand."""
    ours, theirs = _units(one), _units(two)
    first = first_difference(ours, theirs)
    if first is None and len(ours) > len(theirs):
        first = len(theirs)
    return first, _only(one, ours, theirs), _only(two, theirs, ours)


def _only(found: Sequence[RequestBlock], units: Sequence[bytes], others: Sequence[bytes]) -> list[RequestBlock]:
    left = Counter(others)
    alone = []
    for block, unit in zip(found, units, strict=True):
        if left[unit]:
            left[unit] -= 1
        else:
            alone.append(block)
    return alone


def difference_report(number: int, other: int, one: Sequence[RequestBlock], two: Sequence[RequestBlock], *, full: bool) -> str:
    """Where two requests part, and what each has for itself: ``-`` only in ``number``, ``+`` only in ``other``."""
    first, ours, theirs = difference(one, two)
    if first is None:
        return say("diff_same", one=number, two=other)
    there = [found[first] for found in (one, two) if first < len(found)]
    told = [say("diff_first", number=there[0].number, block=_label(there[0]), one=number, two=other)]
    if not ours and not theirs:
        told.append(say("diff_moved"))
    for sign, alone in (("-", ours), ("+", theirs)):
        for block in alone:
            text = harmless(block.text) if full else cut(one_line(block.text[:400]), max(20, width() - 34))
            told.append(f"{sign} {block.number:>4} {_label(block)}: {text}")
    return "\n".join(told)


def _label(block: RequestBlock) -> str:
    return one_line(" ".join(word for word in (block.role, block.part, block.kind, block.name) if word))
