"""Sentences of the assistant that decide, conclude or reject (K-10)."""

import re

from sojourn.base import Section
from sojourn.checkpoint.extract.cues import CONTRAST, NAME, REASON, VALUE
from sojourn.checkpoint.extract.evidence import Evidence, Speech
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.rare import codes, marked, measures, pasted
from sojourn.checkpoint.extract.words import clip, sentences

_DECIDES = re.compile(
    r"\b(?:decided|decision|conclu(?:de|ded|sion)|chose|chosen|choice|picked|root cause|the (?:problem|issue|bug|cause"
    r"|reason"
    r"|fix|solution|key|culprit|trick) (?:is|was|here)"
    r"|turns out|the (?:best|right|simplest|cleanest) (?:approach|way|option|fix)|we(?:'ll| will"
    r"| should) (?:use|keep|go with)|I(?:'ll| will) (?:use|keep|go with)"
    r"|(?:going|go|goes|went|stick(?:s|ing)?|stuck|stay(?:s|ing)?|stayed) with|stick(?:s|ing)? to|stuck to|opted|settled?"
    r"|weigh(?:ed|ing)|it is(?=[.!;,])|agreed|confirmed|verified that|fixed by|caused by)\b"
    r"|决定|结论|根因|根本原因|原因是|原因在于|采用|选择|选了|选定|选用|敲定|定为|定下|权衡|最终|沿用|确认了?|问题是"
    r"|问题在于|问题出在|确定",
    re.I,
)
_REJECTS = re.compile(
    r"\b(?:instead of|rather than|not worth|won't work|doesn't work|rejected|ruled out|abandon(?:ed)?"
    r"|avoid(?:ed|s)?|drop(?:ped)? the|no need to|unnecessary|would break|the others? (?:\w+ )?(?:was|were|is|are)"
    r"|can't use|cannot use|must not|trade-?off)\b|放弃|不采用|否决|而不是|行不通|不可行|没必要|不需要|排除|不用"
    r"|不再(?:讨论|考虑|用)",
    re.I,
)
_OWN = re.compile(
    r"\b(?:I|[Ww]e)(?:['’](?:ve|d|ll)| have| had| will| would| now| also| just| therefore| deliberately| only| always"
    r"| never"
    r"| do(?:n['’]t| not)){0,2} (?!(?:see|saw|read|find|found|run|ran|think|thought|begin|began|understand|understood"
    r"|know|knew"
    r"|am|are|was|were|can|could|have|had|do|did|should|might|may|try|tried|hit|get|got|show(?:ed)?"
    r"|(?:look|check|search|need|want|start|notice|believe|hope|guess|assume|wonder|compare|test|open|view|list|ask|explain"
    r"|continue|wait|confirm|trace)e?d?|verif(?:y|ied))\b)[a-z]{3,}"
    r"|我们?(?:就|会|先|只|都|已|已经|没有|不|也|再){0,2}(?:把|将|让|给|用|改|选|留|保留|存|放|设|定|按|加|删|拆|合并"
    r"|固定|限制|采用|沿用)",
)
"""The assistant tells of its own doing. Looking and thinking settle nothing."""
_LOOKS = re.compile(
    r"^(?:now,? |next,? |so |then |first,? |ok(?:ay)?[,.] )?(?:let me|let['’]s|I['’]ll|I will|I need to|I should)\b"
    r"|^(?:现在)?让我|\b(?:the user|you)(?: have| had| has)? (?:said|says?|told|ask(?:s|ed)?|want(?:s|ed)?|meant?)\b"
    r"|(?:用户|你)(?:说|要求|想|问)",
    re.I,
)
"""What it is about to do, or what somebody else said."""
_SPEAKER = re.compile(r"\s*(?:user|human|system|用户|系统)\s*[:：]", re.I)
_HAN = re.compile(r"[\u4e00-\u9fff]")
"""A Han character says as much as two letters or more."""
_RESOLVES = re.compile(
    r"\b(?:goes?|going|went|runs?|proceeds?|lands?|landed|rests?|remains?|stays?|wins?|won|prevails?|final(?:ly|ised"
    r"|ized)?|locked(?: in)?"
    r"|fixed (?:on|at|to)|committed to|ruled|verdict|answer is|plan is|way forward|off the table|closed|for good"
    r"|preferred|favou?r(?:ed|s)?"
    r"|adopt(?:s|ed)?|standardi[sz]ed on|based on|sticking|kept|keeps?|keeping|use[sd]?|using|set(?:s| to)?|now|it is"
    r"|it['’]ll be|will be)\b"
    r"|就用|就这么|定了|拍板|锁定|采纳|方案|倾向|按.{1,16}(?:来|走|做|办)|到此为止|保留|改用|统一|走|选|用",
    re.I,
)
_RESOLVED = re.compile(
    r"(?:so |then |ok(?:ay)?,? )?(?:let['’]s|I['’]ll|I will|we['’]ll) (?!(?:now |first |then |just |also )*(?:look|see"
    r"|check|read|run|open|start"
    r"|begin|try|continue|move|search|find|inspect|examine|review|verify|test|wait|ask|know|begin)\b)",
    re.I,
)
"""It resolves; it does not announce a look."""
_MOST = 320
_SHORT = 8
_DONE = 0.9
"""What it did, with a reason or with what it did not do."""
_SAID = 0.5
"""What is so, with a reason or with what is not."""
_GIVEN = 1.2
"""What gives a rare value, in a closing answer."""
_LEAST = 1.4
"""A bare turn of phrase, without a reason, a name of something or a place in an answer, decides nothing."""
_FINAL = 1.0
"""What a closing answer's sentence weighs more than one said between calls."""


