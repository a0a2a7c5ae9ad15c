"""What is due at this step (M-R3, M-R8): from how things stand and what was sent already, never from the clock.

A kind is due when its state differs from its newest copy in view, or when its rhythm says so; the newest copy counts and
nothing sent is taken back.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sojourn.record import File, Image, Message, Reminder, Text, ToolCall
from sojourn.reminders import bodies
from sojourn.reminders.table import enabled
from sojourn.reminders.types import Due, Facts

PLAN_EVERY = 5
"""Messages of the user from one reminder of plan mode to the next."""
PLAN_FULL_EVERY = 5
"""Of these the 1st, 6th, 11th is the full one."""
PLAN_TOOL = "plan"
TODO_STEPS = 10
REPEATS = 3
REPEATS_MOST = 3
"""In one turn."""


def due(facts: Facts, view: Sequence[Message]) -> tuple[Due, ...]:
    """What is to be told now, in the order in which it stands (M-R8): what the turn brought, what happened meanwhile, then
    plan exit, mode, todo, style.

    ``view``: the messages that will be sent; what stands at or before ``facts.opened_at_seq`` counts for nothing (C-12).
    """
    if facts.continuing:
        return ()
    seen = _Seen(facts, view)
    found = [
        *_continuity(facts, seen),
        *_turn(facts, seen),
        *_meanwhile(facts, seen),
        *_anomaly(facts, seen),
        *_plan(facts, seen),
        *_mode(facts, seen),
        *_todo(facts, seen),
        *_style(facts, seen),
        *_goes_on(facts, seen),
    ]
    return tuple(one for one in found if one.body.strip() and enabled(one.source, facts.off))


class _Seen:
    """What the view holds since its window opened: one pass, asked by every kind."""

    def __init__(self, facts: Facts, view: Sequence[Message]) -> None:
        self.messages = [message for message in view if message.seq == 0 or message.seq > facts.opened_at_seq]
        self._copies: dict[str, list[tuple[int, Reminder]]] = {}
        for index, message in enumerate(self.messages):
            if message.origin == "engine":
                for part in message.parts:
                    if isinstance(part, Reminder):
                        self._copies.setdefault(part.source, []).append((index, part))

    def copies(self, source: str) -> list[tuple[int, Reminder]]:
        """Those of one kind with their places, oldest first."""
        return self._copies.get(source, [])

    def newest(self, *sources: str) -> tuple[int, Reminder] | None:
        """The newest copy of these kinds."""
        return max((self.copies(one)[-1] for one in sources if self.copies(one)), key=lambda copy: copy[0], default=None)

    def changed(self, one: Due) -> bool:
        """Whether the newest copy of its kind says something else, or there is none."""
        newest = self.newest(one.source)
        return newest is None or newest[1].body != one.body

    def told(self, one: Due) -> bool:
        """Whether any copy says just this."""
        return any(copy.body == one.body for _, copy in self.copies(one.source))

    def heads(self, source: str) -> set[str]:
        """The first lines of all copies: what each of them is about."""
        return {copy.body.partition("\n")[0] for _, copy in self.copies(source)}

    def requests_since(self, index: int, reminder: Reminder) -> int:
        """Messages of the user after the turn in which the reminder was placed. One in the wrapped form stands before the
        user's message of its turn (bubbling), as a system message behind it."""
        later = [message for message in self.messages[index + 1 :] if message.origin != "engine"]
        if later and reminder.form == "wrapped" and _is_request(later[0]):
            later = later[1:]
        return sum(_is_request(message) for message in later)


def _once(seen: _Seen, source: str, body: str, *, quoted: bool = False) -> Iterator[Due]:
    """Told once: not if any copy in view says the same."""
    one = Due(source, body, quoted)
    if not seen.told(one):
        yield one


def _by_head(seen: _Seen, source: str, found: Iterable[str]) -> Iterator[Due]:
    """Told once by what stands in the first line, whatever the rest says."""
    known = seen.heads(source)
    for body in found:
        head = body.partition("\n")[0]
        if head not in known:
            known.add(head)
            yield Due(source, body)


def _state(seen: _Seen, source: str, body: str, *, quoted: bool = False) -> Iterator[Due]:
    """Told when it has changed since it was told last."""
    one = Due(source, body, quoted)
    if seen.changed(one):
        yield one


