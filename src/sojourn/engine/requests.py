"""The requests of one session: grown step by step, known again by their hashes, answered by usage (Q-2, R-15)."""

import msgspec

from sojourn.base import Finish, Tokens, Usage, UserMistake
from sojourn.cycle import max_output
from sojourn.engine.state import State
from sojourn.engine.types import Projected
from sojourn.engine.view import View
from sojourn.meter import learn
from sojourn.models import Encoder
from sojourn.record import Call, CloseCall, OpenCall
from sojourn.request import Projection, UnitHashes
from sojourn.wire import ModelRequest, RequestSettings


class _Asked(msgspec.Struct, frozen=True):
    """The newest request that was handed out."""

    request: ModelRequest
    upto_seq: int
    window_id: str
    estimate: Tokens


class Requests:
    """Projects the view of a state; each request of a window costs only what is new since the one before."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._view: View | None = None
        self._projection = Projection(None, None, state.traits)
        self._projected_seq = 0
        self._asked: _Asked | None = None
        # Chat's form serves protocols without a serialiser of their own yet: hashes only have to be stable.
        protocol = state.traits.protocol if state.traits.protocol == "anthropic" else "chat"
        self._encoder = Encoder(protocol)
        self._hashes = UnitHashes()
        self._hashed: tuple[str, ...] = ()

    def forget(self) -> None:
        """The view has changed under the projection: the next request is projected from its start."""
        self._view = None

    def look(self) -> ModelRequest:
        """The present view as a request that is not going to be sent; what will be sent is not touched by looking."""
        state = self._state
        projection = Projection(state.prefix, state.view.window, state.traits)
        projection.extend(state.view.sent)
        return projection.request(RequestSettings(model=state.traits.name))

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
        room = max_output(lines, level.tokens)
        settings = RequestSettings(model=state.traits.name, max_output=min(room, state.traits.output_cap or room))
        request = projection.request(settings, previous or None)
        state.sent_upto = state.head
        self._asked = _Asked(request, state.head, state.view.window.id, state.view.estimate())
        return Projected(request, level, lines, state.view.window, state.head)

    def _grown(self) -> Projection:
        view = self._state.view
        if self._view is not view:
            self._projection = Projection(self._state.prefix, view.window, self._state.traits)
            self._view, self._projected_seq = view, 0
        self._projection.extend(view.after(self._projected_seq))
        self._projected_seq = self._state.head
        return self._projection

    async def answered(self, usage: Usage, finish: Finish | None, price: float | None) -> None:
        """Writes the call's row and takes up what the provider reported (M-2). Raises UserMistake before any request."""
        state, asked = self._state, self._asked
        self._asked = None
        if asked is None:
            raise UserMistake(
                "observe_usage came without a request: before any project(), or twice for one",
                next_step="Project a request, send it, then report.",
            )
        answer = next((m for m in state.view.after(asked.upto_seq) if m.role == "assistant"), None)
        now = state.ports.clock.now()
        call = Call(
            id=state.ports.ids.new("call"),
            purpose="main",
            upto_seq=asked.upto_seq,
            window_id=asked.window_id,
            prefix_id=state.prefix.id if state.prefix else None,
            message_id=answer.id if answer else None,
            model=state.traits.name,
            unit_hashes=self._unit_hashes(asked),
            estimate=asked.estimate,
            started=now,
        )
        await state.commit(OpenCall(call), CloseCall(call.id, usage=usage, price=price, finish=finish, ended=now))
        if answer is not None and finish is not None:
            ended = await state.ports.store.message(state.session.id, answer.id)
            if ended is not None:
                state.view.replace(ended)
        state.calibration = learn(state.calibration, state.traits.name, asked.estimate, usage.input)
        if asked.window_id == state.view.window.id:
            state.view.anchor(msgspec.structs.replace(call, usage=usage))
        state.recoveries = 0

    def _unit_hashes(self, asked: _Asked) -> tuple[str, ...]:
        """How many units the call before had in common with this one, then the hashes of the others: a row a call,
        not the whole conversation in every row."""
        hashes = self._hashes.of(self._encoder.encode(asked.request))
        pairs = zip(self._hashed, hashes, strict=False)
        shared = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(self._hashed), len(hashes)))
        self._hashed = hashes
        return (f"+{shared}", *hashes[shared:])
