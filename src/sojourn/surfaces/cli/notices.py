"""Notices of the engine and the agent, in the person's language."""

from collections.abc import Mapping
from typing import Any

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line


def notice(key: str, detail: Mapping[str, Any]) -> str:
    """The text of a notice; one that has no text of its own is told by its key and its details."""
    match key:
        case "checkpoint_off":
            return say("notice_checkpoint_off")
        case "writing_off":
            return say("notice_writing_off")
        case "checkpoint_stale":
            return say("notice_checkpoint_stale")
        case "window_opens_full":
            return say("notice_window_opens_full")
        case "waiting_for_writer" if isinstance(detail.get("milliseconds"), int | float):
            return say("notice_waiting_for_writer", seconds=round(detail["milliseconds"] / 1000))
        case "incoming_cut":
            return say("notice_incoming_cut")
        case "limit_learned" if isinstance(detail.get("limit"), int):
            return say("notice_limit_learned", limit=detail["limit"])
        case "rendering_failed" | "lease_not_renewed" if detail.get("problem"):
            return one_line(str(detail["problem"]))
        case "prefix_changed" if isinstance(detail.get("tokens_afresh"), int):
            return say("notice_prefix_changed", reason=detail.get("reason", ""), tokens=detail["tokens_afresh"])
        case "rules_reached" if detail.get("path"):
            return say("notice_rules_reached", path=one_line(str(detail["path"])))
        case "prefix_warning" if detail.get("message"):
            return one_line(str(detail["message"]))
        case _:
            rest = ", ".join(f"{name} {one_line(str(value))}" for name, value in detail.items())
            return f"{key.replace('_', ' ')}: {rest}" if rest else key.replace("_", " ")