def _against(seen: _Seen, source: str, now: str, told: str, body: str) -> Iterator[Due]:
    """Told when what holds now is neither what the newest copy says nor, before any copy, what the prefix says. Nothing to
    compare with (unknown now, or never told) is no change."""
    if now and (seen.newest(source) is not None or (told and now != told)):
        yield from _state(seen, source, body)


# --- where the conversation stands --------------------------------------------------------------------------------


def _continuity(facts: Facts, seen: _Seen) -> Iterator[Due]:
    if facts.window_opened:
        yield from _once(seen, "window_opened", bodies.window_opened())
    if facts.forked:
        yield from _once(seen, "conversation_fork", bodies.forked())
    if facts.side_chat:
        yield from _once(seen, "selection_side_chat", bodies.side_chat())
    if facts.rewound_to is not None:
        yield from _state(seen, "rewind_notice", bodies.rewound(facts.rewound_to))
    if facts.plan_file is not None:
        yield from _once(seen, "plan_file_reference", bodies.plan_file(facts.plan_file))
    if facts.files_before:
        yield from _once(seen, "resume_referenced_session_context", bodies.files_before(facts.files_before))
    if facts.goal_restated:
        yield from _once(seen, "resume_goal_state", bodies.goal_restated(facts.goal_restated))
    if facts.goal is not None:
        yield from _state(seen, "goal_state_change", bodies.goal_changed(facts.goal), quoted=bool(facts.goal.text))


# --- what the turn brought ----------------------------------------------------------------------------------------


def _turn(facts: Facts, seen: _Seen) -> Iterator[Due]:
    for hook in facts.hooks:
        one = Due("hook_context", bodies.hook(hook))
        if not _newest_about(seen, one):
            yield one
    if facts.sessions:
        yield from _state(seen, "referenced_session_context", bodies.sessions(facts.sessions))
    if facts.turn_start:
        yield from _against(seen, "date_change", facts.today, facts.date_told, bodies.date_change(facts.today))
    for attached in facts.attached:
        yield Due("prompt_attachment", bodies.attached(attached))
    for plugin in facts.plugins:
        yield from _once(seen, "plugin_reference", bodies.plugin(plugin))


def _newest_about(seen: _Seen, one: Due) -> bool:
    """Whether the newest copy with the same first line says the same: hooks of one event, whatever others said since."""
    head = one.body.partition("\n")[0]
    about = [copy for _, copy in seen.copies(one.source) if copy.body.partition("\n")[0] == head]
    return bool(about) and about[-1].body == one.body


# --- what happened meanwhile --------------------------------------------------------------------------------------


def _meanwhile(facts: Facts, seen: _Seen) -> Iterator[Due]:
    known = {line for _, copy in seen.copies("queued_system_notification") for line in copy.body.split("\n")}
    ended = [job for job in facts.jobs if bodies.job(job) not in known]
    if ended:
        yield Due("queued_system_notification", bodies.jobs(ended))
    yield from _by_head(seen, "instructions_changed", (bodies.rule_changed(change) for change in facts.rules_changed))
    yield from _by_head(seen, "nested_instructions", (bodies.rule_reached(rule) for rule in facts.rules_reached))
    if facts.tools_late or facts.tools_gone or seen.newest("tools_changed"):
        yield from _state(seen, "tools_changed", bodies.tools_changed(facts.tools_late, facts.tools_gone))
    yield from _against(seen, "git_changed", facts.git, facts.git_told, bodies.git_changed(facts.git))
    shell = bodies.shell_changed(facts.shell)
    yield from _against(seen, "shell_environment_change", facts.shell, facts.shell_told, shell)
    if facts.recall:
        yield from _state(seen, "recall", facts.recall)
    if facts.checkpoint_failed:
        yield from _state(seen, "checkpoint_failed", bodies.checkpoint_failed())
    if facts.cache_lost:
        yield from _state(seen, "cache_lost", bodies.cache_lost())


def _anomaly(facts: Facts, seen: _Seen) -> Iterator[Due]:
    """The newest step made its third equal call in a row; at most three times a turn."""
    newest = next((at for at in range(len(seen.messages) - 1, -1, -1) if _is_step(seen.messages[at])), None)
    if newest is None:
        return
    places = [at for at, _ in seen.copies("model_anomaly")]
    in_turn = [at for at in places if seen.messages[at].seq > facts.turn_seq]
    if len(in_turn) >= REPEATS_MOST or (places and places[-1] > newest):
        return
    streak, last = 0, ""
    for at in range(_streak_start(seen.messages, newest), newest + 1):
        for call in seen.messages[at].parts:
            if isinstance(call, ToolCall):
                key = _canonical(call)
                streak, last = (streak + 1 if key == last else 1), key
                if streak == REPEATS and at == newest:
                    yield Due("model_anomaly", bodies.repeated(call.name, REPEATS))
                    return


