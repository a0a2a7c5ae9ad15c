"""What the engine did on its own, as an event of the agent."""

from sojourn.agent.types import AgentEvent, CheckpointEvent, Noticed, WindowOpened
from sojourn.base import open_items
from sojourn.engine import EngineEvent


def as_agent_event(event: EngineEvent) -> AgentEvent | None:
    """None = nothing a reader of the agent's events needs."""
    detail = event.detail
    match event.kind:
        case "window_opened":
            window = detail["window"]
            if window.kind == "start":
                return None
            return WindowOpened(
                window.number,
                window.reason,
                window.outcome,
                window.meter_before,
                window.meter_after,
                window.covered_seq,
                detail.get("saved", 0),
            )
        case "checkpoint_started":
            return CheckpointEvent("started", writer=detail["writer"], covered=detail["mark"])
        case "checkpoint_written":
            checkpoint = detail["checkpoint"]
            return CheckpointEvent(
                "written",
                writer=checkpoint.writer,
                covered=checkpoint.covered_seq,
                items=len(open_items(checkpoint.items)),
                usage=checkpoint.usage,
            )
        case "checkpoint_failed":
            return CheckpointEvent("failed", reason=str(detail["reason"]))
        case "notice":
            rest = {name: value for name, value in detail.items() if name != "key"}
            return Noticed(str(detail["key"]), rest)
        case "undone":
            return None
        case kind:
            return Noticed(kind, dict(detail))
