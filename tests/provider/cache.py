"""Prefix caches by their providers' rules, on a clock that only tests move."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from provider.prompt import Prompt
from provider.seen import Bill, Unit
from provider.terms import Dialect

LOOK_BACK = 20
"""Blocks that are tried for each mark, the marked one included."""
STEP = 128
_LIFETIME = {"1h": 3600.0}


class Clock:
    """Seconds since the provider began; they pass by ``advance`` only."""

    def __init__(self) -> None:
        self.now = 0.0

    def advance(self, seconds: float) -> None:
        """Moves the clock on."""
        self.now += seconds


@dataclass(frozen=True)
class Found:
    """What a request reads from the cache: tokens, and how many whole units from the start."""

    bill: Bill
    units: int


class MarkedCache:
    """Anthropic's: a prefix is stored where a mark stands and found by a mark at most 19 blocks behind it.

    Order of the prefix: tools, system, settings of the messages' part, messages. A hit keeps its entry for another lifetime.
    A prefix shorter than ``minimum`` tokens is not stored. What lies between the longest hit and the last mark is written.
    """

    def __init__(self, clock: Clock, ttl: float, minimum: int) -> None:
        self._clock, self._ttl, self._minimum = clock, ttl, minimum
        self._until: dict[bytes, tuple[float, float]] = {}
        """Hash of a prefix to its end and its lifetime."""

    def look(self, prompt: Prompt) -> Found:
        """Reads, stores, and gives the bill of the input."""
        digest = hashlib.sha256(prompt.house.encode())
        hashes, sizes, blocks, total = [], [], [], 0
        for at, (unit, key) in enumerate(zip(prompt.units, prompt.keys(), strict=True)):
            digest.update(len(key).to_bytes(8, "big") + key)
            total += unit.tokens
            hashes.append(digest.copy().digest())
            sizes.append(total)
            if unit.block:
                blocks.append(at)
        read, read_at = 0, -1
        for mark in sorted(prompt.marks):
            place = blocks.index(mark)
            for at in reversed(blocks[max(0, place - LOOK_BACK + 1) : place + 1]):
                end, life = self._until.get(hashes[at], (-1.0, 0.0))
                if end > self._clock.now:
                    self._until[hashes[at]] = (self._clock.now + life, life)
                    if sizes[at] > read:
                        read, read_at = sizes[at], at
                    break
        written = {"5m": 0, "1h": 0}
        stored_to = read
        for mark in sorted(prompt.marks):
            if sizes[mark] < self._minimum:
                continue
            life = _LIFETIME.get(prompt.marks[mark], self._ttl)
            self._until[hashes[mark]] = (self._clock.now + life, life)
            if sizes[mark] > stored_to:
                written[prompt.marks[mark]] += sizes[mark] - stored_to
                stored_to = sizes[mark]
        bill = Bill(fresh=total - stored_to, read=read, write=written["5m"], long_write=written["1h"])
        return Found(bill, read_at + 1)


@dataclass
class _Node:
    children: dict[bytes, "_Node"] = field(default_factory=dict)
    until: float = -1.0


class PrefixCache:
    """OpenAI's and Gemini's: every prompt is stored, the longest common beginning is read in steps of 128 tokens (``step``).

    Nothing below ``minimum`` tokens is read. Inside the first unit that differs the common bytes count, four to a token.
    """

    def __init__(self, clock: Clock, ttl: float, minimum: int, step: int = STEP) -> None:
        self._clock, self._ttl, self._minimum, self._step = clock, ttl, minimum, step
        self._roots: dict[str, _Node] = {}

    def look(self, prompt: Prompt) -> Found:
        """Reads, stores, and gives the bill of the input."""
        now = self._clock.now
        keys = prompt.keys()
        node = self._roots.setdefault(prompt.house, _Node())
        common, deep = 0, 0
        for unit, key in zip(prompt.units, keys, strict=True):
            child = node.children.get(key)
            if child is None or child.until <= now:
                common += self._inside(node, unit, key)
                break
            node, common, deep = child, common + unit.tokens, deep + 1
        total = prompt.tokens
        read = min(common, max(0, total - 1)) // self._step * self._step
        if read < self._minimum:
            read = 0
        node = self._roots[prompt.house]
        for key in keys:
            node = node.children.setdefault(key, _Node())
            node.until = now + self._ttl
        return Found(Bill(fresh=total - read, read=read), _whole(prompt.units, read, deep))

    def _inside(self, node: _Node, unit: Unit, key: bytes) -> int:
        best = 0
        for other, child in node.children.items():
            if child.until > self._clock.now:
                best = max(best, _shared(key, other))
        return min(unit.tokens, best // 4)


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two strings have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _whole(units: Sequence[Unit], read: int, deep: int) -> int:
    """How many whole units ``read`` tokens cover, at most ``deep``; settings in front count as read with what follows."""
    covered, total = 0, 0
    for at, unit in enumerate(units[:deep], 1):
        total += unit.tokens
        if total > read:
            break
        covered = at if read else 0
    return covered


def cache_of(api: str, dialect: Dialect, clock: Clock, ttl: float, minimum: int) -> MarkedCache | PrefixCache:
    """The cache of one protocol: llama.cpp compares token by token and from the first one, DeepSeek in steps of 64."""
    if api == "anthropic":
        return MarkedCache(clock, ttl, minimum)
    if api == "gemini":
        return PrefixCache(clock, ttl, minimum, step=1)
    if dialect == "llama.cpp":
        return PrefixCache(clock, ttl, 0, step=1)
    return PrefixCache(clock, ttl, minimum, step=64 if dialect == "deepseek" else STEP)
