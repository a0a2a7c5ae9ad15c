"""Who may write what (Y-2). A pure table."""

from typing import Literal

from sojourn.memory.layout import folder_of_project
from sojourn.memory.types import Belonging, Locator, Who

Act = Literal["append", "edit", "write", "take_out"]

_RENDERING = "it is a rendering of the checkpoint in the record"


def refusal(who: Who, act: Act, locator: Locator, belonging: Belonging | None, task_id: str = "") -> str:
    """Why this may not be written; empty = it may.

    ``belonging``: the session that the store was opened for, None = no session (a person's own command). Even a person's
    command, given within a session, stays in that session's memory.
    """
    if locator.key == "checkpoint":
        return _RENDERING
    if belonging is None:
        return "" if who == "user" else "no session is known that it would belong to"
    if foreign := not_its_own(locator, belonging):
        return foreign
    match who:
        case "user":
            return ""
        case "agent":
            return "progress is written by the actor of the task" if locator.key.startswith("tasks/") else ""
        case "writer":
            return _writer(act, locator)
        case _:
            own = locator.key == f"tasks/{task_id}/progress"
            return "" if own and act != "take_out" else "an actor writes the progress of its own task only"


def not_its_own(locator: Locator, belonging: Belonging) -> str:
    """Why a session may not even look at it; empty = it may (report 85)."""
    match locator.scope:
        case "session":
            return "" if locator.scope_id == belonging.session_id else "it belongs to another session"
        case "project":
            own = belonging.project_id
            same = bool(own) and folder_of_project(own) == folder_of_project(locator.scope_id)
            return "" if same else "it belongs to another project"
        case _:
            return ""


def _writer(act: Act, locator: Locator) -> str:
    """Nothing that could put an old view over what others wrote since (reports 81, 86)."""
    if locator.scope == "session":
        taken = locator.key == "notes" and act == "take_out"
        return "" if taken else "a checkpoint writer only takes entries out of the notes"
    if locator.scope == "global":
        return "a checkpoint writer does not write global memory"
    return "" if act in ("append", "edit") else "a checkpoint writer only adds and edits, it never writes the whole"
