"""What the provider keeps of every request."""

import time
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Unit:
    """A piece of a request as it is cached: its bytes as they came, in compact JSON, with its role and without marks.

    ``block`` is False for the settings of the cache key, which are no piece of the prompt.
    """

    label: str
    """``settings``, ``tool read``, ``system 2``, ``message 12 user part 1`` (all from 1)."""
    data: bytes
    tokens: int
    block: bool = True


@dataclass(frozen=True)
class Bill:
    """Input tokens of one request by their price, and output tokens.

    ``read`` came from the cache, ``write`` and ``long_write`` (one hour) were stored, ``fresh`` is the rest.
    """

    fresh: int = 0
    read: int = 0
    write: int = 0
    long_write: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        return self.fresh + self.read + self.write + self.long_write

    @property
    def cost(self) -> float:
        """In units of one fresh input token: reads 0.1, writes 1.25, writes for an hour 2. Output is left out."""
        return (100 * self.fresh + 10 * self.read + 125 * self.write + 200 * self.long_write) / 100


@dataclass
class Seen:
    """One request, in the order of arrival. The fields below ``status`` are set when it is answered."""

    number: int
    """From 1."""
    api: str
    """``anthropic``, ``chat``, ``responses``, ``gemini``; ``count``, ``models`` or empty for what is no request to a model."""
    method: str
    path: str
    """Without the query."""
    query: str
    headers: dict[str, str]
    """Names in lower case."""
    raw: bytes
    """The body exactly as it came."""
    at: float
    """The provider's clock."""
    body: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    stream: bool = False
    time: float = field(default_factory=time.time)
    status: int = 0
    """0 = no head was sent (yet)."""
    problems: list[str] = field(default_factory=list)
    """Why it was refused, in the provider's words."""
    bill: Bill = Bill()
    usage: dict[str, Any] | None = None
    """What was reported, in the protocol's shape."""
    units: list[Unit] = field(default_factory=list)
    read_units: list[Unit] = field(default_factory=list)
    """The whole units that came from the cache."""
    fault: str = ""
    gone: bool = False
    """The client went away before the end of the answer."""
    done: bool = False
    """The last byte of the answer was sent, or the fault is over."""

    @property
    def ok(self) -> bool:
        return self.status == 200 and not self.problems

    @property
    def tools(self) -> list[str]:
        """Names of the tools offered."""
        return [unit.label.removeprefix("tool ") for unit in self.units if unit.label.startswith("tool ")]

    def said(self, role: str = "") -> str:
        """The units of that role (``user``, ``assistant``, ``system``, ``tool``) as text, one a line; all of them without
        one.
        """
        return "\n".join(unit.data.decode() for unit in self.units if not role or role in _roles(unit.label))

    @property
    def last(self) -> str:
        """The bytes of the last unit, as text."""
        return self.units[-1].data.decode() if self.units else ""


def _roles(label: str) -> tuple[str, ...]:
    words = label.split(" ")
    return (words[2],) if words[0] == "message" else (words[0],) if words[0] == "system" else ()


@dataclass(frozen=True)
class Break:
    """A request that does not extend the one before it."""

    before: Seen
    after: Seen
    index: int
    """The first unit of the request before that is not repeated."""
    was: Unit
    now: Unit | None
    """None = the later request ends here."""

    def __str__(self) -> str:
        now = f"{self.now.label}: {self.now.data[:300]!r}" if self.now else "(ends)"
        return (
            f"request {self.after.number} does not extend {self.before.number}: unit {self.index}"
            f"\n  was {self.was.label}: {self.was.data[:300]!r}\n  now {now}"
        )
