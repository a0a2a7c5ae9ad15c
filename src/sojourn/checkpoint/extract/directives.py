"""How the user wants this done: rules and corrections, each correction beside what it corrects (K-10)."""

import re
from collections import Counter

from sojourn.base import Item, Section
from sojourn.checkpoint.extract.evidence import Evidence
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.rulings import ruling
from sojourn.checkpoint.extract.words import clip, sentences, terms

_STRONG = re.compile(
    r"\b(?:must(?:n'?t)?|never|always|do not|don['’]?t|from now on|no longer|void|instead"
    r"|under no circumstances|forbidden|not allowed)\b"
    r"|\buse\b[^.]{1,40}\b(?:not|instead of|rather than|over)\b|\bnot\b[^.]{1,30}\bbut\b"
    r"|必须|不要|永远|总是|一律|禁止|不许|不得|不准|务必|千万|改为|改成|改用|作废|从现在起|以后都|记住|换成|不是.{1,30}?而是|别再|取消",
    re.I,
)
_MILD = re.compile(
    r"\b(?:should(?:n'?t| not)?|only|avoid|prefer|make sure|ensure|please (?:use|keep|add|leave|write|run"
    r"|stick)|stop \w+ing|keep in mind|remember"
    r"|rather|cannot|can['’]?t|revert|undo|wrong|actually|forget (?:about )?|ignore|leave .{1,30} alone"
    r"|stick (?:to|with)|requirement|rule)\b"
    r"|(?:^|[，,。\s])(?:别|请用|只用|只能|只要|应该|不应|不能|优先|尽量|确保|注意|避免|错了|不对)",
    re.I,
)
_NOT_A_RULE = re.compile(
    r"\b(?:I|we|you|it|they|that|this|he|she) (?:really |just )?(?:don['’]?t|do not|never|always|can['’]?t"
    r"|cannot|should(?:n'?t)?)"
    r"(?: (?:really|even|quite|just))? (?:know|think|see|understand|remember|want to know|care|get it|work"
    r"|works|seem|look|believe|mind|recall|find)\b"
    r"|\bdon['’]?t (?:you|we|they)\b|\bwhy (?:don['’]?t|do not|doesn)",
    re.I,
)
_QUESTION = re.compile(r"[?？][)\"'”）]*\s*$")
_LONGEST = 600
"""Characters of a sentence that may be a directive: a longer one is pasted text."""
_MOST = 400


def directives(evidence: Evidence, present: tuple[Item, ...], *, wide: bool = False) -> list[Found]:
    """Sentences of the user that rule or correct. What shares a rare term stands in one group, the older first.

    ``wide``: in any wording, too, where they give a value that nobody could guess.
    """
    rules: list[tuple[int, str, float]] = []
    heard: Counter[str] = Counter()
    for speech in evidence.user:
        for sentence in sentences(speech.text):
            heard.update(terms(sentence))
            weight = max(_force(sentence), ruling(sentence)) if wide else _force(sentence)
            if weight:
                rules.append((speech.seq, clip(sentence, _MOST), weight))
    old = [item for item in present if item.section is Section.DIRECTIVES]
    said = [(item.text, terms(item.text)) for item in old] + [(text, terms(text)) for _, text, _ in rules]
    groups = _groups([words for _, words in said], heard)
    found: dict[str, Found] = {}
    for (seq, text, weight), group in zip(rules, groups[len(old) :], strict=True):
        before = found.get(text)
        if before is None:
            found[text] = Found(Section.DIRECTIVES, text, (seq,), weight, said[group][0] if group >= 0 else text)
        elif seq not in before.sources:
            found[text] = Found(Section.DIRECTIVES, text, (*before.sources, seq), before.weight + 1.0, before.group)
    return list(found.values())


def _force(sentence: str) -> float:
    """How surely a sentence is a directive: 0 = it is not."""
    if len(sentence) > _LONGEST or len(sentence) < 4 or sentence.startswith(("//", "/*", "<")):
        return 0.0
    strong = _STRONG.search(sentence)
    if not strong and not _MILD.search(sentence):
        return 0.0
    if _QUESTION.search(sentence) or (_NOT_A_RULE.search(sentence) and not _STRONG.search(_NOT_A_RULE.sub("", sentence))):
        return 0.0
    return 4.0 if strong else 2.0


def _groups(said: list[set[str]], heard: Counter[str]) -> list[int]:
    """For each directive the index of the oldest one it belongs to by a chain of shared rare terms; itself if none."""
    group: list[int] = []
    holds: Counter[str] = Counter(term for words in said for term in words)
    most = max(3, len(said) // 4)
    for index, words in enumerate(said):
        best, strength = index, 0.0
        for earlier in range(index):
            shared = [1.0 / max(holds[term], heard[term]) for term in words & said[earlier] if holds[term] <= most]
            if shared and sum(shared) >= strength:
                best, strength = group[earlier], sum(shared)
        group.append(best)
    return group
