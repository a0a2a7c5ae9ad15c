"""Tagged lines in what was read: NOTE, WARNING, FIXME and their like (K-10)."""

import re

from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import Evidence
from sojourn.checkpoint.extract.files import touches
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip, plain

_TAGS = (
    "NOTE", "WARN", "FIXME", "IMPORTANT", "TODO", "HACK", "XXX", "CAUTION", "DEPRECATED", "BUG", "SAFETY", "INVARIANT",
    "GOTCHA", "ATTENTION", "DANGER", "注意", "警告", "重要", "待办", "切记", "危险",
)  # fmt: skip
_ANY = rf"(?:{'|'.join(_TAGS)})(?:ING)?"
_TAG = re.compile(rf"(?<![A-Za-z0-9_]){_ANY}(?=\(|\s*[:：!！]|\s-\s|\]|\*)|(?<=[#/*;-] ){_ANY}(?= \w)")
TAGGED = re.compile(rf"{_ANY}(?![A-Za-z0-9_])")
"""At the head of a sentence: it is a note already."""
_STRONG = re.compile(r"WARN|IMPORTANT|CAUTION|SAFETY|INVARIANT|GOTCHA|DANGER|ATTENTION|FIXME|注意|警告|重要|切记|危险")
_COMMENT = re.compile(r"\W*(?://|#|/\*|\*|--|;|<!--|>|\"\"\")")
_LOGGED = 0.3
"""What a tagged line weighs that a command printed: a log has many of them."""
_MOST = 240
_CONTINUES = re.compile(r"^\s*(?:\d+(?:→|\t|\|)\s?)?\s*(?://|#|\*|--|;|\"\"\")\s*(?=\S)")


def notes(evidence: Evidence) -> list[Found]:
    """Each tagged comment once, with the line after it where it goes on; those of files that were changed weigh more."""
    changed = {touch.path for act in evidence.acts for touch in touches(act) if touch.kind != "read"}
    best: dict[str, Found] = {}
    for act in evidence.acts:
        tagged = _tagged(act.output)
        if not tagged:
            continue
        mine = 0.6 if any(touch.path in changed for touch in touches(act)) else 0.0
        for start in tagged:
            text = _whole(act.output, start)
            if len(text) >= 12:
                best.pop(text, None)
                weight = (2.0 if _STRONG.search(text) else 1.2) + mine
                if act.command and not _COMMENT.match(text):
                    weight = _LOGGED
                best[text] = Found(Section.KNOWLEDGE, text, (act.seq,), weight)
    return list(best.values())


def _tagged(output: str) -> list[int]:
    """Where the lines begin that hold a tag, in order."""
    starts: set[int] = set()
    for tag in _TAGS:
        at = output.find(tag)
        while at >= 0:
            if _TAG.match(output, at):
                starts.add(output.rfind("\n", 0, at) + 1)
            at = output.find(tag, at + 1)
    return sorted(starts)


def _whole(output: str, start: int) -> str:
    """The line and, where it does not end a sentence, the comment line after it."""
    end = output.find("\n", start)
    end = len(output) if end < 0 else end
    text = plain(output[start:end])
    if end < len(output) and not text.endswith((".", "!", "。", "！", "*/")):
        after = output.find("\n", end + 1)
        following = output[end + 1 : after if after >= 0 else None]
        if (mark := _CONTINUES.match(following)) is not None and not _TAG.search(following):
            text = f"{text} {' '.join(following[mark.end() :].split())}"
    found = _TAG.search(text)
    return clip(text, _MOST, found.start() if found else 0)
