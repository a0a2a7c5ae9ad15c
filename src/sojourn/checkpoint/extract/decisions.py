"""Sentences of the assistant that decide, conclude or reject (K-10)."""

import re

from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import Evidence, Speech
from sojourn.checkpoint.extract.found import Found
from sojourn.checkpoint.extract.words import clip, sentences

_DECIDES = re.compile(
    r"\b(?:decided|decision|conclu(?:de|ded|sion)|chose|chosen|root cause|the (?:problem|issue|bug|cause|reason"
    r"|fix|solution|key|culprit|trick) (?:is|was|here)"
    r"|turns out|the (?:best|right|simplest|cleanest) (?:approach|way|option|fix)|we(?:'ll| will"
    r"| should) (?:use|keep|go with)|I(?:'ll| will) (?:use|keep|go with)"
    r"|going with|opted|settled on|agreed|confirmed|verified that|fixed by|caused by)\b"
    r"|决定|结论|根因|根本原因|原因是|原因在于|采用|选择|最终|确认了?|问题是|问题在于|问题出在|确定",
    re.I,
)
_REJECTS = re.compile(
    r"\b(?:instead of|rather than|not worth|won't work|doesn't work|rejected|ruled out|abandon(?:ed)?"
    r"|avoid(?:ed|s)?|drop(?:ped)? the|no need to|unnecessary|would break|"
    r"can't use|cannot use|must not|trade-?off)\b|放弃|不采用|否决|而不是|行不通|不可行|没必要|不需要|排除",
    re.I,
)
_REASONS = re.compile(
    r"\b(?:because|since|so that|therefore|thus|which means|means that|due to|in order to)\b|因为|所以|因此|由于|以便|意味着",
    re.I,
)
_CODE = re.compile(r"`[^`]+`|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|/\w")
_SPEAKER = re.compile(r"\s*(?:user|human|system|用户|系统)\s*[:：]", re.I)
_HAN = re.compile(r"[\u4e00-\u9fff]")
"""A Han character says as much as two letters or more."""
_MOST = 320
_LEAST = 1.4
"""A bare turn of phrase, without a reason, a name of something or a place in an answer, decides nothing."""
_FINAL = 1.0
"""What a closing answer's sentence weighs more than one said between calls."""


def decisions(evidence: Evidence, closing: frozenset[int]) -> list[Found]:
    """Deciding, concluding and rejecting sentences. ``closing``: seqs of the messages that ended a turn."""
    best: dict[str, Found] = {}
    for speech in evidence.assistant:
        _collect(speech, _FINAL if speech.seq in closing else 0.3, best)
    for speech in evidence.thoughts:
        _collect(speech, 0.0, best)
    return list(best.values())


def _collect(speech: Speech, bonus: float, best: dict[str, Found]) -> None:
    for sentence in sentences(speech.text):
        if (
            not 20 <= len(sentence) + len(_HAN.findall(sentence)) <= 700
            or sentence.endswith(("?", "？", ":", "："))
            or _SPEAKER.match(sentence)
        ):
            continue
        cues = 1.2 * bool(_DECIDES.search(sentence)) + 1.2 * bool(_REJECTS.search(sentence))
        if not cues:
            continue
        weight = cues + 0.5 * bool(_REASONS.search(sentence)) + 0.25 * min(len(_CODE.findall(sentence)), 4) + bonus
        if weight < _LEAST:
            continue
        text = clip(sentence, _MOST)
        if text not in best or best[text].weight <= weight:
            best[text] = Found(Section.DECISIONS, text, (speech.seq,), weight)
