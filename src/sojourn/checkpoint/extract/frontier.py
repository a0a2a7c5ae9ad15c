"""Where the work stands: done, under way, remaining, and the next step (K-10)."""

import re
from typing import Any

from sojourn.base import Section
from sojourn.checkpoint.extract.cues import Cues, Sentence, asked_for
from sojourn.checkpoint.extract.evidence import Act, Evidence
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip
from sojourn.checkpoint.redact import redact

_DONE = frozenset({"completed", "complete", "done", "finished", "closed", "cancelled", "canceled"})
_UNDER_WAY = frozenset({"in_progress", "in-progress", "inprogress", "active", "doing", "started", "running"})
_LIST_KEYS = ("todos", "plan", "items", "tasks", "todoList", "todo_list", "steps")
_TEXT_KEYS = ("content", "step", "title", "subject", "text", "description", "task", "name")
_BOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\[([ xX~])\]\s+(.+)$", re.M)
_SAYS_DONE = re.compile(
    r"(?:(?:now )?(?:all )?(?:done|completed?|finished|fixed|implemented|added|removed|updated|created|refactored)\b"
    r"|.{0,60}\b(?:is|are) (?:now )?(?:done|complete|finished|fixed|in place|working)\b"
    r"|(?:all )?tests? (?:now )?pass)"
)
"""At the start of a sentence in lower case."""
_SAYS_DONE_WORDS = asked_for(
    "done complete completed finished fixed implemented added removed updated created refactored place working"
)
"""One of them stands in what says so, or "pass"."""
_SAYS_DONE_HAN = re.compile(r"✅|已完成|完成了|已经|修复了|测试(?:全部)?通过")
_SAYS_LEFT = Cues(
    words="remaining pending outstanding",
    phrases=r"still (?:need|have|to do|missing)|left to do|not yet|next steps?",
    keys="still left yet next",
    han=r"还需要|还剩|剩下|尚未|未完成|待办|接下来还",
)
_NOT_LEFT = re.compile(
    r"^(?:now,? )?(?:let me|let's)\b|\b(?:no|nothing|without|zero|any) (?:\w+ )?(?:remaining|pending|outstanding|left)\b",
    re.I,
)
_NEXT = re.compile(r"(?:now,? )?(?:let me|let's|i(?:'ll| will| need to| am going to|'m going to)|next,?|then i)\b")
"""At the start of a sentence in lower case."""
_NEXT_HAN = re.compile(r"接下来|下一步|现在(?:来|我|开始)|让我|我将")
_COMMITTED = re.compile(r"^\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] \S.*$", re.M)
_HEAD = 20_000
"""Characters of an output in which a commit is told."""
_MOST = 220
_FRESH = 8
"""Messages: what was said earlier than that is no next step any more."""
_TASK_ID = re.compile(r"#?(\d+)")


def frontier(evidence: Evidence) -> tuple[list[Found], bool]:
    """The steps of the newest plan with their state, then what the assistant said is done or left.

    The second value says whether a whole plan was seen: it then replaces every earlier one.
    """
    steps: dict[str, Found] = {}
    names: dict[str, str] = {}
    whole = False
    for act in evidence.acts:
        rows = _plan(act)
        if rows is not None:
            steps = {text: _step(text, state, act.seq) for text, state in rows}
            whole = True
        elif act.call.state != "error" and "task" in act.name.lower():
            _single(act, steps, names)
    for speech in evidence.assistant:
        boxes = _BOX.findall(speech.text)
        if len(boxes) > 1 and not whole:
            for mark, text in boxes:
                state = "pending" if mark == " " else ("in_progress" if mark == "~" else "done")
                steps[clip(text.strip(), _MOST)] = _step(clip(text.strip(), _MOST), state, speech.seq)
    said: dict[str, Found] = {}
    for act in evidence.acts:
        if "commit" in act.command and not act.failed:
            for line in _COMMITTED.findall(act.output[:_HEAD]):
                said[line] = Found(Section.FRONTIER, f"done: {clip(line, _MOST)}", (act.seq,), 1.2)
    for speech in evidence.assistant:
        for sentence in speech.sentences:
            text = sentence.text
            if 12 <= len(text) <= 300 and not text.endswith((":", "：", "?")):
                if _SAYS_LEFT.stand_in(sentence) and not _NOT_LEFT.search(text):
                    said[text] = Found(Section.FRONTIER, f"remaining: {clip(text, _MOST)}", (speech.seq,), 1.4)
                elif _says_done(sentence):
                    said[text] = Found(Section.FRONTIER, f"done: {clip(text, _MOST)}", (speech.seq,), 1.0)
    return [*steps.values(), *said.values()], whole


