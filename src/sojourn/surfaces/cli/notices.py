"""Notices of the engine and the agent, in the person's language."""

from collections.abc import Callable, Mapping
from typing import Any

from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line

Detail = Mapping[str, Any]


def notice(key: str, detail: Detail) -> str:
    """The text of a notice; one that has no text of its own, or not the details for it, is told by its key and details."""
    told = _TOLD.get(key)
    try:
        if told is not None:
            return told(detail)
    except (KeyError, TypeError):
        pass  # the notice was made by another version: what there is of it is told
    rest = ", ".join(f"{name} {one_line(str(value))}" for name, value in detail.items())
    return f"{key.replace('_', ' ')}: {rest}" if rest else key.replace("_", " ")


def _text(detail: Detail, name: str) -> str:
    """A detail on one line. KeyError: it says nothing."""
    if not detail.get(name):
        raise KeyError(name)
    return one_line(str(detail[name]))


def _number(detail: Detail, name: str) -> float:
    found = detail[name]
    if not isinstance(found, int | float):
        raise TypeError(name)
    return found


_TOLD: dict[str, Callable[[Detail], str]] = {
    "checkpoint_off": lambda detail: say("notice_checkpoint_off"),
    "writing_off": lambda detail: say("notice_writing_off"),
    "checkpoint_stale": lambda detail: say("notice_checkpoint_stale"),
    "window_opens_full": lambda detail: say("notice_window_opens_full"),
    "waiting_for_writer": lambda detail: say(
        "notice_waiting_for_writer", seconds=round(_number(detail, "milliseconds") / 1000)
    ),
    "writers_over_budget": lambda detail: say("notice_writers_over_budget"),
    "summarising": lambda detail: say("notice_summarising"),
    "incoming_cut": lambda detail: say("notice_incoming_cut"),
    "limit_learned": lambda detail: say("notice_limit_learned", limit=_number(detail, "limit")),
    "rendering_failed": lambda detail: _text(detail, "problem"),
    "lease_not_renewed": lambda detail: _text(detail, "problem"),
    "memory_failed": lambda detail: say("notice_memory_failed", problem=_text(detail, "problem")),
    "memory_too_long": lambda detail: say("notice_memory_too_long"),
    "promoted": lambda detail: say("notice_promoted", count=len(detail["added"]) + len(detail["replaced"])),
    "files_not_kept": lambda detail: say("notice_files_not_kept", reason=_text(detail, "reason")),
    "prefix_changed": lambda detail: say(
        "notice_prefix_changed", reason=detail.get("reason", ""), tokens=_number(detail, "tokens_afresh")
    ),
    "rules_reached": lambda detail: say("notice_rules_reached", path=_text(detail, "path")),
    "prefix_warning": lambda detail: _text(detail, "message"),
}
