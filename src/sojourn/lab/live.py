"""The live demonstration: the scripted model at work on a scratch repository, through the real agent (A-5, N9).

Nothing is replayed: the tools change real files, the tests really fail and pass, checkpoints are extracted in the
background, windows open when they are full. What has to survive is known beforehand and is looked for in the bytes that
left for the model.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from sojourn.agent import Agent
from sojourn.agent.types import AgentEvent, Called, CheckpointEvent, Metered, Returned, Said, StepStarted, TurnStarted
from sojourn.base import Clock, Finish, Ids, SystemClock, WorkFailed
from sojourn.config import Settings, folders
from sojourn.engine import WindowSummary, summarise
from sojourn.lab.continuity import plain_text
from sojourn.lab.demo import WINDOW
from sojourn.lab.journey import Mark, Point, Stay
from sojourn.lab.scene import Planted, Scene, set_up
from sojourn.lab.strategies import VIEWS
from sojourn.meter import Cost, estimate_text, total, units
from sojourn.models import canonical
from sojourn.models.scripted import Scripted
from sojourn.record import Message, Store, Window
from sojourn.record.sqlite import SqliteStore

_OTHERS = ("drop_oldest", "keep_last")
_CHECK = "./check "
_SHOWN = 2
"""Lines of a failed check that say why and how many."""


class Began(msgspec.Struct, frozen=True):
    """The scene is set."""

    title: str
    answers: int
    """Of the whole script."""
    folder: Path


class Opened(msgspec.Struct, frozen=True):
    """A window and its first request, as it left."""

    summary: WindowSummary
    held: tuple[Planted, ...]
    """Facts said before it opened and not taken back by then; of the first window none, for nothing had to survive."""
    missing: tuple[Planted, ...]
    """Those that do not stand in the bytes."""


class Proof(msgspec.Struct, frozen=True):
    """One command that failed and, after an edit, passed."""

    turn: int
    command: str
    before: str
    """The last lines of what it printed."""
    after: str


class Kept(msgspec.Struct, frozen=True):
    """The same session by another strategy, cut where ours opened windows, to the size that ours opened with."""

    name: str
    visible: int
    """Facts in view after every cut, counted as ours are."""
    asked: int


Moment = AgentEvent | Began | Opened | Proof
"""What can be told while it runs."""


class Live(msgspec.Struct, frozen=True):
    """What the demonstration came to."""

    title: str
    session_id: str
    window: int
    """Tokens of the model's window."""
    facts: tuple[Planted, ...]
    opened: tuple[Opened, ...]
    proofs: tuple[Proof, ...]
    turns: int
    steps: int
    calls: dict[str, int]
    """Tool calls by tool."""
    failed_calls: int
    """Results that were errors; those of tests that have to fail are among them."""
    requests: int
    without_task: int
    """Requests in which what the person had asked for last did not stand word for word."""
    result_tokens: int
    """Of all tool results as the model saw them."""
    checkpoints: int
    """Written in the background."""
    cost: Cost
    others: tuple[Kept, ...]
    missed: tuple[str, ...]
    """Expectations of the script that were not met: a result that was otherwise, something that was out of view."""
    points: tuple[Point, ...]
    stays: tuple[Stay, ...]
    marks: tuple[Mark, ...]
    milliseconds: int

    @property
    def asked(self) -> tuple[Planted, ...]:
        """Facts that held when a window opened: what is said after the last one has nothing to survive."""
        return tuple(fact for fact in self.facts if any(fact in one.held for one in self.opened))

    @property
    def missing(self) -> tuple[tuple[Planted, tuple[int, ...]], ...]:
        """Each fact that was out of view, with the numbers of the windows that opened without it."""
        return tuple(
            (fact, where)
            for fact in self.facts
            if (where := tuple(one.summary.number for one in self.opened if fact in one.missing))
        )

    @property
    def kept(self) -> int:
        """Facts that stood in the first request of every window after they were said, until they were taken back."""
        return len(self.asked) - len(self.missing)

    @property
    def good(self) -> bool:
        """Every fact in view, the task in every request, every expectation met."""
        return not self.missing and not self.without_task and not self.missed