def decisions(evidence: Evidence, closing: frozenset[int], *, wide: bool = False) -> list[Found]:
    """Deciding, concluding and rejecting sentences. ``closing``: seqs of the messages that ended a turn.

    ``wide``: what a closing answer says of a value that nobody could guess is a conclusion in any wording.
    """
    best: dict[str, Found] = {}
    for speech in evidence.assistant:
        _collect(speech, _FINAL if speech.seq in closing else 0.3, best, wide=wide and speech.seq in closing)
    for speech in evidence.thoughts:
        _collect(speech, None, best)
    return list(best.values())


def _collect(speech: Speech, bonus: float | None, best: dict[str, Found], *, wide: bool = False) -> None:
    """``bonus`` None: a thought, which wanders: only what it says it decided counts."""
    for sentence in sentences(speech.text):
        shortest = _SHORT if wide else 20
        if (
            not shortest <= len(sentence) + len(_HAN.findall(sentence)) <= 700
            or sentence.endswith(("?", "？", ":", "："))
            or _SPEAKER.match(sentence)
        ):
            continue
        reason = bool(REASON.search(sentence))
        cues = 1.2 * bool(_DECIDES.search(sentence)) + 1.2 * bool(_REJECTS.search(sentence))
        if not cues and bonus is not None and (reason or CONTRAST.search(sentence)) and not _LOOKS.search(sentence):
            cues = _DONE if _OWN.search(sentence) else _SAID
        if wide and cues < _GIVEN:
            cues = max(cues, _settled(sentence))
        if not cues:
            continue
        details = len(NAME.findall(sentence)) + len(VALUE.findall(sentence))
        weight = cues + 0.5 * reason + 0.25 * min(details, 4) + (bonus or 0.0)
        if weight < _LEAST:
            continue
        text = clip(sentence, _MOST)
        if text not in best or best[text].weight <= weight:
            best[text] = Found(Section.DECISIONS, text, (speech.seq,), weight)


def _settled(sentence: str) -> float:
    """What a closing sentence weighs for the value it gives to the work, whatever its verb."""
    if (_LOOKS.search(sentence) and not _RESOLVED.match(sentence)) or pasted(sentence):
        return 0.0
    if any("://" not in value for value in marked(sentence)):
        return _GIVEN
    return _SAID if _RESOLVES.search(sentence) and (codes(sentence) or NAME.search(sentence) or measures(sentence)) else 0.0
