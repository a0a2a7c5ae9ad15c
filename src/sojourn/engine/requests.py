"""The requests of one session: grown step by step, known again by their hashes, answered by usage (Q-2, R-15)."""

from collections.abc import Mapping

import msgspec

from sojourn.base import Finish, Tokens, Usage, UserMistake
from sojourn.cycle import max_output
from sojourn.engine.looking import request_of, settings_row
from sojourn.engine.state import State
from sojourn.engine.types import Answer, Projected
from sojourn.engine.view import View
from sojourn.meter import CacheBefore, Watched, learn, watch
from sojourn.models import Encoder
from sojourn.record import AddMessage, Call, Change, CloseCall, Message, OpenCall, Part, SettlePart
from sojourn.request import Change as PartChange
from sojourn.request import Projection, UnitHashes, changed_part
from sojourn.wire import ModelRequest, RequestSettings

_UNKNOWN_CAP = 32_000
"""Output tokens that are asked for where the protocol demands a number and the model's cap is unknown."""


class _Asked(msgspec.Struct, frozen=True):
    """The newest request that was handed out."""

    request: ModelRequest
    upto_seq: int
    window_id: str
    estimate: Tokens
    previous_seq: int
    """The newest message that the request before held; 0 = none."""
    call: Call | None = None
    """Its row, once it is written."""
    extends: bool = False
    """It repeats the request before it and goes on (Q-2)."""


def output_asked(state: State) -> int | None:
    """Tokens that the next request may be answered with. None where the model's cap is unknown and the protocol needs
    no number: one above the cap would be refused (C-2)."""
    room, cap = max_output(state.lines(), state.level().tokens), state.traits.output_cap
    if cap is None:
        return min(room, _UNKNOWN_CAP) if state.traits.protocol == "anthropic" else None
    return min(room, cap)


def request_settings(state: State, *, thinks: bool) -> RequestSettings:
    """Of the next request; ``thinks``: whether the model may be asked to think."""
    thinking = state.ports.settings.model.thinking if state.traits.thinking else None
    return RequestSettings(
        model=state.traits.name,
        max_output=output_asked(state),
        # W-2: calls whose thinking a boundary took away are answered without thinking, until the person speaks again.
        thinking=thinking if thinks or thinking is None else "off",
        cache_key=state.session.id,
        keep_thinking=state.traits.thinking,
    )


