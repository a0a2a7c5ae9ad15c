"""Values that the assistant itself set: constants, and the keys of configuration (K-10)."""

import re
from collections.abc import Iterator
from typing import Any

from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import Evidence
from sojourn.checkpoint.extract.files import touches
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip, plain
from sojourn.checkpoint.redact import redact

_CONFIGURATION = (".yaml", ".yml", ".toml", ".json", ".ini", ".cfg", ".conf", ".env", ".properties", ".tf", ".hcl", ".plist")
_LITERAL = (
    r"(?:[-+]?\d[\w.%+-]*|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|\[[^\[\]\n]{0,80}\]|(?i:true|false|on|off|yes|no|null|none)(?!\w))"
)
_CONSTANT = re.compile(
    rf"^[ \t]*(?:[a-z]+[ \t]+){{0,4}}([A-Z][A-Z0-9_]{{2,}})(?:[ \t]*:[ \t]*[\w.&' \[\]]+?)?[ \t]*:?=[ \t]*{_LITERAL}[^\n]*$",
    re.M,
)
_KEY = re.compile(rf"^[ \t]*[\"']?([A-Za-z][\w.-]*)[\"']?[ \t]*[:=][ \t]*(?:{_LITERAL}|[\w./:-]+[ \t]*(?:$|#))[^\n]*$", re.M)
_OLD, _NEW = (
    ("old_string", "old_str", "oldString", "oldText", "old_text"),
    ("new_string", "new_str", "newString", "newText", "new_text"),
)
_WHOLE = ("content", "file_text", "contents")
_MOST = 140
_CHANGED, _WRITTEN = 1.6, 0.25
"""What a changed value weighs, and one in a file that was written whole."""
_FEW = 4
"""Values of one change that count in full: a long list of them is data."""


def values(evidence: Evidence) -> list[Found]:
    """The newest value of each name in each file that the assistant changed: ``path``: the line that sets it."""
    newest: dict[tuple[str, str], Found] = {}
    for act in evidence.acts:
        written = [touch.path for touch in touches(act) if touch.kind != "read"]
        if not written:
            continue
        path = written[0]
        pattern = _KEY if path.lower().endswith(_CONFIGURATION) else _CONSTANT
        for new, old, weight in _texts(act.call.arguments):
            before = set(old.splitlines())
            fresh = [found for found in pattern.finditer(new) if found[0] not in before]
            share = min(1.0, _FEW / max(1, len(fresh)))
            for found in fresh:
                text = f"`{path}`: {clip(plain(redact(found[0])).rstrip(','), _MOST)}"
                newest.pop((path, found[1]), None)
                newest[path, found[1]] = Found(Section.KNOWLEDGE, text, (act.seq,), weight * share)
    return list(newest.values())


def _texts(arguments: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """What a call put in place of what, with what a value in it weighs."""
    edits = arguments.get("edits")
    for one in [arguments, *(edits if isinstance(edits, list) else [])]:
        if not isinstance(one, dict):
            continue
        new = next((one[key] for key in _NEW if isinstance(one.get(key), str)), "")
        old = next((one[key] for key in _OLD if isinstance(one.get(key), str)), "")
        if new:
            yield new, old, _CHANGED
        whole = next((one[key] for key in _WHOLE if isinstance(one.get(key), str)), "")
        if whole:
            yield whole, "", _WRITTEN
    for value in (arguments.get("patch"), arguments.get("input")):
        if isinstance(value, str) and "\n+" in value:
            lines = value.splitlines()
            yield (
                "\n".join(line[1:] for line in lines if line.startswith("+")),
                "\n".join(line[1:] for line in lines if line.startswith("-")),
                _CHANGED,
            )
