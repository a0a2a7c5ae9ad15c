"""The lines between two ``---`` at the start of a Markdown file (P-6, P-9)."""

import re

import msgspec

_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PLAIN = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)

_BRACKETS = 50
"""A parser of YAML takes seconds for some thousands of open brackets; no honest front matter has that many."""


class FrontMatter(msgspec.Struct, frozen=True):
    fields: dict[str, str]
    """Values that are text; numbers and dates as they would be written; lists and tables left out."""
    body: str
    """The rest of the file, without blank lines around it."""
    problem: str = ""
    """What a person should know: the fields were read line by line because they are no YAML."""


def front_matter(text: str) -> FrontMatter:
    """Fields and body. A file without front matter is all body. Never raises for what the file holds."""
    found = _FRONT.match(text)
    if found is None:
        return FrontMatter({}, text.strip("\n"))
    body = text[found.end() :].strip("\n")
    import yaml  # here: only who has skills or styles pays for it

    try:
        if found[1].count("[") + found[1].count("{") > _BRACKETS:
            raise ValueError("too many brackets")
        value = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError):
        # "description: Use when: ..." is no YAML, and common.
        plain = {key: one.strip("\"'") for key, one in _PLAIN.findall(found[1])}
        return FrontMatter(plain, body, "its front matter is no YAML: read line by line")
    fields = value if isinstance(value, dict) else {}
    return FrontMatter({key: str(one) for key, one in fields.items() if _is_text(key, one)}, body)


def _is_text(key: object, value: object) -> bool:
    return isinstance(key, str) and value is not None and not isinstance(value, list | dict | set | tuple)
