"""What of a window outlives a rebuild, and which rule files are in it: one list for every kind of content (S-3, report 13)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from sojourn.config import Settings
from sojourn.record import Message, PrefixSnapshot, Reminder
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line, wrapped
from sojourn.surfaces.cli.render import width

Fate = Literal["kept", "renewed", "verbatim", "summarised", "dropped"]
FATES: dict[str, Fate] = {
    "tools": "kept",
    "mcp tools": "kept",
    "tool prompt": "kept",
    "system": "kept",
    "skills": "renewed",
    "context": "renewed",
    "opening": "renewed",
    "user": "verbatim",
    "assistant": "summarised",
    "results": "dropped",
    "images": "dropped",
    "reminder": "dropped",
    "other": "dropped",
}
"""By category of M-4 (``opening/...`` and ``reminder/...`` by their first word): what a rebuilt window does with it.

kept: the same again. renewed: made again from disk or from its own store. verbatim: the person's words, whole as far as
the budget goes. summarised: as items of the checkpoint and lines of the digest. dropped: out of view; ``history`` and
``sojourn search`` find it, and reminders that still hold are placed anew.
"""


def fates(categories: Mapping[str, int]) -> dict[Fate, dict[str, int]]:
    """The categories with their tokens, under what a rebuild would do with them."""
    found: dict[Fate, dict[str, int]] = {"kept": {}, "renewed": {}, "verbatim": {}, "summarised": {}, "dropped": {}}
    for category, tokens in categories.items():
        found[FATES.get(category.partition("/")[0], "dropped")][category] = tokens
    return found


class RuleLine(msgspec.Struct, frozen=True):
    """A rule file that was loaded, or looked for, or is left out."""

    path: str
    state: Literal["loaded", "absent", "warning"]
    """On disk, now."""
    in_window: bool
    """It stands in the window that the model sees."""
    message: str


class Pinned(msgspec.Struct, frozen=True):
    """What is pinned: it stands in every window that opens."""

    count: int
    tokens: int


def rule_lines(cwd: Path, settings: Settings, config: Path, prefix: PrefixSnapshot | None) -> tuple[RuleLine, ...]:
    """Every place that was looked at, in order (P-5); empty where the folder is not here."""
    from sojourn.prefix.sources.instructions import find

    if not str(cwd) or not cwd.is_dir():
        return ()
    text = "".join(block.text for block in prefix.context) if prefix else ""
    notes = find(cwd, settings.instructions, config).notes
    return tuple(RuleLine(one.path, one.kind, bool(one.path) and f"## {one.path} (" in text, one.message) for one in notes)


def reminders_by_kind(messages: Sequence[Message]) -> dict[str, int]:
    """How many reminders of each kind stand in view."""
    counts: dict[str, int] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, Reminder):
                counts[part.source] = counts.get(part.source, 0) + 1
    return counts


def keeping_report(
    categories: Mapping[str, int], rules: Sequence[RuleLine], reminders: Mapping[str, int], pinned: Pinned | None = None
) -> str:
    """The list of fates, then rules and reminders."""
    labels: dict[Fate, str] = {
        "kept": say("fate_kept"),
        "renewed": say("fate_renewed"),
        "verbatim": say("fate_verbatim"),
        "summarised": say("fate_summarised"),
        "dropped": say("fate_dropped"),
    }
    told = [say("fate_head")]
    for fate, held in fates(categories).items():
        names = ", ".join(f"{name} {tokens:,}" for name, tokens in held.items()) or "-"
        told.append(wrapped(f"{labels[fate]}: {names}", width(), indent="  "))
    if pinned is not None and pinned.count:
        told.append(wrapped(say("fate_pins", count=pinned.count, tokens=pinned.tokens), width(), indent="  "))
    if reminders:
        kinds = ", ".join(f"{one_line(kind)} {count:,}" for kind, count in reminders.items())
        told += ["", wrapped(say("context_reminders", kinds=kinds), width())]
    told += ["", *_rules(rules)]
    return "\n".join(told)


def _rules(rules: Sequence[RuleLine]) -> list[str]:
    loaded = any(rule.state == "loaded" for rule in rules)
    told = [say("rules_head") if loaded else say("rules_none")]
    for rule in rules:
        if rule.state == "absent":
            continue
        mark = "+" if rule.state == "loaded" else "!"
        late = f"  ({say('rules_not_in')})" if rule.state == "loaded" and not rule.in_window else ""
        told.append(f"  {mark} {one_line(rule.message)}{late}")
    absent = [rule.path for rule in rules if rule.state == "absent"]
    if absent:
        told.append(wrapped(say("rules_absent", paths=", ".join(absent)), width(), indent="  "))
    return told


def keeping_json(
    categories: Mapping[str, int], rules: Sequence[RuleLine], reminders: Mapping[str, int], pinned: Pinned
) -> dict[str, Any]:
    """``rebuild`` (fate: categories with tokens), ``pins`` (count, tokens), ``rules``, ``reminders``."""
    return {"rebuild": fates(categories), "pins": pinned, "rules": rules, "reminders": reminders}
