"""What must hold over any history at any window size (Q-2, Q-3, C-2, W-4)."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sessions import engine_for, prose, user
from sojourn.base import Finish, WorkFailed
from sojourn.config import Compaction, Settings
from sojourn.engine import Projected
from sojourn.models import ENCODERS, Protocol
from sojourn.record import Message, Text, ToolCall
from sojourn.request import extends, problems, units

results = st.integers(0, 3_000).map(lambda n: prose(n, n))
chinese = st.integers(1, 600).map(lambda n: "潮汐数据必须按毫米保存" * n)
words = st.one_of(st.text(max_size=200), results, chinese)


@st.composite
def calls(draw: st.DrawFn) -> Message:
    """An assistant message with up to three parallel calls, some without a result."""
    parts: list[Text | ToolCall] = [Text(draw(words))] if draw(st.booleans()) else []
    for number in range(draw(st.integers(1, 3))):
        state = draw(st.sampled_from(["completed", "completed", "error", "pending"]))
        parts.append(
            ToolCall(
                call_id=f"c{number}",
                name=draw(st.sampled_from(["read_file", "bash"])),
                arguments={"path": draw(st.text(max_size=20))},
                state=state,
                result=() if state == "pending" else (Text(draw(words)),),
            )
        )
    return Message(id="", role="assistant", origin="model", parts=tuple(parts), finish=Finish.TOOL_CALLS)


answers = words.map(lambda text: Message(id="", role="assistant", origin="model", parts=(Text(text),), finish=Finish.STOP))
speech = words.map(user)
histories = st.lists(st.one_of(speech, calls(), calls(), calls(), answers), min_size=1, max_size=40)


@pytest.mark.design("Q-2", "Q-3", "Q-1", "C-2", "N6")
@pytest.mark.report(59, 63)
@settings(max_examples=60, deadline=None, print_blob=False)
@given(
    history=histories,
    limit=st.sampled_from([8_000, 12_000, 16_000, 24_000, 40_000, 128_000]),
    policy=st.sampled_from(["full", "balanced", "economy"]),
    protocol=st.sampled_from(["anthropic", "chat"]),
)
def test_requests_are_valid_fit_and_extend_the_last_inside_a_window(
    history: list[Message], limit: int, policy: str, protocol: Protocol
) -> None:
    async def main() -> None:
        config = Settings(compaction=Compaction(policy=policy))  # type: ignore[arg-type]
        encode = ENCODERS[protocol]
        async with await engine_for(limit, settings=config, protocol=protocol) as engine:
            last: tuple[int, list[bytes]] = (0, [])
            await engine.observe(user("Begin."))
            for message in history:
                if message.role == "assistant":
                    projected = await _project(engine)
                    if projected is None:
                        return
                    assert projected.level.tokens <= projected.lines.hard
                    found = [one for one in problems(projected.request, protocol) if "nothing to answer" not in one]
                    assert found == []
                    sent = units(projected.request, encode)
                    if last[0] == projected.window.number:
                        assert extends(sent, last[1])
                    last = (projected.window.number, sent)
                await engine.observe(message)

    asyncio.run(main())


async def _project(engine: object) -> Projected | None:
    """None where the engine stops with a clear text: what people said alone is larger than the window."""
    try:
        return await engine.project()  # type: ignore[attr-defined,no-any-return]
    except WorkFailed as stop:
        assert "stopped" in str(stop)
        assert stop.next_step
        return None