async def perform(  # noqa: PLR0913 (keyword-only ports of one run, each optional)
    *,
    window: int = WINDOW,
    settings: Settings | None = None,
    folder: Path | None = None,
    store: Store | None = None,
    documents: Path | None = None,
    on_moment: Callable[[Moment], None] | None = None,
    on_body: Callable[[bytes], None] | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Live:
    """Runs the whole script. No network, no key, no configuration of this machine.

    ``folder``: where the scratch repository is made, which stays; without it a temporary one that is removed. ``store``:
    where the session is kept; without it, memory. Raises WorkFailed where a turn fails, UserMistake for a window that is
    too small, CancelledError where it is cancelled.
    """
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="sojourn-demo-")))
        if store is None:
            store = await SqliteStore.open(None, clock=clock or SystemClock())
            stack.push_async_callback(store.close)
        scene = await asyncio.to_thread(set_up, folder)
        tell = on_moment or (lambda moment: None)
        tell(Began(scene.title, sum(len(turn.answers) for turn in scene.plan.turns), folder))
        watch = _Watch(scene, tell)
        model = Scripted(scene.plan, limit=window, on_body=lambda body: _left(watch, body, on_body))
        agent = await Agent.open(
            store=store,
            settings=settings or Settings(),
            model=model,
            cwd=folder,
            how="new",
            mode="full",
            trusted=True,
            documents=documents,
            on_event=watch.note,
            places=folders({"SOJOURN_HOME": str(folder / ".git" / "no-configuration")}),
            home=folder / ".git" / "no-configuration",
            clock=clock,
            ids=ids,
        )
        watch.window = lambda: agent.engine.window
        try:
            for turn in scene.plan.turns:
                ended = await agent.turn(turn.prompt)
                if ended.finish is Finish.INTERRUPTED:
                    raise asyncio.CancelledError
                if ended.finish is Finish.ERROR:
                    raise WorkFailed(ended.error, next_step=ended.next_step)
        finally:
            await agent.close()
        messages = await store.messages(agent.session_id)
    return watch.live(agent.session_id, window, messages, model, round((time.monotonic() - began) * 1_000))


def _left(watch: "_Watch", body: bytes, on_body: Callable[[bytes], None] | None) -> None:
    watch.body(body)
    if on_body is not None:
        on_body(body)


class _Watch:
    """Takes note of everything that happens, and looks at every body."""

    def __init__(self, scene: Scene, tell: Callable[[Moment], None]) -> None:
        self._scene = scene
        self._tell = tell
        self.window: Callable[[], Window]
        self._turn = 0
        self._number = 0
        """Of the window that the newest step is in."""
        self._said: set[str] = set()
        """Names of facts."""
        self._answer = ""
        self._commands: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        """Command to its last lines, of this turn's checks that failed."""
        self._opened: list[Opened] = []
        self._proofs: list[Proof] = []
        self._calls: Counter[str] = Counter()
        self._failed_calls = 0
        self._requests = 0
        self._without_task = 0
        self._result_tokens = 0
        self._checkpoints = 0
        self._fresh = 0
        self._cached = 0
        self._points: list[Point] = []
        self._stays: list[Stay] = []
        self._marks: list[Mark] = []

    def note(self, event: AgentEvent) -> None:
        """An event of the agent."""
        match event:
            case TurnStarted():
                self._turn += 1
                self._failed.clear()
                self._hear("prompt", event.prompt)
            case StepStarted():
                self._answer, self._number = "", event.window
                self._points.append(Point(len(self._points) + 1, 0, event.level))
            case Said():
                self._answer += event.text
                self._hear("answer", self._answer)
            case Called():
                self._calls[event.name] += 1
                self._commands[event.call_id] = str(event.arguments.get("command", ""))
            case Returned():
                self._returned(event)
            case CheckpointEvent(state="written"):
                self._checkpoints += 1
                self._marks.append(Mark(len(self._points) + 1, event.covered))
            case Metered():
                self._fresh += event.usage.fresh
                self._cached += event.usage.cached or 0
            case _:
                pass
        self._tell(event)

    def body(self, body: bytes) -> None:
        """A request leaves: whether the task is in it, and in a window's first one what is still known."""
        self._requests += 1
        task = self._scene.plan.turns[self._turn - 1].prompt
        self._without_task += not all(_stands(line, body) for line in task.splitlines() if line.strip())
        if self._opened and self._opened[-1].summary.number == self._number:
            return
        summary = summarise(self.window())
        held = holding(self._scene.facts, self._said, self._turn) if summary.kind != "start" else ()
        missing = tuple(fact for fact in held if not _stands(fact.text, body))
        self._opened.append(Opened(summary, held, missing))
        self._stays.append(
            Stay(
                number=summary.number,
                kind=summary.kind,
                reason=summary.reason,
                step=len(self._points),
                level_before=summary.level_before,
                level_after=summary.level_after,
                trigger=summary.trigger,
                hard=summary.hard,
            )
        )
        self._tell(self._opened[-1])

    def _hear(self, said_in: str, text: str) -> None:
        for fact in self._scene.facts:
            if fact.turn == self._turn and fact.said_in == said_in and fact.text in text:
                self._said.add(fact.name)

    def _returned(self, event: Returned) -> None:
        self._hear("result", event.text)
        self._failed_calls += event.state != "completed"
        self._result_tokens += total(estimate_text(event.text))
        command = self._commands.get(event.call_id, "")
        if not command.startswith(_CHECK):
            return
        if event.state == "error":
            self._failed[command] = last_lines(event.text, _SHOWN)
        elif command in self._failed:
            proof = Proof(self._turn, command, self._failed.pop(command), last_lines(event.text, 1))
            self._proofs.append(proof)
            self._tell(proof)

    def live(self, session_id: str, window: int, messages: Sequence[Message], model: Scripted, milliseconds: int) -> Live:
        """All of it together."""
        return Live(
            title=self._scene.title,
            session_id=session_id,
            window=window,
            facts=self._scene.facts,
            opened=tuple(self._opened),
            proofs=tuple(self._proofs),
            turns=self._turn,
            steps=len(self._points),
            calls=dict(sorted(self._calls.items())),
            failed_calls=self._failed_calls,
            requests=self._requests,
            without_task=self._without_task,
            result_tokens=self._result_tokens,
            checkpoints=self._checkpoints,
            cost=Cost(units(self._fresh, 0, self._cached, "automatic"), self._fresh, None, self._cached, "automatic"),
            others=tuple(other(name, self._scene.facts, messages, self._opened) for name in _OTHERS),
            missed=tuple(f"turn {one.turn}: {one.what}" for one in model.missed),
            points=tuple(self._points),
            stays=tuple(self._stays),
            marks=tuple(self._marks),
            milliseconds=milliseconds,
        )


