"""Calls that nobody was there to allow, each with the options that would (Y-6)."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn.agent.asking import Asked
from sojourn.agent.permissions import Rule, Rules, grant_for, judge
from sojourn.agent.types import Called
from sojourn.surfaces.catalogue import say
from sojourn.surfaces.cli.columns import one_line
from sojourn.surfaces.cli.running import call_line


def refused_lines(
    denied: Sequence[tuple[Called, str]], *, mode: str, rules: Rules, root: Path, trusted: bool, given: bool
) -> list[str]:
    """For the end of a run: each call once, why it was refused, and how to allow it where that is possible."""
    told: dict[str, list[str]] = {}
    for call, text in denied:
        asked = _asked(call)
        options = remedy(asked, mode=mode, rules=rules, root=root, trusted=trusted, given=given)
        how = [say("run_allow_with", options=options)] if options else []
        first = next((line for line in text.splitlines() if line.strip()), "")
        told.setdefault(f"  {call_line(call)}: {one_line(first)}", [f"    {line}" for line in how])
    lines = [line for head, rest in told.items() for line in (head, *rest)]
    return [say("run_refused", count=len(told)), *lines] if told else []


def remedy(asked: Asked, *, mode: str, rules: Rules, root: Path, trusted: bool, given: bool) -> str:
    """The fewest options of ``sojourn run`` under which the call would run without a question; empty = none would."""

    def verdict(mode: str, trusted: bool, allow: tuple[Rule, ...]) -> str:
        held = Rules((*rules.allow, *allow), rules.ask, rules.deny, rules.own)
        return judge(asked, mode=mode, rules=held, root=root, trusted=trusted, given=given).decision

    if verdict(mode, trusted, ()) != "ask":
        return ""
    rule = grant_for(asked, root)
    trusts = [(trusted, "")] if trusted else [(False, ""), (True, "--trust")]
    for accept, allow in ((False, False), (True, False), (False, True)):
        for with_trust, flag in trusts:
            if verdict("accept-edits" if accept else mode, with_trust, (rule,) if allow else ()) == "allow":
                texts = [*map(str, rules.allow), str(rule)]
                added = shlex.quote("permissions.allow=" + json.dumps(texts, ensure_ascii=False))
                words = [flag, "--mode accept-edits" if accept else "", f"--set {added}" if allow else ""]
                return " ".join(word for word in words if word)
    return ""


def _asked(call: Called) -> Asked:
    """The call as the agent asked about it."""
    from sojourn.tools import CORE, skill_tool

    name, arguments = call.name, call.arguments
    inner = arguments.get("arguments")
    if name == "more" and isinstance(arguments.get("name"), str) and isinstance(inner, dict):
        name, arguments = arguments["name"], inner
    tool = next((one for one in (*CORE, skill_tool(tuple)) if one.name == name), None)
    return Asked(name, tool.effect if tool else "execute", _subject(tool.subject if tool else "", arguments), arguments, "")


def _subject(key: str, arguments: dict[str, Any]) -> str:
    value = arguments.get(key, ".") if key == "path" else arguments.get(key, "")
    return value if isinstance(value, str) else ""
