"""What the model is told between two messages: facts from live state, placed where they stay (M-R1 to M-R8)."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from sojourn.agent.mind import Mind
from sojourn.agent.prefixing import Surroundings
from sojourn.agent.types import AgentEvent, Noticed, Reminded
from sojourn.base import Clock, escape_reminders
from sojourn.config import Settings
from sojourn.engine import Engine, EngineEvent
from sojourn.meter import Watched, estimate_text, fit_head, total
from sojourn.prefix import changed_rules, nested_rules
from sojourn.record import Message, PrefixSnapshot, Reminder, ToolCall
from sojourn.reminders import Due, Facts, Job, Rule, RuleChange, bodies, due, place
from sojourn.tools import Desk

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_RULE_SHARE = 5
"""Percent of the trigger that one rule file may take that is reached on the way."""
_RULES_SHARE = 15
"""Percent of the trigger that all of them may take in one step."""


class Notes:
    """The reminders of one agent, from live state. Whether a kind was told is read off the view; only rule files that were
    reached are remembered, since they come in portions."""

    def __init__(
        self,
        engine: Engine,
        surroundings: Surroundings,
        desk: Desk,
        settings: Settings,
        clock: Clock,
        emit: Callable[[AgentEvent], None],
        mode_told: str,
        mind: Mind,
    ) -> None:
        self._engine = engine
        self._surroundings = surroundings
        self._desk = desk
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._mode_told = mode_told
        self._mind = mind
        self._born = clock.now()
        self._told: set[Path] = set()
        """Rule files that were reached and told in this window."""
        self._brought = 0
        """Tokens of rule files that this step has brought."""
        self._turn_seq = 0
        self._in_turn = False
        self._first_step = False
        self._reached: dict[Path, Rule] = {}
        self._changed: dict[str, RuleChange] = {}
        self._checkpoint_failed = False
        self._cache_lost = False
        self._compare_with_stored(engine.prefix)

    # --- what happens ----------------------------------------------------------------------------------------------

    def ran(self, calls: Iterable[ToolCall]) -> None:
        """Tools have run: rule files of folders that they reached are told before the next step (P-5, report 114)."""
        sources = self._surroundings.sources
        known = sources.real_paths | frozenset(self._reached)
        for call in calls:
            for touch in call.touches:
                for file in nested_rules(sources.root, Path(touch.path), known, self._settings.instructions):
                    budget = self._engine.window.trigger * _RULE_SHARE // 100 or 2_000
                    text = fit_head(file.text, budget)
                    marker = "" if text == file.text else "\n[Cut here: read the file for the rest.]"
                    self._reached[file.real] = Rule(str(file.path), text + marker)
                    self._emit(Noticed("rules_reached", {"path": str(file.path)}))
                    known |= {file.real}

    def cache(self, watched: Watched) -> None:
        """The verdict on the newest call: a cache that was lost for no reason of ours is told (A-7)."""
        self._cache_lost = watched.verdict in ("ttl_expired", "unknown")

    def heard(self, event: EngineEvent) -> None:
        """What the engine did on its own."""
        match event.kind:
            case "checkpoint_failed":
                self._checkpoint_failed = True
            case "checkpoint_written":
                self._checkpoint_failed = False
            case "window_opened":
                # What was reached and not told yet is told in the new window; the rest when it is touched again.
                self._reached = {path: rule for path, rule in self._reached.items() if path not in self._told}
                self._told.clear()
                self._changed.clear()
            case _:
                pass

    # --- what is told ----------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """Before a turn: what has to be read for it."""
        await self._mind.look()

    def at_turn_start(self, user: Message) -> tuple[Message, ...]:
        """The person's message with what is due around it, in the order in which all of it is stored (M-R2)."""
        self._turn_seq, self._in_turn, self._first_step = 0, True, True
        found = due(self._facts(user_waits=True), self._engine.in_view)
        return place(found, self._engine.in_view, user, mid_system=self._engine.traits.mid_system).messages

    @property
    def turn_seq(self) -> int:
        """Of the message that began the turn; 0 = none did yet."""
        return self._turn_seq

    def turn_began(self, seq: int) -> None:
        self._turn_seq = seq

    def turn_ended(self) -> None:
        self._in_turn = False

    def before_step(self, *, continuing: bool) -> tuple[Message, ...]:
        """What is due in the view that is about to be sent (M-R8)."""
        facts = self._facts(continuing=continuing)
        found = due(facts, self._engine.in_view)
        if not continuing:
            said = {rule.path for rule in facts.rules_reached}
            new = {path: rule for path, rule in self._reached.items() if rule.path in said and path not in self._told}
            self._brought += sum(total(estimate_text(rule.text)) for rule in new.values())
            self._told |= set(new)
        return self._placed(found)

    def after_step(self) -> None:
        self._first_step = False
        self._brought = 0

    def continuation(self) -> tuple[Message, ...]:
        """A-8: the answer was cut at the output limit; it goes on where it stopped."""
        return self._placed([Due("output_continuation", bodies.output_continuation())])

    def arrived(self, message: Message) -> tuple[Message, ...]:
        """Text that was sent to the session, as it is stored: marked if it came while the agent worked (M-R6)."""
        view = self._engine.in_view
        return place((), view, message, mid_system=self._engine.traits.mid_system, mid_turn=self._in_turn).messages

    def tell(self, stored: Sequence[Message]) -> None:
        """Shows the reminders among these messages."""
        for message in stored:
            for part in message.parts:
                if isinstance(part, Reminder):
                    self._emit(Reminded(part.source, part.body))

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return self._clock.now()

    def _placed(self, found: Sequence[Due]) -> tuple[Message, ...]:
        return place(found, self._engine.in_view, mid_system=self._engine.traits.mid_system).messages

    def _facts(self, *, user_waits: bool = False, continuing: bool = False) -> Facts:
        window = self._engine.window
        self._look_for_changes()
        return Facts(
            opened_at_seq=window.opened_at_seq if window.number > 1 else 0,
            off=self._settings.reminders.off,
            continuing=continuing,
            turn_start=self._first_step,
            turn_seq=self._turn_seq,
            user_waits=user_waits,
            mode=self._mind.mode,
            mode_told=self._mode_told,
            tools=tuple(tool.name for tool in self._surroundings.tools),
            today=self._surroundings.today().isoformat(),
            date_told=_date_of(self._engine.prefix),
            style=self._surroundings.style.name if self._surroundings.style else "",
            checkpoint_failed=self._checkpoint_failed,
            cache_lost=self._cache_lost,
            window_opened=window.number > 1 and window.kind != "start",
            jobs=self._ended_jobs(),
            rules_changed=tuple(self._changed.values()),
            rules_reached=self._rules_to_tell(),
            recall=self._mind.recall,
            todos=self._mind.todos,
        )

    def _rules_to_tell(self) -> tuple[Rule, ...]:
        """Those told already, and of the others as many as one step may bring; the rest come with the next."""
        room = self._engine.window.trigger * _RULES_SHARE // 100 - self._brought
        said: list[Rule] = []
        for path, rule in self._reached.items():
            if path not in self._told:
                room -= total(estimate_text(rule.text))
                if room < 0 and (said or self._brought):
                    break
            said.append(rule)
        return tuple(said)

    def _ended_jobs(self) -> tuple[Job, ...]:
        """Background jobs that ended and that nobody has looked at, from the live list (report 101)."""
        return tuple(
            Job(str(number), "shell command", "completed" if job.code == 0 else "failed", started=self._born)
            for number, job in self._desk.shell.jobs.items()
            if not job.running
        )

    def _look_for_changes(self) -> None:
        """Rule files of the prefix that are no longer what it says: announced once each, used in the next window."""
        for change in changed_rules(self._surroundings.sources.stamps):
            self._say_changed(change.path, change.sha256)

    def _compare_with_stored(self, stored: PrefixSnapshot | None) -> None:
        """A resumed session keeps the rules of its window: those that changed since are announced (reports 55, 117)."""
        then = _rules_of(stored)
        for file in self._surroundings.sources.loaded if then is not None else ():
            text = escape_reminders(file.text.strip("\n"))
            if then is not None and text in self._surroundings.sources.rules and text not in then:
                self._say_changed(str(file.path), sha256(text.encode()).hexdigest())

    def _say_changed(self, path: str, sha: str) -> None:
        key = f"{path}\n{sha}"
        if key not in self._changed:
            at = datetime.fromtimestamp(self._clock.now() / 1_000).strftime("%H:%M")
            self._changed[key] = RuleChange(path, at, sha)


def _date_of(prefix: PrefixSnapshot | None) -> str:
    """The date that the prefix names; empty = none."""
    for block in prefix.context if prefix else ():
        if block.section == "date" and (found := _DAY.search(block.text)):
            return found[0]
    return ""


def _rules_of(prefix: PrefixSnapshot | None) -> str | None:
    """The rules as a stored prefix has them; empty = it has none; None = there is no prefix."""
    if prefix is None:
        return None
    return "\n".join(block.text for block in prefix.context if block.section == "instructions")
