"""What a change of the prefix is made of, and what it costs (P-7)."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from sojourn.meter import estimate_text, estimate_value, total
from sojourn.record import Block, PrefixSnapshot


class Difference(msgspec.Struct, frozen=True):
    """One part that is not the same. Uncalibrated tokens; ``before`` 0 = it is new, ``after`` 0 = it is gone."""

    part: str
    """``tool <name>``, ``system <block>``, ``context <block>``; ``order``: the same parts, otherwise placed."""
    before: int
    after: int


class _Part(msgspec.Struct, frozen=True):
    name: str
    content: object
    tokens: int


def difference(old: PrefixSnapshot, new: PrefixSnapshot) -> tuple[Difference, ...]:
    """Every part that differs, in the order in which providers cache: tools, system, context. () = the same bytes."""
    if old.id == new.id:
        return ()
    before = {part.name: part for part in _parts(old)}
    after = {part.name: part for part in _parts(new)}
    names = dict.fromkeys([*after, *before])
    found = tuple(
        Difference(name, before[name].tokens if name in before else 0, after[name].tokens if name in after else 0)
        for name in sorted(names, key=_rank)
        if name not in before or name not in after or before[name].content != after[name].content
    )
    return found or (Difference("order", old.tokens, new.tokens),)


def rewritten_tokens(old: PrefixSnapshot, new: PrefixSnapshot) -> int:
    """Tokens of ``new`` (uncalibrated) that a provider cannot read from its cache of ``old``: from the first part on that
    differs. What follows the prefix in a request is lost with them."""
    before, after = _parts(old), _parts(new)
    same = 0
    for one, two in zip(before, after, strict=False):
        if (_rank(one.name), one.content) != (_rank(two.name), two.content):
            break
        same += 1
    return sum(part.tokens for part in after[same:])


def _parts(snapshot: PrefixSnapshot) -> list[_Part]:
    tools = [_Part(f"tool {tool['name']}", tool, _tool_tokens(tool)) for tool in snapshot.tools]
    return [*tools, *_blocks("system", snapshot.system), *_blocks("context", snapshot.context)]


def _blocks(target: str, blocks: Iterable[Block]) -> list[_Part]:
    """A host may give two sections one name: the second is called ``name 2``."""
    seen: Counter[str] = Counter()
    parts: list[_Part] = []
    for block in blocks:
        seen[block.section] += 1
        count = seen[block.section]
        name = f"{target} {block.section}" if count == 1 else f"{target} {block.section} {count}"
        parts.append(_Part(name, block.text, block.tokens))
    return parts


def _rank(name: str) -> int:
    return ("tool", "system", "context").index(name.split(" ", 1)[0])


def _tool_tokens(tool: dict[str, object]) -> int:
    texts = sum(total(estimate_text(str(tool[key]))) for key in ("name", "description"))
    return texts + total(estimate_value(tool["schema"]))
