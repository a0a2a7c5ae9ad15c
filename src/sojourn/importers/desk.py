"""Where imported messages wait for their results, in file order and within bounds (R-3, R-14).

A call and its result are one part, but files write the result later. A message leaves when everything before it has
left, no more of it can come, and its calls are answered. At most ``MAX_WAITING`` messages or ``MAX_BYTES`` wait: past
that the oldest one leaves with its open calls as ``interrupted``, and a result that comes later is an orphan.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from sojourn.base import Finish, Usage
from sojourn.importers.fields import title_of
from sojourn.importers.types import Imported, SessionStart
from sojourn.record import Message, Origin, Part, ResultPart, Text, ToolCall
from sojourn.record.types import Role

MAX_WAITING = 2_000
MAX_BYTES = 64 * 1024 * 1024
PATIENCE = 100
"""Messages that may wait behind one that could still grow by further lines, or for a session's title
and model, which come with its first words."""


class Draft:
    """A message while lines may still add to it."""

    def __init__(  # noqa: PLR0913 - a row of plain fields
        self,
        session: str,
        role: Role,
        origin: Origin,
        *,
        source: str = "",
        created: int = 0,
        model: str = "",
        foreign_id: str = "",
        size: int = 0,
        parts: list[Part] | None = None,
        blobs: dict[str, bytes] | None = None,
        closed: bool = True,
    ) -> None:
        self.session = session
        self.role: Role = role
        self.origin: Origin = origin
        self.source = source
        self.created = created
        self.model = model
        self.foreign_id = foreign_id
        self.size = size
        self.parts: list[Part] = [] if parts is None else parts
        self.blobs: dict[str, bytes] = {} if blobs is None else blobs
        self.closed = closed
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.open: dict[int, str] = {}
        """Index of each unanswered call, with the key it waits under."""
        self.left = False

    def complete(self) -> Imported:
        """The finished message; calls still open are interrupted."""
        for index in self.open:
            part = self.parts[index]
            if isinstance(part, ToolCall):
                self.parts[index] = msgspec.structs.replace(part, state="interrupted")
        finish = self.finish
        if self.role == "assistant" and finish is None:
            calls = any(isinstance(part, ToolCall) for part in self.parts)
            finish = Finish.TOOL_CALLS if calls else Finish.STOP
        message = Message(
            id="",
            role=self.role,
            origin=self.origin,
            parts=tuple(self.parts),
            created=self.created,
            source=self.source,
            model=self.model,
            finish=finish,
            usage=self.usage,
            foreign_id=self.foreign_id,
        )
        return Imported(self.session, message, self.blobs)


class Desk:
    """Takes drafts and results in file order, gives messages in file order."""

    def __init__(self) -> None:
        self._queue: deque[Draft] = deque()
        self._bytes = 0
        self._waiting: dict[str, deque[tuple[Draft, int]]] = {}
        self._sessions: dict[str, SessionStart] = {}
        self._begun: set[str] = set()

    def begin(self, start: SessionStart) -> None:
        """A session is known; the first word about it counts, later ones fill what is still empty."""
        known = self._sessions.get(start.foreign_id)
        if known is None:
            self._sessions[start.foreign_id] = start
        elif start.foreign_id not in self._begun:
            fields = ("title", "cwd", "model", "created", "parent_foreign_id")
            gained: dict[str, Any] = {name: getattr(known, name) or getattr(start, name) for name in fields}
            self._sessions[start.foreign_id] = msgspec.structs.replace(known, **gained)

    def add(self, draft: Draft) -> Draft:
        """The draft takes its place in the order."""
        self._queue.append(draft)
        self._bytes += draft.size
        if draft.session not in self._sessions:
            self._sessions[draft.session] = SessionStart(draft.session)
        self.learn(draft)
        return draft

    def grow(self, draft: Draft, size: int) -> None:
        draft.size += size
        if not draft.left:
            self._bytes += size

    def call(self, draft: Draft, call: ToolCall, key: str) -> None:
        """Adds a call that waits for its result under ``key``."""
        index = len(draft.parts)
        draft.parts.append(call)
        draft.open[index] = key
        self._waiting.setdefault(key, deque()).append((draft, index))

    def knows(self, key: str) -> bool:
        return key in self._waiting

    def answer(
        self, key: str, result: tuple[ResultPart, ...], *, failed: bool, ended: int, blobs: dict[str, bytes], size: int
    ) -> bool:
        """Gives the oldest call that waits under ``key`` its result; False where none waits."""
        slots = self._waiting.get(key)
        if not slots:
            return False
        draft, index = slots.popleft()
        if not slots:
            del self._waiting[key]
        del draft.open[index]
        part = draft.parts[index]
        if isinstance(part, ToolCall):
            draft.parts[index] = msgspec.structs.replace(
                part, state="error" if failed else "completed", result=result, ended=ended or None
            )
        draft.blobs.update(blobs)
        self.grow(draft, size)
        return True

    def orphan(self, session: str, call_id: str, result: tuple[ResultPart, ...], draft: Draft) -> None:
        """A result without its call: kept as text of the other program, never as an invented call."""
        texts = [Text(f"Result of a call that is not in the file ({call_id or 'no id'}):"), *result]
        draft.parts.extend(texts)
        draft.session = session
        self.add(draft)

    def leave(self, *, final: bool = False) -> Iterator[SessionStart | Imported]:
        """The messages that are ready; all of them at the end of the file."""
        while self._queue:
            head = self._queue[0]
            crowded = len(self._queue) > MAX_WAITING or self._bytes > MAX_BYTES
            if not (final or crowded or self._is_ready(head)):
                return
            yield from self._start(head.session)
            self._queue.popleft()
            self._bytes -= head.size
            head.left = True
            self._forget(head)
            complete = head.complete()
            head.parts, head.blobs = [], {}  # an importer may still know the draft: its content must not stay
            yield complete

    def finish(self) -> Iterator[SessionStart | Imported]:
        """Everything left, and the sessions in which nothing was said."""
        yield from self.leave(final=True)
        for name in self._sessions:
            yield from self._start(name)

    def _start(self, session: str) -> Iterator[SessionStart]:
        """A session begins once, and after the one that it came from."""
        if session in self._begun or session not in self._sessions:
            return
        self._begun.add(session)
        start = self._sessions[session]
        yield from self._start(start.parent_foreign_id)
        yield start

    def _is_ready(self, head: Draft) -> bool:
        if head.open:
            return False
        start = self._sessions[head.session]
        known = head.session in self._begun or bool(start.title and start.model)
        return (head.closed and known) or len(self._queue) > PATIENCE

    def learn(self, draft: Draft) -> None:
        """A session's title is the first line that a person wrote (for a sub-agent: its task), unless it has begun."""
        if draft.session in self._begun:
            return
        start = self._sessions[draft.session]
        created = start.created or draft.created
        model = start.model or (draft.model if draft.origin == "model" else "")
        title = start.title
        if not title and (draft.origin == "user" or draft.source == "task"):
            title = title_of(next((part.text for part in draft.parts if isinstance(part, Text) and part.text.strip()), ""))
        self._sessions[draft.session] = msgspec.structs.replace(start, created=created, model=model, title=title)

    def _forget(self, draft: Draft) -> None:
        for index, key in draft.open.items():
            slots = self._waiting.get(key)
            if slots and (draft, index) in slots:
                slots.remove((draft, index))
                if not slots:
                    del self._waiting[key]
