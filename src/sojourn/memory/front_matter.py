"""Front matter of a document: what it says of itself between two ``---`` lines, and its title (Y-1)."""

import json
import re

_FRONT = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^[ \t]*([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)+|(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[a-z]+")
"""What YAML reads as the text that it is."""
_BRACKETS = 50
"""A parser of YAML takes seconds for thousands of open brackets; no honest front matter has that many."""
_TITLE_CHARACTERS = 120


def split(text: str) -> tuple[dict[str, str], str]:
    """(fields, body). Fields one level down (``metadata: type:``) count where the first level has none of that name.

    Front matter that is no YAML is read line by line; never raises for what the text holds.
    """
    found = _FRONT.match(text)
    if found is None:
        return {}, text.removeprefix("\ufeff").strip("\n")
    return _fields(found[1]), text[found.end() :].strip("\n")


def joined(fields: dict[str, str], body: str) -> str:
    """The document of these fields (empty ones left out, values as one line each) and this body."""
    lines = [f"{key}: {_value(value)}" for key, value in fields.items() if one_line(value)]
    return (
        "\n".join(["---", *lines, "---", "", body.strip("\n"), ""]) if body.strip() else "\n".join(["---", *lines, "---", ""])
    )


def one_line(text: str) -> str:
    """The text in one line, without characters that do not show."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def title_of(text: str) -> str:
    """Its ``description``, else its first heading, else its first line; in one line of at most 120 characters."""
    fields, body = split(text) if text.startswith(("---", "\ufeff")) else ({}, text)
    heading = _HEADING.search(body)
    first = next((line for line in body.split("\n") if line.strip()), "")
    return one_line(fields.get("description") or (heading[1] if heading else first))[:_TITLE_CHARACTERS]


def _fields(front: str) -> dict[str, str]:
    import yaml  # here: only who has facts pays for it

    try:
        if front.count("[") + front.count("{") > _BRACKETS:
            raise ValueError("too many brackets")
        value = yaml.load(front, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError):
        # "description: Use pnpm: never npm" is no YAML, and common.
        return {key: one.strip("\"'") for key, one in reversed(_LINE.findall(front))}
    if not isinstance(value, dict):
        return {}
    inner = [one for one in value.values() if isinstance(one, dict)]
    levels = [*reversed(inner), value]
    return {key: str(one) for level in levels for key, one in level.items() if isinstance(key, str) and _is_text(one)}


def _is_text(value: object) -> bool:
    return value is not None and not isinstance(value, list | dict | set | tuple)


def _value(value: str) -> str:
    line = one_line(value)
    return line if _BARE.fullmatch(line) else json.dumps(line, ensure_ascii=False)
