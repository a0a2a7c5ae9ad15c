"""Running one call: its arguments made fit and checked, its failures told so that a model can act on them (Y-5)."""

import errno
from typing import Any

from sojourn.base import SojournError, unescape_value
from sojourn.models.calls import check_arguments
from sojourn.tools.arguments import fit
from sojourn.tools.desk import Desk
from sojourn.tools.skill import SKILL
from sojourn.tools.types import Effect, Outcome, Tool, failed

_NEXT_STEPS = {
    errno.EACCES: "The permissions of the file or its folder do not allow it: take another path or ask the user.",
    errno.EPERM: "The system does not allow it: take another path or ask the user.",
    errno.EISDIR: "It is a folder: name a file in it.",
    errno.ENOTDIR: "A part of the path is a file, not a folder.",
    errno.EEXIST: "A part of the path is a file, not a folder.",
    errno.ENOSPC: "The disk is full: nothing was changed. Free some space.",
    errno.EROFS: "The file system is read-only: take another path.",
    errno.ENAMETOOLONG: "Take a shorter name.",
    errno.E2BIG: "The command is too long: write it to a file and run that.",
    errno.ELOOP: "Links lead back to one another.",
}


async def run(tool: Tool, arguments: dict[str, Any], desk: Desk) -> Outcome:
    """What the call came to. Reminder escapes in the arguments are undone (M-R4) and the schema is checked first.

    Never raises, but for cancelling: by then the call's processes are ended.
    """
    given = fit(arguments, tool.schema)
    wrong = check_arguments(given, tool.schema)
    if wrong:
        return failed(f"{tool.name}: {wrong}")
    try:
        return await tool.run(given, desk)
    except SojournError as error:
        return failed(str(error), error.next_step)
    except OSError as error:
        return failed(_told(error), _NEXT_STEPS.get(error.errno or 0, "Check the path and try another way."))
    except UnicodeError as error:
        return failed(f"{tool.name}: the text does not fit the encoding: {error}", "Leave out or replace that character.")
    except Exception as error:  # noqa: BLE001 (a plugged-in tool may raise anything: the turn has to go on)
        return failed(f"{tool.name} broke: {type(error).__name__}: {error}", "Try another way.")


def _told(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {error.filename}" if error.filename else reason


def subject_of(tool: Tool, arguments: dict[str, Any], desk: Desk) -> str:
    """What a permission rule judges (Y-6), from the arguments as the model wrote them: for a path the real absolute one,
    links followed, whether it exists or not (none given: the working folder); of a skill its name without the slash that
    a person types; else the argument itself; "" = no subject."""
    value = fit(arguments, tool.schema).get(tool.subject)
    if tool.subject != "path":
        subject = value if isinstance(value, str) else ""
        return subject.removeprefix("/") if tool.name == SKILL else subject
    try:
        return str(desk.path(value) if isinstance(value, str) else desk.root)
    except SojournError:
        return str(unescape_value(value))


def effect_of(tool: Tool, arguments: dict[str, Any], desk: Desk) -> Effect:
    """What this call can do: a tool that executes its subject does nothing where the call has none (``bash`` looking at a
    job), unless it is to stop something."""
    if tool.effects is not None:
        return tool.effects(fit(arguments, tool.schema))
    looks = tool.effect == "execute" and tool.subject and not subject_of(tool, arguments, desk).strip()
    if looks and not fit(arguments, tool.schema).get("stop"):
        return "read"
    return tool.effect
