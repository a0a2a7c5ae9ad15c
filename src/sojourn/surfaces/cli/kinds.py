"""Fixed words of the record for people: kinds, reasons and outcomes of windows, states of calls, the cache's verdict.
``--json`` has them as they are stored."""

from sojourn.base import Usage
from sojourn.surfaces.catalogue import say


def kind_word(kind: str) -> str:
    """What kind of window it is."""
    told = {"start": say("kind_start"), "rebuild": say("kind_rebuild"), "compaction": say("kind_compaction")}
    return told.get(kind, kind)


def reason_word(reason: str) -> str:
    """Why a window opened."""
    told = {
        "start": say("reason_start"),
        "usage": say("reason_usage"),
        "overflow": say("reason_overflow"),
        "manual": say("reason_manual"),
        "cold_cache": say("reason_cold_cache"),
        "model_switch": say("reason_model_switch"),
    }
    return told.get(reason, reason)


def outcome_word(outcome: str) -> str:
    """How a window came about."""
    told = {
        "started": say("outcome_started"),
        "rebuilt": say("outcome_rebuilt"),
        "extracted": say("outcome_extracted"),
        "compacted": say("outcome_compacted"),
        "insert_failed": say("outcome_insert_failed"),
    }
    return told.get(outcome, outcome)


def state_word(state: str) -> str:
    """How a tool call ended."""
    told = {
        "pending": say("state_pending"),
        "running": say("state_running"),
        "completed": say("state_completed"),
        "error": say("run_error"),
        "interrupted": say("run_interrupted"),
        "denied": say("run_denied"),
    }
    return told.get(state, state)


def writer_word(writer: str) -> str:
    """Who wrote a checkpoint, an item, or a text of memory."""
    told = {
        "model": say("by_model"),
        "extractive": say("by_extraction"),
        "user": say("by_you"),
        "agent": say("by_agent"),
        "writer": say("by_writer"),
        "subagent": say("by_subagent"),
    }
    return told.get(writer, writer)


def verdict_word(verdict: str, usage: Usage | None = None) -> str:
    """What became of the cache; empty = nothing is said. A request so small that the cache held nothing of it (``usage``)
    neither hit nor missed."""
    if verdict == "hit" and usage is not None and not usage.cached:
        return ""
    name, _, part = verdict.partition(": ")
    if name == "prefix_changed":
        return say("verdict_prefix_changed", part=part)
    told = {
        "first": say("verdict_first"),
        "hit": say("verdict_hit"),
        "new_window": say("verdict_new_window"),
        "ttl_expired": say("verdict_ttl_expired"),
        "unknown": say("unknown"),
        "not_reported": say("verdict_not_reported"),
    }
    return told.get(verdict, verdict)
