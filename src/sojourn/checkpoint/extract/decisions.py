"""Sentences of the assistant that decide, conclude or reject (K-10)."""

import re

from sojourn.base import Section
from sojourn.checkpoint.extract.cues import CONTRAST, REASON, Cues, Sentence, names, values
from sojourn.checkpoint.extract.evidence import Evidence, Speech
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.rare import codes, marked, measures, pasted
from sojourn.checkpoint.extract.words import clip

_DECIDES = Cues(
    words="decided decision conclude concluded conclusion chose chosen choice picked opted settle settled weighed weighing"
    " agreed confirmed",
    phrases=r"root cause|the (?:problem|issue|bug|cause|reason|fix|solution|key|culprit|trick) (?:is|was|here)"
    r"|turns out|the (?:best|right|simplest|cleanest) (?:approach|way|option|fix)|we(?:'ll| will"
    r"| should) (?:use|keep|go with)|i(?:'ll| will) (?:use|keep|go with)"
    r"|(?:going|go|goes|went|stick(?:s|ing)?|stuck|stay(?:s|ing)?|stayed) with|stick(?:s|ing)? to|stuck to"
    r"|it is(?=[.!;,])|verified that|fixed by|caused by",
    keys="root problem issue bug cause reason fix solution key culprit trick turns best right simplest cleanest use keep going"
    " go goes went stick sticks sticking stuck stay stays staying stayed verified fixed caused",
    pairs=("it is",),
    han=r"决定|结论|根因|根本原因|原因是|原因在于|采用|选择|选了|选定|选用|敲定|定为|定下|权衡|最终|沿用|确认|问题是|问题在于"
    r"|问题出在|确定",
)
_REJECTS = Cues(
    words="rejected abandon abandoned avoid avoided avoids unnecessary tradeoff",
    phrases=r"instead of|rather than|not worth|won't work|doesn't work|ruled out|drop(?:ped)? the|no need to|would break"
    r"|the others? (?:\w+ )?(?:was|were|is|are)|can't use|cannot use|must not|trade-off",
    keys="instead rather worth work ruled drop dropped need break other others use must trade",
    han=r"放弃|不采用|否决|而不是|行不通|不可行|没必要|不需要|排除|不用|不再(?:讨论|考虑|用)",
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
_ANNOUNCES = re.compile(
    r"(?:now,? |next,? |so |then |first,? |ok(?:ay)?[,.] )?(?:let me|let['’]s|i['’]ll|i will|i need to|i should)\b"
    r"|(?:现在)?让我"
)
"""How a sentence in lower case begins that says what it is about to do."""
_QUOTES = Cues(
    words="",
    phrases=r"(?:the user|you)(?: have| had| has)? (?:said|says?|told|ask(?:s|ed)?|want(?:s|ed)?|meant?)",
    keys="user you",
    han=r"(?:用户|你)(?:说|要求|想|问)",
)
"""What somebody else said."""
_SPEAKER = re.compile(r"\s*(?:user|human|system|用户|系统)\s*[:：]", re.I)
_HAN = re.compile(r"[\u4e00-\u9fff]")
"""A Han character says as much as two letters or more."""
_RESOLVES = Cues(
    words="goes going went run runs proceed proceeds land lands landed rest rests remain remains stay stays win wins won"
    " prevail prevails final finally finalised finalized locked ruled verdict closed preferred favor favour favored favoured"
    " favors favours adopt adopts adopted sticking kept keep keeps keeping use used uses using set sets now",
    phrases=r"fixed (?:on|at|to)|committed to|answer is|plan is|way forward|off the table|for good"
    r"|standardi[sz]ed on|based on|it is|it['’]ll be|will be",
    keys="fixed committed answer plan forward table good standardised standardized based",
    pairs=("it is", "it'll be", "it’ll be", "will be"),
    han=r"就用|就这么|定了|拍板|锁定|采纳|方案|倾向|按.{1,16}(?:来|走|做|办)|到此为止|保留|改用|统一|走|选|用",
)
_RESOLVED = re.compile(
    r"(?:so |then |ok(?:ay)?,? )?(?:let['’]s|I['’]ll|I will|we['’]ll) (?!(?:now |first |then |just |also )*(?:look|see"
    r"|check|read|run|open|start"
    r"|begin|try|continue|move|search|find|inspect|examine|review|verify|test|wait|ask|know|begin)\b)",
    re.I,
)
"""It resolves; it does not announce a look."""
_MOST = 320
_SHORT, _USUAL, _LONGEST = 8, 20, 700
"""Characters, a Han character for two."""
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
    shortest = _SHORT if wide else _USUAL
    for sentence in speech.sentences:
        text = sentence.text
        if not _sized(text, shortest) or text.endswith(("?", "？", ":", "：")) or _SPEAKER.match(text):
            continue
        cues = 1.2 * _DECIDES.stand_in(sentence) + 1.2 * _REJECTS.stand_in(sentence)
        if not cues and bonus is None:
            continue
        reason = REASON.stand_in(sentence)
        if not cues and (reason or CONTRAST.stand_in(sentence)) and not _looks(sentence):
            cues = _DONE if _OWN.search(text) else _SAID
        if wide and cues < _GIVEN:
            cues = max(cues, _settled(sentence))
        if not cues:
            continue
        details = names(text) + len(values(text))
        weight = cues + 0.5 * reason + 0.25 * min(details, 4) + (bonus or 0.0)
        if weight < _LEAST:
            continue
        text = clip(text, _MOST)
        if text not in best or best[text].weight <= weight:
            best[text] = Found(Section.DECISIONS, text, (speech.seq,), weight)


def _sized(text: str, shortest: int) -> bool:
    size = len(text)
    if shortest <= size <= _LONGEST // 2 or text.isascii():
        return shortest <= size <= _LONGEST
    return shortest <= size + len(_HAN.findall(text)) <= _LONGEST


def _looks(sentence: Sentence) -> bool:
    return _ANNOUNCES.match(sentence.low) is not None or _QUOTES.stand_in(sentence)


def _settled(sentence: Sentence) -> float:
    """What a closing sentence weighs for the value it gives to the work, whatever its verb."""
    text = sentence.text
    if any("://" not in value for value in marked(text)):
        weight = _GIVEN
    elif _RESOLVES.stand_in(sentence) and (names(text) or measures(text) or codes(text)):
        weight = _SAID
    else:
        return 0.0
    return 0.0 if (_looks(sentence) and not _RESOLVED.match(text)) or pasted(text) else weight
