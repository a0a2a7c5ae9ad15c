"""What a call may do: rules, modes, trust (Y-6). Nothing is asked and nothing run here; the same question, the same answer.

The order, the first that says something decides: rules that deny; plan mode; what was granted in this session (of changes
and commands in a trusted folder only); rules that ask; an untrusted folder; rules that allow; the mode.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from sojourn.agent.places import anywhere, covers, inside, lexical_path, literal, protected, real_path, secret
from sojourn.agent.remembering import may_be_global
from sojourn.agent.rules import SHELL, Rule, Rules, Test, exactly, like, parse_rule, rules_of, tool_like, verbatim
from sojourn.agent.shell import Part, Script, every_part, faces, script
from sojourn.agent.simple_commands import first_words, only_looks, writes_nothing
from sojourn.agent.wildcards import has_wildcard, may_meet, words_of_braces
from sojourn.tools.types import Effect

__all__ = [
    "OWN_NOTES",
    "PLAN",
    "PLAN_MODE",
    "Mode",
    "Rule",
    "Rules",
    "Verdict",
    "Wanted",
    "grant_for",
    "hidden_patterns",
    "judge",
    "parse_rule",
    "rules_of",
]

PLAN_MODE = "plan"
Mode = Literal["ask", "accept-edits", "plan", "full"]
PLAN = "plan mode: look and plan, change nothing; the person leaves plan mode when the plan is agreed"

_NOTHING = ":"
"""Of a call without a subject: the command that does nothing, a name that nothing has."""
_ALWAYS_READS = frozenset({"history"})
OWN_NOTES = frozenset({"memory"})
"""What they write is the agent's own (Y-2 says which): no question is asked where changes are allowed at all, but for global
memory, which every project of the person reads."""
_LOOKERS = frozenset({"read", "grep", "glob"})
"""Their subject is a path, whatever it looks like."""

_GOES = frozenset({"cd", "pushd", "popd", "chdir"})
_TAKES = frozenset({"xargs", "parallel", "read", "mapfile", "readarray"})
"""Programs that take names from others."""
_FILLED_IN = re.compile(r"\$(?!\?)|`")
_STANDS_MOST = 32
"""Folders that are looked at for one command."""


class Wanted(Protocol):
    """What is judged: ``asking.Asked`` is one."""

    @property
    def tool(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def subject(self) -> str: ...
    @property
    def arguments(self) -> dict[str, Any]: ...


class Verdict(msgspec.Struct, frozen=True):
    decision: Literal["allow", "ask", "deny"]
    reason: str
    """The rule or the mode that decided, in a few English words: for the person's question and the model's result."""


def judge(
    call: Wanted,
    *,
    mode: str,
    rules: Rules,
    root: Path,
    trusted: bool,
    granted: Sequence[Rule] = (),
    given: bool = False,
    base: Path | None = None,
) -> Verdict:
    """Whether the call runs, waits for a person's word, or is refused, and why.

    ``root``: the working folder. ``granted``: what the person answered ``always`` to in this session. ``given``: the mode
    was named on the command line; only then ``full`` holds in an untrusted folder. ``base``: where relative paths of
    commands start (None, or a folder that is gone: ``root``).
    """
    stands = root if base is None or not base.is_dir() else base
    look = _Look(call, rules, str(root.resolve()), str(stands.resolve()))
    if rule := look.first(rules.deny):
        return Verdict("deny", f"the rule {rule} denies it")
    if mode == "plan" and call.effect != "read" and call.tool not in _ALWAYS_READS:
        return Verdict("deny", PLAN)
    if (trusted or call.effect == "read") and look.allowed(granted):
        return Verdict("allow", "granted for this session")
    if rule := look.first(rules.ask):
        return Verdict("ask", f"the rule {rule} asks")
    full = mode == "full"
    if not trusted and call.effect != "read" and not (full and given):
        return Verdict("ask", "this folder is not trusted")
    guarded = not full and look.protected
    if not guarded and look.allowed((*rules.allow, *granted), reading=trusted):
        return Verdict("allow", "allowed by the rules")
    if full:
        return Verdict("allow", "mode full")
    return look.by_mode(mode)


def grant_for(call: Wanted, root: Path) -> Rule:
    """What ``always`` means: the first words of a simple command whose tool has subcommands, else the exact command; a
    file by its real path; else the exact subject, or the tool."""
    if call.tool == SHELL:
        return Rule(SHELL, first_words(call.subject) or verbatim(call.subject.strip()) or _NOTHING)
    places = _places(call, str(root.resolve()))
    if places is not None:
        really = places[0]
        return Rule(call.effect, literal(really) if really else _NOTHING)
    return Rule(call.tool, verbatim(call.subject)) if call.subject.strip() else Rule(call.tool)


def hidden_patterns(rules: Rules, root: Path) -> tuple[str, ...]:
    """What a search through a folder leaves out: files whose reading a rule denies or asks for (``Desk``'s ``hidden``)."""
    real = str(root.resolve())
    found = [
        line
        for rule in (*rules.deny, *rules.ask)
        if rule.pattern is not None and (rule.tool == "read" or tool_like(rule.tool)("grep"))
        for line in anywhere(rule.pattern, real)
    ]
    return tuple(dict.fromkeys(found))


# --- one call, looked at ---------------------------------------------------------------------------------------------


class _Look:
    """A call with what it touches, worked out once."""

    def __init__(self, call: Wanted, rules: Rules, root: str, base: str) -> None:
        self._call = call
        self._root = root
        self._base = base
        self._rules = rules
        self._places = _places(call, root)
        runs = call.tool == SHELL and call.effect == "execute"
        self._script: Script | None = script(call.subject) if runs else None
        self._parts = list(every_part(call.subject)) if runs else []
        self._bases = _stands(self._parts, base)
        words = [word for part in self._parts for word in part.words]
        self._with_dots = any("glob" in word.lower() for word in words)
        self._hands_on = any(word.rpartition("/")[2] in _TAKES or _FILLED_IN.search(word) for word in words)

    @property
    def _stays(self) -> bool:
        """No part goes to another folder."""
        return not any(_goes(part) for part in self._parts)

    @property
    def protected(self) -> bool:
        """It changes what runs or what is allowed."""
        if self._call.effect != "edit" or self._places is None:
            return False
        really, written = self._places
        return really is None or protected(really, self._rules.own) or protected(written, self._rules.own)

    def first(self, rules: Sequence[Rule]) -> Rule | None:
        """The first rule that forbids or asks and means this call, under any of its faces."""
        return next((rule for rule in rules if self._means(rule)), None)

    def _means(self, rule: Rule) -> bool:
        if self._script is not None:
            return self._means_command(rule)
        if not _names(rule, self._call, self._places is not None):
            return False
        if rule.pattern is None:
            return True
        if self._places is None:
            return like(rule.pattern)(self._call.subject)
        return any(covers(rule.pattern, place, self._root, wide=True) for place in self._places if place)

    def _means_command(self, rule: Rule) -> bool:
        """Of the command itself, and of the files that it names or writes to."""
        if tool_like(rule.tool)(SHELL):
            return rule.pattern is None or any(map(like(rule.pattern), faces(self._call.subject)))
        if rule.tool in ("edit", "write"):
            if rule.pattern is None:
                return any(part.writes for part in self._parts)
            meant = [(part, (*part.writes, *(() if self._leaves(part) else part.words))) for part in self._parts]
        elif rule.tool == "read" and rule.pattern is not None:
            meant = [(part, (*part.words, *part.reads)) for part in self._parts]
        else:
            return False
        return any(self._covered(rule.pattern, name, part) for part, words in meant for name in _named(words))

    def _leaves(self, part: Part) -> bool:
        """The part only looks at the files that it names, and hands their names to no other."""
        return not self._hands_on and writes_nothing(part)

    def _covered(self, pattern: str, word: str, part: Part) -> bool:
        """Whether the word may mean a file of the pattern, from any folder that the command stands in."""
        wild = has_wildcard(word)
        places = [
            place
            for one in (words_of_braces(word) if wild else [word])
            for base in self._bases
            for place in (real_path(one, base), lexical_path(one, base))
            if place
        ]
        if not wild:
            return any(covers(pattern, place, self._root, wide=True) for place in places)
        # What the shell itself fills in leaves names with a dot out; a quoted pattern is the program's affair.
        dots = self._with_dots or word not in part.text.split()
        return any(may_meet(place, line, dots=dots) for line in anywhere(pattern, self._root) for place in places)

    def allowed(self, rules: Sequence[Rule], *, reading: bool = False) -> bool:
        """Whether rules that allow cover the whole call. ``reading``: commands that only look count as allowed."""
        if self._script is not None:
            return self._command_allowed([rule for rule in rules if tool_like(rule.tool)(SHELL)], rules, reading)
        return any(self._lets(rule) for rule in rules)

    def _lets(self, rule: Rule) -> bool:
        if not _names(rule, self._call, self._places is not None):
            return False
        if rule.pattern is None:
            return True
        if self._places is None:
            return like(rule.pattern)(self._call.subject)
        return self._places[0] is not None and covers(rule.pattern, self._places[0], self._root)

    def _command_allowed(self, commands: Sequence[Rule], rules: Sequence[Rule], reading: bool) -> bool:
        command, found = self._call.subject.strip(), self._script
        if any(rule.pattern is None or rule.pattern == "*" or exactly(rule.pattern) == command for rule in commands):
            return True
        if found is None or not found.clear or not found.parts:
            return False
        likes = [like(rule.pattern) for rule in commands if rule.pattern is not None]
        return all(self._part_allowed(part, likes, rules, reading) for part in found.parts)

    def _part_allowed(self, part: Part, likes: Sequence[Test], rules: Sequence[Rule], reading: bool) -> bool:
        # Where a command goes elsewhere first, nobody knows what its relative paths are.
        known = any(like(part.text) for like in likes) or (reading and self._stays and only_looks(part, self._root, self._base))
        return (
            known
            and all(self._file_allowed(name, "edit", rules) for name in part.writes)
            and all(self._file_allowed(name, "read", rules) for name in part.reads)
        )

    def _file_allowed(self, name: str, effect: Effect, rules: Sequence[Rule]) -> bool:
        """A redirection is a file read or changed: by rule, or read where everything may be read."""
        if any(mark in name for mark in "$`*?[~") or not self._stays:
            return False
        really = real_path(name, self._base)
        if really is None or (effect == "edit" and protected(really, self._rules.own)):
            return False
        if effect == "read" and inside(really, self._root) and not secret(really):
            return True
        tools = ("read",) if effect == "read" else ("edit", "write")
        return any(rule.tool in tools and (rule.pattern is None or covers(rule.pattern, really, self._root)) for rule in rules)

    def by_mode(self, mode: str) -> Verdict:
        """What the mode says where no rule does."""
        call = self._call
        if call.effect == "execute":
            return Verdict("ask", f"mode {mode} asks before commands")
        if call.effect == "edit":
            return self._edit(mode)
        if call.subject.startswith(("http://", "https://")):
            return Verdict("ask", f"mode {mode} asks before it reaches the network")
        if self._places is None:
            return Verdict("allow", "it changes nothing")
        really, written = self._places
        if really is None or not inside(really, self._root):
            return Verdict("ask", "it reads outside the working folder")
        if secret(really) or secret(written):
            return Verdict("ask", "it may hold keys or passwords")
        return Verdict("allow", "it reads in the working folder")

    def _edit(self, mode: str) -> Verdict:
        if self._call.tool in OWN_NOTES:
            if _writes_global(self._call):
                return Verdict("ask", "it changes global memory, which every project reads")
            return Verdict("allow", "it writes the agent's own notes")
        if mode != "accept-edits":
            return Verdict("ask", f"mode {mode} asks before changes")
        if self._places is None or self._places[0] is None or not inside(self._places[0], self._root):
            return Verdict("ask", "it changes something outside the working folder")
        if self.protected:
            return Verdict("ask", "it would change what runs or what is allowed")
        return Verdict("allow", "mode accept-edits")


def _writes_global(call: Wanted) -> bool:
    path = call.arguments.get("path")
    return isinstance(path, str) and may_be_global(path)


def _named(words: Sequence[str]) -> dict[str, None]:
    """What may be a path in the words: each, what stands behind its ``=``, behind its last ``:``."""
    names = (name for word in words for name in (word, word.partition("=")[2], word.rpartition(":")[2]))
    return {name: None for name in names if name}


def _goes(part: Part) -> bool:
    return any(word in _GOES for word in part.words[:2])


def _stands(parts: Sequence[Part], base: str) -> list[str]:
    """Every folder that a part of the command may stand in."""
    found = [base]
    for part in parts:
        if _goes(part):
            words = [word for word in part.words[1:] if not word.startswith("-")]
            found += [place for one in tuple(found) for word in words if (place := real_path(word, one))]
        if len(found) > _STANDS_MOST:
            break
    return list(dict.fromkeys(found))[:_STANDS_MOST]


def _names(rule: Rule, call: Wanted, has_place: bool) -> bool:
    """``edit`` means every tool that changes files, ``read(pattern)`` every tool that looks at files."""
    if tool_like(rule.tool)(call.tool):
        return True
    if rule.tool == "edit":
        return call.effect == "edit"
    return rule.tool == "read" and rule.pattern is not None and call.effect == "read" and has_place


def _places(call: Wanted, root: str) -> tuple[str | None, str] | None:
    """Where the call looks or writes: really (None: no telling), and as the model wrote it. None: it has no place in the
    file system."""
    subject, named = call.subject, call.arguments.get("path")
    if call.effect == "execute" or call.tool == SHELL or call.tool in OWN_NOTES or subject.startswith(("http://", "https://")):
        return None
    if not subject.strip():
        return (None, "") if call.effect == "edit" or call.tool in _LOOKERS else None
    if call.effect == "read" and call.tool not in _LOOKERS and not os.path.isabs(subject) and named is None:
        return None
    return real_path(subject, root), lexical_path(named if isinstance(named, str) else subject, root)
