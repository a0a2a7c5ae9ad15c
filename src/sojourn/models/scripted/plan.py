"""A script that is written down: for each turn the answers, what their calls must bring, what must still be in view."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sojourn.models.scripted.looking import Looking
from sojourn.models.scripted.sight import Answer, Called, Place, Result, Sight

_BLANK = re.compile(r"«(\w+)»")
_SHOWN = 200
"""Characters of a result that is not as expected: its end says why."""


class Check(msgspec.Struct, frozen=True):
    """A regular expression that a result must match (lines apart); the first group is kept under ``name``."""

    pattern: str
    name: str = ""


class Look(msgspec.Struct, frozen=True):
    """Something that was said earlier and must be in view now: the newest match in the request is kept under ``name``.

    It is a model's memory: what the request does not hold, this model does not know either.
    """

    pattern: str
    name: str


class Use(msgspec.Struct, frozen=True):
    """A call. ``«name»`` in its arguments is replaced by what was found under that name."""

    tool: str
    arguments: dict[str, Any]
    checks: tuple[Check, ...] = ()
    fails: bool = False
    """Its result has to be an error."""


class Planned(msgspec.Struct, frozen=True):
    """One answer; without ``uses`` it ends the turn."""

    say: str
    uses: tuple[Use, ...] = ()
    looks: tuple[Look, ...] = ()


class Turn(msgspec.Struct, frozen=True):
    prompt: str
    """What the person says."""
    answers: tuple[Planned, ...]


class Plan(msgspec.Struct, frozen=True):
    """The whole script. What it has no turn for, another prompt or one after the last, gets the built-in look around."""

    turns: tuple[Turn, ...]

    def next(self, sight: Sight) -> Answer:
        """The answer at this place; where an expectation was not met, the honest end of the turn."""
        turn = self.turns[sight.turn - 1] if sight.turn <= len(self.turns) else None
        if turn is None or sight.prompt not in ("", turn.prompt):
            return Looking().next(msgspec.structs.replace(sight, turn=1))
        answers = turn.answers
        found: dict[str, str] = {}
        for planned, results in zip(answers, sight.results, strict=False):
            for use, result in zip(planned.uses, results, strict=False):
                missed = _check(use, result, found)
                if missed:
                    return _stop(missed)
        if sight.answers >= len(answers):
            return _stop("the script of this turn has no more answers")
        planned = answers[sight.answers]
        for look in planned.looks:
            matches = re.findall(look.pattern, sight.text)
            if not matches:
                return _stop(f"{look.name} ({look.pattern}) is not in view")
            found[look.name] = matches[-1]
        calls = tuple(Called(use.tool, _filled(use.arguments, found)) for use in planned.uses)
        return Answer(_fill(planned.say, found), calls)

    def resume(self, prompt: str, calls: tuple[Called, ...], answers: int, text: str) -> Place:
        """By the prompt, after which every answer is in view; where it is out of view, by the newest prompt that the text
        quotes and the newest calls."""
        if prompt:
            number = next((number for number, turn in enumerate(self.turns, 1) if turn.prompt == prompt), None)
            return Place(len(self.turns) + 1, 0) if number is None else Place(number, answers)
        where, number = max(((text.rfind(turn.prompt), number) for number, turn in enumerate(self.turns, 1)), default=(0, 1))
        if where < 0:
            number = 1
        for given, planned in enumerate(self.turns[number - 1].answers if self.turns else (), 1):
            if calls and _same(planned.uses, calls):
                return Place(number, given)
        return Place(number, 0)


def _check(use: Use, result: Result, found: dict[str, str]) -> str:
    """What is not as expected; empty = all is. What matches is added to ``found``."""
    if result.error != use.fails:
        return f"{use.tool} {'succeeded' if use.fails else 'failed'}: {_end(result.text)}"
    for check in use.checks:
        match = re.search(check.pattern, result.text, re.MULTILINE)
        if match is None:
            return f"{check.pattern} is not in what {use.tool} gave: {_end(result.text)}"
        if check.name:
            found[check.name] = match[match.lastindex or 0]
    return ""


def _end(text: str) -> str:
    return text.strip()[-_SHOWN:]


def _stop(missed: str) -> Answer:
    return Answer(f"This is not what my script expects, so I stop here: {missed}", missed=missed)


def _fill(text: str, found: Mapping[str, str]) -> str:
    return _BLANK.sub(lambda blank: found.get(blank[1], blank[0]), text)


def _filled(arguments: dict[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    return {key: _fill(value, found) if isinstance(value, str) else value for key, value in arguments.items()}


def _same(uses: tuple[Use, ...], calls: tuple[Called, ...]) -> bool:
    """Whether these are the planned calls; what stands in a blank may be anything."""
    if len(uses) != len(calls):
        return False
    return all(
        use.tool == call.name
        and use.arguments.keys() == call.arguments.keys()
        and all(_matches(value, call.arguments[key]) for key, value in use.arguments.items())
        for use, call in zip(uses, calls, strict=True)
    )


def _matches(planned: object, made: object) -> bool:
    if not isinstance(planned, str) or not isinstance(made, str):
        return planned == made
    pattern = ".*".join(re.escape(piece) for piece in _BLANK.split(planned)[::2])
    return re.fullmatch(pattern, made, re.DOTALL) is not None
