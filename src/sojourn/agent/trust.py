"""Whether a person trusts a folder (Y-6): asked once for each, and what an untrusted folder's own settings may say.

A folder's settings come with the repository. Until somebody has said that it is trusted they may forbid and nothing else.
Heard are ``permissions.deny`` and ``permissions.ask``, which add to the user's own, and a stricter ``permissions.mode``.
No other key is, because by each the folder would gain something:

- ``permissions.allow``, a laxer mode: calls without a question;
- ``model.*``: where the conversation is sent, to which model, with how much thinking, over which limits;
- ``output_style``: text in a system block (the folder's styles are not read either, nor its word on git: M-R5);
- ``instructions.*``: any file of the folder, one with keys too, read into the prompt without a question;
- ``reminders.off``, ``mid_conversation_system.*``: what the engine tells the model, and with which authority;
- ``checkpoint.*``, ``compaction.*``, ``rebuild.*``, ``memory.*``: what outlives a window, the user's own words among it, and
  what that costs;
- ``tools.*``: how long a command may run;
- ``language``: questions that the person cannot read.

A key that is new is not heard until it is put on the list.
"""

import json
import os
import stat
import tempfile
from pathlib import Path

import msgspec

from sojourn.base import UserMistake, WorkFailed
from sojourn.config import Loaded, Settings, ensure_private
from sojourn.config.keys import catalogue

FILE_NAME = "trust.json"
_STRICTNESS = ("plan", "ask", "accept-edits", "full")
_HEARD = ("permissions.deny", "permissions.ask")
"""Keys of an untrusted folder that hold, beside a stricter ``permissions.mode``: they can only forbid."""


class _Kept(msgspec.Struct):
    folders: dict[str, bool] = {}


def trust_root(folder: Path) -> Path:
    """What the answer is kept for: the real path of the git working tree around the folder, else of the folder."""
    real = folder.resolve()
    return next((one for one in (real, *real.parents) if (one / ".git").exists()), real)


def answered(folder: Path, config: Path) -> bool | None:
    """What a person has said about the folder; None = nobody was asked. ``config``: our configuration folder.

    Raises UserMistake where the file is damaged or could have been written by others."""
    return _read(config / FILE_NAME).folders.get(str(trust_root(folder)))


def trusted(folder: Path, config: Path) -> bool:
    """Whether a person has said that the folder is trusted."""
    return answered(folder, config) is True


def trust(folder: Path, config: Path, *, yes: bool = True) -> Path:
    """Keeps the answer, readable by its owner alone; answers the folder it holds for. Raises WorkFailed."""
    root, path = trust_root(folder), ensure_private(config) / FILE_NAME
    kept = _read(path)
    kept.folders[str(root)] = yes
    try:
        handle, name = tempfile.mkstemp(dir=config, prefix=f".{FILE_NAME}.")  # made with mode 0600
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump({"folders": kept.folders}, file, indent=1)
        os.replace(name, path)
    except OSError as error:
        raise WorkFailed(
            f"{path} cannot be written: {error.strerror}", next_step="Check the disk and the permissions."
        ) from error
    return root


def untrusted_keys(loaded: Loaded, own: Loaded) -> tuple[str, ...]:
    """Keys of the project's file that are not heard while its folder is untrusted, sorted. ``own``: the same settings
    without that file."""
    named = [key for key, place in loaded.origin.items() if place.startswith("project:")]
    said = [key for key in catalogue() if any(one == key or one.startswith(f"{key}.") for one in named)]
    heard = (*_HEARD, "permissions.mode") if _is_stricter(loaded, own) else _HEARD
    return tuple(sorted(key for key in said if key not in heard))


def settings_here(loaded: Loaded, own: Loaded, *, trusted: bool) -> Settings:
    """The settings in force. Denials and questions of the user's own file hold whatever the project's file says (deny
    beats everything); without trust that file adds its own to them, may set a stricter mode, and says nothing else."""
    settings, mine = loaded.settings, own.settings
    replace = msgspec.structs.replace
    heard = settings if trusted else mine
    permissions = replace(
        heard.permissions,
        mode=settings.permissions.mode if trusted or _is_stricter(loaded, own) else mine.permissions.mode,
        deny=tuple(dict.fromkeys((*mine.permissions.deny, *settings.permissions.deny))),
        ask=tuple(dict.fromkeys((*mine.permissions.ask, *settings.permissions.ask))),
    )
    return replace(heard, permissions=permissions)


def _is_stricter(loaded: Loaded, own: Loaded) -> bool:
    """Whether the mode with the project's file allows no more than without it."""
    return _STRICTNESS.index(loaded.settings.permissions.mode) <= _STRICTNESS.index(own.settings.permissions.mode)


def _read(path: Path) -> _Kept:
    try:
        mode = path.stat()
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return _Kept()
    except OSError as error:
        raise UserMistake(f"{path} cannot be read: {error.strerror}", next_step="Check its permissions.") from error
    if os.name != "nt" and (stat.S_IMODE(mode.st_mode) & 0o022 or mode.st_uid != os.getuid()):
        raise UserMistake(f"{path} can be written by others", next_step=f"Look at it, then: chmod 600 {path}")
    try:
        return msgspec.convert(json.loads(text), _Kept)  # not msgspec's reader: names of folders need not be text
    except (ValueError, msgspec.MsgspecError) as error:
        raise UserMistake(f"{path} is damaged: {error}", next_step="Remove it: each folder is asked for again.") from error
