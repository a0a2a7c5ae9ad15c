"""Running what the model asked for, each call under the permissions that hold now (Y-5, Y-6)."""

import asyncio
import difflib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import groupby

import msgspec

from sojourn.agent.asking import Answer, Asked, Asker
from sojourn.agent.permissions import OWN_NOTES, Rule, Rules, Verdict, grant_for, judge
from sojourn.base import Clock
from sojourn.record import Image, ResultPart, Text, ToolCall
from sojourn.tools import Desk, Outcome, Tool, effect_of, inner_call, run, subject_of

MORE = "more"
"""The fixed tool behind which rare ones stand (P-8)."""


class Charge(msgspec.Struct):
    """What the person has granted this session; it changes with every ``always``."""

    mode: str
    rules: Rules
    trusted: bool
    given: bool = False
    """The mode was named for this run."""
    granted: tuple[Rule, ...] = ()


class Done(msgspec.Struct, frozen=True):
    call: ToolCall
    denied: bool = False
    """It was not run: a rule or a person said no."""


class Hands:
    """The tools of one session at their desk."""

    def __init__(
        self,
        tools: Sequence[Tool],
        rare: Sequence[Tool],
        desk: Desk,
        charge: Charge,
        asker: Asker | None,
        clock: Clock,
        before_change: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``before_change``: called before each call that may change files (W-12)."""
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in tools}
        self._rare = tuple(rare)
        self.desk = desk
        self.charge = charge
        self._asker = asker
        self._clock = clock
        self._before_change = before_change
        self._asking = asyncio.Lock()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._tools)

    async def run(self, calls: Mapping[int, ToolCall]) -> AsyncIterator[dict[int, Done]]:
        """The calls with their results, in order, as they are done. Reads that follow each other run together; nothing
        else does. Cancelled: what was not handed out did not end."""
        for together, group in groupby(calls.items(), key=lambda item: self._only_reads(item[1])):
            batch = list(group)
            if together:
                done = await asyncio.gather(*(self._one(call) for _, call in batch))
                yield {index: one for (index, _), one in zip(batch, done, strict=True)}
            else:
                for index, call in batch:
                    yield {index: await self._one(call)}

    def _only_reads(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is not None and tool.effect == "read"

    async def _one(self, call: ToolCall) -> Done:
        """The call with its result; an error a model can act on where it could not run."""
        started = self._clock.now()
        try:
            outcome, denied = await self._outcome(call)
        except Exception as error:  # noqa: BLE001 (whatever a question or an argument breaks: the turn has to go on)
            outcome, denied = refusal(f"{call.name} could not be run: {type(error).__name__}: {error}"), False
        ran = msgspec.structs.replace(
            call,
            state="error" if outcome.error or denied else "completed",
            result=outcome.parts,
            started=started,
            ended=self._clock.now(),
            touches=outcome.touches,
        )
        return Done(ran, denied)

    async def _outcome(self, call: ToolCall) -> tuple[Outcome, bool]:
        tool, arguments = self._tools.get(call.name), call.arguments
        if tool is None:
            return refusal(_unknown(call.name, self._tools)), False
        if call.raw_arguments:
            return refusal(_not_an_object(call)), False
        if tool.name == MORE:
            inner = inner_call(arguments, self._rare)
            if isinstance(inner, Outcome):
                return inner, False
            tool, arguments = inner
        asked = Asked(tool.name, effect_of(tool, arguments, self.desk), subject_of(tool, arguments, self.desk), arguments, "")
        said = await self._permitted(asked)
        if said:
            return refusal(said), True
        if asked.effect != "read" and asked.tool not in OWN_NOTES and self._before_change is not None:
            await self._before_change()
        return await run(tool, arguments, self.desk), False

    async def _permitted(self, asked: Asked) -> str:
        """Empty = it may run; else why not, for the model."""
        if self._judge(asked).decision == "ask" and self._asker is not None:
            async with self._asking:  # one question at a time: what is granted meanwhile is not asked again
                return await self._answered(asked)
        return await self._answered(asked)

    def _judge(self, asked: Asked) -> Verdict:
        charge = self.charge
        return judge(
            asked,
            mode=charge.mode,
            rules=charge.rules,
            granted=charge.granted,
            root=self.desk.root,
            trusted=charge.trusted,
            given=charge.given,
            base=self.desk.shell.cwd,
        )

    async def _answered(self, asked: Asked) -> str:
        charge, verdict = self.charge, self._judge(asked)
        if verdict.decision == "allow":
            return ""
        if verdict.decision == "deny":
            return f"denied: {verdict.reason}. Change the plan; do not try it another way."
        if self._asker is None:
            return (
                f"not run: {verdict.reason}, and nobody is there to answer."
                " Go on without it, or end your turn and say what you need."
            )
        answer: Answer = await self._asker(msgspec.structs.replace(asked, reason=verdict.reason))
        if answer == "no":
            return "refused by the person. Change the plan, or ask what they want instead."
        if answer == "always":
            charge.granted = (*charge.granted, grant_for(asked, self.desk.root))
        return ""

    async def close(self) -> None:
        await self.desk.close()


def not_run(call: ToolCall, now: int) -> ToolCall:
    """A call of an answer that was cut off: it was never begun."""
    return msgspec.structs.replace(call, state="error", result=(Text("not run: the answer was cut off"),), ended=now)


def refusal(text: str) -> Outcome:
    return Outcome((Text(text),), error=True)


def interrupted(call: ToolCall, now: int) -> ToolCall:
    """A call that was stopped, or never begun, when the turn was."""
    return msgspec.structs.replace(call, state="interrupted", ended=now)


def result_text(parts: Sequence[ResultPart]) -> str:
    """A result as people read it; a payload out of view by its excerpt."""
    said = []
    for part in parts:
        match part:
            case Text():
                said.append(part.text)
            case Image():
                said.append(f"[picture {part.name or part.blob[:12]}]")
            case _:
                said.append(part.excerpt)
    return "\n".join(said)


def _unknown(name: str, tools: Mapping[str, Tool]) -> str:
    near = difflib.get_close_matches(name, tools, n=1)
    guess = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(sorted(tools))}."
    return f"there is no tool {name!r}. {guess}"


def _not_an_object(call: ToolCall) -> str:
    return f"the arguments of {call.name} are not a JSON object: {call.raw_arguments[:200]!r}. Call it again with valid JSON."