class Requests:
    """Projects the view of a state; each request of a window costs only what is new since the one before."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._view: View | None = None
        self._projection = Projection(None, None, state.traits)
        self._projected_seq = 0
        self._asked: _Asked | None = None
        self._left: _Asked | None = None
        """The newest request that left."""
        self._sent: ModelRequest | None = None
        """The newest request that was answered: what the cache may hold."""
        self._before: CacheBefore | None = None
        self._sent_call: Call | None = None
        """Its row, where an earlier process sent it."""
        self._encoder = Encoder(state.traits.protocol)
        self._hashes = UnitHashes()
        self._hashed: tuple[str, ...] = ()

    def resumed(self, newest: Call | None) -> None:
        """The newest answered call of the window that an earlier process left: its request may still be cached."""
        if newest is not None and newest.usage is not None:
            self._sent_call = newest
            self._before = CacheBefore(newest.usage.input, newest.ended or newest.started, newest.window_id or "")

    def forget(self) -> None:
        """The view has changed under the projection: the next request is projected from its start."""
        self._view = None

    def look(self) -> ModelRequest:
        """The present view as a request that is not going to be sent; what will be sent is not touched by looking."""
        state = self._state
        projection = Projection(state.prefix, state.view.window, state.traits, prefix_since=state.prefix_since)
        projection.extend(state.view.sent)
        return projection.request(request_settings(state, thinks=projection.thinks))

    def changed(self, seq: int) -> None:
        """The message has changed (a call was settled): if it is projected already, all is projected anew."""
        if seq <= self._projected_seq:
            self.forget()

    def next(self) -> Projected:
        """The request that is about to leave."""
        state = self._state
        previous = self._projected_seq if self._view is state.view else 0
        projection = self._grown()
        level, lines = state.level(), state.lines()
        request = projection.request(request_settings(state, thinks=projection.thinks), previous or None)
        state.sent_upto = state.head
        self._asked = _Asked(request, state.head, state.view.window.id, state.view.estimate(), previous)
        return Projected(request, level, lines, state.view.window, state.head)

    def _grown(self) -> Projection:
        view = self._state.view
        if self._view is not view:
            state = self._state
            self._projection = Projection(state.prefix, view.window, state.traits, prefix_since=state.prefix_since)
            self._view, self._projected_seq = view, 0
        self._projection.extend(view.after(self._projected_seq))
        self._projected_seq = self._state.head
        return self._projection

    # --- a call's row ----------------------------------------------------------------------------------------------

    async def start(self, *, again: bool = False) -> Answer:
        """Writes the call's row and the shell of its answer in one commit, before the request leaves (R-15, R-4).

        Raises UserMistake where nothing was projected since the last answer.
        """
        state = self._state
        asked = self._left if again and self._left is not None else self._handed_out()
        self._left = asked
        now = state.ports.clock.now()
        message = Message(id=state.ports.ids.new("msg"), role="assistant", origin="model", created=now, model=state.traits.name)
        call, extends = self._row(asked, message.id, now)
        done = await state.commit(AddMessage(message), OpenCall(call))
        state.view.extend([msgspec.structs.replace(message, seq=done.seqs[0], session_id=state.session.id)])
        self._asked = msgspec.structs.replace(asked, call=call, extends=extends)
        return Answer(message.id, call.id, done.seqs[0])

    async def answered(
        self,
        usage: Usage | None,
        finish: Finish | None,
        price: float | None,
        *,
        parts: Mapping[int, Part] = {},
        error: str = "",
    ) -> Watched:
        """Completes the call's row and takes up what the provider reported (M-2), in one commit with the answer's last
        parts. Raises UserMistake before any request."""
        state, asked = self._state, self._handed_out()
        now = state.ports.clock.now()
        changes: list[Change] = []
        call, extends = asked.call, asked.extends
        if call is None:
            answer = next((m for m in state.view.after(asked.upto_seq) if m.role == "assistant"), None)
            call, extends = self._row(asked, answer.id if answer else None, now)
            changes.append(OpenCall(call))
        watched = await self._watch(asked, call, usage, extends) if usage else Watched("")
        if call.message_id:
            changes += [SettlePart(call.message_id, index, part) for index, part in parts.items()]
        changes.append(
            CloseCall(call.id, usage=usage, price=price, verdict=watched.verdict, error=error, finish=finish, ended=now)
        )
        await state.commit(*changes)
        self._asked = None
        if call.message_id and (finish is not None or parts):
            await state.settled(call.message_id, parts, finish)
        if usage is not None:
            self._take_up(asked, msgspec.structs.replace(call, usage=usage, price=price), now)
        return watched

    def _take_up(self, asked: _Asked, call: Call, now: int) -> None:
        state = self._state
        assert call.usage is not None
        state.calibration = learn(state.calibration, state.traits.name, asked.estimate, call.usage.input)
        if asked.window_id == state.view.window.id:
            state.view.anchor(call)
        state.recoveries = 0
        state.answered_at = now
        state.spent = state.spent.plus("main", call.usage, state.prices, call.price)
        self._sent = asked.request
        self._before = CacheBefore(call.usage.input, now, asked.window_id)

    async def _watch(self, asked: _Asked, call: Call, usage: Usage, extends: bool) -> Watched:
        """What the cache should have given (A-7)."""
        changed: PartChange | None = None
        if not extends and usage.cached is not None and self._before is not None:
            sent = self._sent
            if sent is None and self._sent_call is not None:
                sent = await request_of(self._state.ports.store, self._state.session.id, self._sent_call)
            changed = changed_part(sent, asked.request) if sent is not None else None
        return watch(
            self._before,
            usage,
            changed=changed.part if changed else "",
            shared=changed.shared if changed else 0,
            window_id=asked.window_id,
            started=call.started,
            ttl=self._state.traits.cache_ttl,
        )

    def _handed_out(self) -> _Asked:
        if self._asked is None:
            raise UserMistake(
                "an answer came without a request: before any project(), or twice for one",
                next_step="Project a request, send it, then report.",
            )
        return self._asked

    def _row(self, asked: _Asked, message_id: str | None, now: int) -> tuple[Call, bool]:
        """The row, and whether the request extends the one before."""
        state = self._state
        hashes, extends = self._unit_hashes(asked)
        call = Call(
            id=state.ports.ids.new("call"),
            purpose="main",
            upto_seq=asked.upto_seq,
            window_id=asked.window_id,
            prefix_id=state.prefix.id if state.prefix else None,
            message_id=message_id,
            model=state.traits.name,
            settings=settings_row(state.traits, asked.request, asked.previous_seq, state.prefix_since),
            unit_hashes=hashes,
            estimate=asked.estimate,
            started=now,
        )
        return call, extends

    def _unit_hashes(self, asked: _Asked) -> tuple[tuple[str, ...], bool]:
        """How many units the call before had in common with this one, then the hashes of the others: a row a call,
        not the whole conversation in every row. And whether the call before had no others."""
        hashes = self._hashes.of(self._encoder.encode(asked.request))
        pairs = zip(self._hashed, hashes, strict=False)
        shared = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(self._hashed), len(hashes)))
        extends = bool(self._hashed) and shared == len(self._hashed)
        self._hashed = hashes
        return (f"+{shared}", *hashes[shared:]), extends
