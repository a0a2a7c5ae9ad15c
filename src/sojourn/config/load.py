"""Settings from files, environment and command line, each with where it came from (S-9)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sojourn.base import UserMistake
from sojourn.config.check import check, unknown
from sojourn.config.keys import VARIABLES, Key, catalogue, tables
from sojourn.config.paths import folders
from sojourn.config.places import line_of
from sojourn.config.settings import Settings

FILE_NAME = "config.toml"
PROJECT_FOLDER = ".sojourn"
_SWITCH = "1, true, yes, on, or 0, false, no, off"

_Values = dict[str, Any]
_Place = Callable[[tuple[str, ...]], str]
"""From a key's path to its origin, such as ``user: /home/x/config.toml:3``."""


class Loaded(msgspec.Struct, frozen=True):
    """The settings in force."""

    settings: Settings
    origin: dict[str, str]
    """By key: ``default``, ``user: path:line``, ``project: path:line``, ``environment: NAME`` or ``command line``; for
    tables with free names also by ``key.entry``."""


def load(*, project: Path | None, overrides: Sequence[str] = (), environ: Mapping[str, str]) -> Loaded:
    """Defaults, under the user's file, the project's file, the environment and ``key=value`` overrides (in that order).

    ``project``: the folder that holds ``.sojourn/config.toml``, or None. Tables with free names (``push_caps``,
    ``max_context``) merge entry by entry. Raises UserMistake for an unreadable file, an unknown key or a bad value,
    naming the place, the key, the value and what is allowed.
    """
    values: _Values = {}
    origin = dict.fromkeys(catalogue(), "default")
    files = [("user", folders(environ).config / FILE_NAME)]
    if project is not None:
        files.append(("project", project / PROJECT_FOLDER / FILE_NAME))
    for kind, path in files:
        _take_file(kind, path, values, origin)
    _take_environment(environ, values, origin)
    for override in overrides:
        _take(_parse_override(override), _always("command line"), values, origin)
    return Loaded(_build(values), origin)


def _take_file(kind: str, path: Path, values: _Values, origin: dict[str, str]) -> None:
    import tomllib  # here: not needed where there is no file

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return
    except UnicodeDecodeError as error:
        raise UserMistake(f"{path} is not UTF-8 text: byte {error.start}", next_step="Save it as UTF-8.") from error
    except OSError as error:
        raise UserMistake(f"{path} cannot be read: {error.strerror}", next_step="Check its permissions.") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserMistake(f"{path} is not TOML: {error}", next_step="Correct that line.") from error
    _take(raw, lambda key: f"{kind}: {path}:{line_of(text, key)}", values, origin)


def _take_environment(environ: Mapping[str, str], values: _Values, origin: dict[str, str]) -> None:
    for name, variable in VARIABLES.items():
        text = environ.get(variable, "").strip()
        if not text:
            continue
        if "DISABLE" not in variable:
            raw = _toml_value(text)
        elif text.lower() in ("1", "true", "yes", "on"):
            raw = False
        elif text.lower() in ("0", "false", "no", "off"):
            continue
        else:
            raise UserMistake(f"environment: {variable} = {text!r} is not allowed", next_step=f"Allowed: {_SWITCH}.")
        _take(_nested(name, raw), _always(f"environment: {variable}"), values, origin)


def _parse_override(override: str) -> dict[str, Any]:
    name, equals, text = override.partition("=")
    if not equals or not name.strip():
        raise UserMistake(
            f"--set {override!r} is not key=value", next_step="Write --set compaction.policy=economy, for instance."
        )
    return _nested(name.strip(), _toml_value(text.strip()))


def _always(place: str) -> _Place:
    return lambda _: place


def _toml_value(text: str) -> Any:
    """What the text is in TOML; a bare string where it is none (``40%``, ``economy``)."""
    import tomllib  # here: not needed without variables and overrides

    try:
        document = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return document["value"] if len(document) == 1 else text


def _nested(name: str, value: Any) -> dict[str, Any]:
    """``{"a": {"b": value}}`` for ``a.b``; what follows a table with free names is one name, dots and all."""
    entry_of = next((key.name for key in catalogue().values() if name.startswith(f"{key.name}.")), "")
    parts = [*entry_of.split("."), name[len(entry_of) + 1 :].strip("\"'")] if entry_of else name.split(".")
    for part in reversed(parts):
        value = {part: value}
    nested: dict[str, Any] = value
    return nested


def _take(raw: dict[str, Any], place: _Place, values: _Values, origin: dict[str, str], path: tuple[str, ...] = ()) -> None:
    """Lays one layer over the values, checked key by key."""
    for part, value in raw.items():
        here = (*path, part)
        name = ".".join(here)
        key = catalogue().get(name)
        if key is not None and key.is_table and isinstance(value, dict):
            before = values.get(name)
            merged = dict(before) if isinstance(before, dict) else {}
            for entry, amount in value.items():
                merged |= _checked(key, {entry: amount}, place((*here, entry)))
                origin[f"{name}.{entry}"] = place((*here, entry))
            values[name], origin[name] = merged, place(here)
        elif key is not None:
            values[name], origin[name] = _checked(key, value, place(here)), place(here)
            for entry in [known for known in origin if known.startswith(f"{name}.")]:
                del origin[entry]
        elif name not in tables():
            raise _at(place(here), unknown(name, [*catalogue(), *sorted(tables())]))
        elif isinstance(value, dict):
            _take(value, place, values, origin, here)
        else:
            mistake = UserMistake(f"{name} = {value!r} is not a table", next_step=f"Its settings are written as {name}.KEY.")
            raise _at(place(here), mistake)


def _checked(key: Key, raw: Any, place: str) -> Any:
    try:
        return check(key, raw)
    except UserMistake as mistake:
        raise _at(place, mistake) from mistake


def _at(place: str, mistake: UserMistake) -> UserMistake:
    return UserMistake(f"{place}: {mistake}", next_step=mistake.next_step)


def _build(values: _Values) -> Settings:
    raw: dict[str, Any] = {}
    for name, value in values.items():
        table, _, field = name.rpartition(".")
        (raw.setdefault(table, {}) if table else raw)[field] = value
    return msgspec.convert(raw, Settings)