def next_step(evidence: Evidence, plan: list[Found], idle: bool) -> Found | None:
    """The step under way in the plan, else what the assistant said last that it would do; None while it waits for the user."""
    if idle:
        return None
    said = evidence.assistant[-1] if evidence.assistant else None
    if said is not None and said.seq >= evidence.last - _FRESH:
        for text, low, _ in reversed(said.sentences):
            if len(text) <= 300 and (_NEXT.match(low) or (not text.isascii() and _NEXT_HAN.search(text))):
                return Found(Section.NEXT, text, (said.seq,), 3.0)
    under_way = [step for step in plan if step.text.startswith("under way: ")]
    if under_way:
        return Found(Section.NEXT, under_way[0].text.removeprefix("under way: "), under_way[0].sources, 3.0)
    left = [step for step in plan if step.text.startswith("remaining: ") and step.weight > 2]
    return Found(Section.NEXT, left[0].text.removeprefix("remaining: "), left[0].sources, 3.0) if left else None


def _says_done(sentence: Sentence) -> bool:
    if not sentence.text.isascii() and _SAYS_DONE_HAN.match(sentence.text):
        return True
    if _SAYS_DONE_WORDS.isdisjoint(sentence.words) and "pass" not in sentence.low:
        return False
    return _SAYS_DONE.match(sentence.low) is not None


def _step(text: str, state: str, seq: int) -> Found:
    if state in _DONE:
        return Found(Section.FRONTIER, f"done: {text}", (seq,), 1.6)
    if state in _UNDER_WAY:
        return Found(Section.FRONTIER, f"under way: {text}", (seq,), 4.0)
    return Found(Section.FRONTIER, f"remaining: {text}", (seq,), 3.0)


def _plan(act: Act) -> list[tuple[str, str]] | None:
    """The steps of a call that writes a whole plan; None if it does not."""
    if act.call.state == "error" or not any(word in act.name.lower() for word in ("todo", "plan", "task")):
        return None
    for key in _LIST_KEYS:
        rows = act.call.arguments.get(key)
        if isinstance(rows, list) and rows and all(isinstance(row, dict) and _text(row) for row in rows):
            return [
                (clip(" ".join(redact(_text(row)).split()), _MOST), str(row.get("status", "pending")).lower()) for row in rows
            ]
    return None


def _text(row: dict[str, Any]) -> str:
    return next((row[key] for key in _TEXT_KEYS if isinstance(row.get(key), str) and row[key]), "")


def _single(act: Act, steps: dict[str, Found], names: dict[str, str]) -> None:
    """A call that makes one task, or changes the state of one."""
    arguments = act.call.arguments
    ident = next((str(arguments[key]) for key in ("taskId", "task_id", "id") if key in arguments), "")
    state = str(arguments.get("status", "")).lower()
    if ident and ident in names and state:
        steps[names[ident]] = _step(names[ident], state, act.seq)
    elif not ident and (text := arguments.get("subject") or arguments.get("title")) and isinstance(text, str):
        name = clip(" ".join(redact(text).split()), _MOST)
        if found := _TASK_ID.search(act.output):
            names[found[1]] = name
        steps[name] = _step(name, state or "pending", act.seq)