def _streak_start(messages: Sequence[Message], newest: int) -> int:
    """Where to count from: behind the user's newest message before the step."""
    return next((at for at in range(newest, -1, -1) if _is_request(messages[at])), 0)


def _canonical(call: ToolCall) -> str:
    arguments: Any = call.raw_arguments or call.arguments
    return f"{call.name}\n{json.dumps(arguments, sort_keys=True, separators=(',', ':'), default=str)}"


# --- what holds in this step --------------------------------------------------------------------------------------


def _plan(facts: Facts, seen: _Seen) -> Iterator[Due]:
    newest = seen.newest("runtime_mode", "plan_mode_exit")
    if facts.mode != "plan":
        if facts.plan_left if newest is None else newest[1].source == "runtime_mode":
            yield Due("plan_mode_exit", bodies.plan_left(facts.mode))
        return
    number = 1
    if newest is not None and newest[1].source == "runtime_mode":
        if seen.requests_since(*newest) + facts.user_waits < PLAN_EVERY:
            return
        left = seen.newest("plan_mode_exit")
        number += sum(left is None or at > left[0] for at, _ in seen.copies("runtime_mode"))
    yield Due("runtime_mode", bodies.plan(full=number % PLAN_FULL_EVERY == 1, tool=PLAN_TOOL in facts.tools))


def _mode(facts: Facts, seen: _Seen) -> Iterator[Due]:
    """Plan mode and its end have reminders of their own, which tell the mode as well."""
    newest = seen.newest("mode_change", "plan_mode_exit", "runtime_mode")
    if facts.mode == "plan" or (newest and newest[1].source == "runtime_mode") or (newest is None and facts.plan_left):
        return
    body = bodies.mode_change(facts.mode)
    told = newest[1].body in (body, bodies.plan_left(facts.mode)) if newest else facts.mode_told in ("", facts.mode)
    if not told:
        yield Due("mode_change", body)


def _todo(facts: Facts, seen: _Seen) -> Iterator[Due]:
    """Where nothing is open the list cannot be out of date: that it exists is told once in a window."""
    reminded = seen.newest("todo_reminder")
    if facts.todo_tool not in facts.tools or (reminded and not facts.todos):
        return
    steps = 0
    for at in range(len(seen.messages) - 1, reminded[0] if reminded else -1, -1):
        message = seen.messages[at]
        if _is_step(message):
            if any(isinstance(part, ToolCall) and part.name == facts.todo_tool for part in message.parts):
                return
            steps += 1
            if steps >= TODO_STEPS:
                yield Due("todo_reminder", bodies.todo(facts.todos), quoted=bool(facts.todos))
                return


def _style(facts: Facts, seen: _Seen) -> Iterator[Due]:
    if facts.style:
        yield from _first_step(facts, seen, Due("output_style", bodies.style(facts.style)))


def _goes_on(facts: Facts, seen: _Seen) -> Iterator[Due]:
    if facts.goal_continues:
        yield from _first_step(facts, seen, Due("target_continuation", bodies.goal_continues(facts.goal_continues)))


def _first_step(facts: Facts, seen: _Seen, one: Due) -> Iterator[Due]:
    """Once in each turn's first step (P-9): not where it stands in view and the model has not spoken since."""
    newest = seen.newest(one.source)
    after = seen.messages[newest[0] :] if newest else []
    if facts.turn_start and (not after or seen.changed(one) or any(_is_step(message) for message in after)):
        yield one


def _is_step(message: Message) -> bool:
    """An answer of the model that says or does something; one that failed before its first word is none."""
    return message.role == "assistant" and bool(message.parts)


def _is_request(message: Message) -> bool:
    """The user said something: text that is not blank, a picture or a file."""
    return message.role == "user" and message.origin == "user" and _speaks(message.parts)


def _speaks(parts: Iterable[object]) -> bool:
    return any(isinstance(part, Image | File) or (isinstance(part, Text) and bool(part.text.strip())) for part in parts)