def holding(facts: Sequence[Planted], said: set[str], turn: int) -> tuple[Planted, ...]:
    """What has been said by then and not been taken back; a turn's prompt takes back what it corrects."""
    return tuple(fact for fact in facts if fact.name in said and (fact.void_turn is None or turn < fact.void_turn))


def _stands(text: str, body: bytes) -> bool:
    """Whether the text stands in the body as JSON writes it."""
    return canonical(text)[1:-1] in body


def last_lines(text: str, count: int) -> str:
    """The end of what a command printed, without the tool's own remarks."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[")]
    return "\n".join(lines[-count:])


def other(name: str, facts: Sequence[Planted], messages: Sequence[Message], opened: Sequence[Opened]) -> Kept:
    """What another strategy would have kept of the same facts at the same places."""
    texts = [plain_text([message]) for message in messages]
    asked = [message.seq for message in messages if message.role == "user" and message.origin == "user"]
    said = {
        fact.name: min(
            message.seq
            for message, text in zip(messages, texts, strict=True)
            if fact.text in text and message.seq >= asked[fact.turn - 1]
        )
        for fact in facts
        if fact.turn <= len(asked) and any(fact.text in text for text in texts[asked[fact.turn - 1] - 1 :])
    }
    lost: set[str] = set()
    tested: set[str] = set()
    for one in (one.summary for one in opened if one.summary.kind != "start"):
        view = VIEWS[name](messages, one.opened_at_seq, one.level_after).text
        turn = sum(seq <= one.opened_at_seq for seq in asked)
        before = {fact for fact, seq in said.items() if seq <= one.opened_at_seq}
        held = holding(facts, before, turn)
        tested |= {fact.name for fact in held}
        lost |= {fact.name for fact in held if fact.text not in view}
    return Kept(name, len(tested) - len(lost), len(tested))


def as_json(live: Live) -> dict[str, Any]:
    """The documented JSON of the demonstration."""
    return {
        "session_id": live.session_id,
        "window": live.window,
        "turns": live.turns,
        "steps": live.steps,
        "requests": live.requests,
        "calls": live.calls,
        "failed_calls": live.failed_calls,
        "result_tokens": live.result_tokens,
        "checkpoints": live.checkpoints,
        "windows": [
            msgspec.to_builtins(one.summary) | {"facts": {"asked": len(one.held), "visible": len(one.held) - len(one.missing)}}
            for one in live.opened
        ],
        "facts": {"planted": len(live.facts), "asked": len(live.asked), "visible": live.kept},
        "missing": [{"fact": fact.text, "kind": fact.kind, "windows": list(where)} for fact, where in live.missing],
        "requests_without_task": live.without_task,
        "unmet": list(live.missed),
        "proofs": [msgspec.to_builtins(one) for one in live.proofs],
        "cost": msgspec.to_builtins(live.cost) | {"cached_share": cached_share(live.cost)},
        "others": [msgspec.to_builtins(one) for one in live.others],
        "milliseconds": live.milliseconds,
    }


def cached_share(cost: Cost) -> float:
    """The part of all input that was read from the cache, 0 to 1."""
    everything = cost.fresh + (cost.written or 0) + (cost.cached or 0)
    return round((cost.cached or 0) / everything, 4) if everything else 0.0
