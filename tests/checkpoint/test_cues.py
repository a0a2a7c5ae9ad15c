"""Turns of phrase and values: the fast way finds what the plain pattern finds (K-10)."""

import importlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.checkpoint.extract import cues, rare, words
from sojourn.checkpoint.extract.cues import CONTRAST, REASON, Cues, Sentence, names, read_sentences, values

pytestmark = pytest.mark.design("K-10")

_PHRASES = {
    "decisions._DECIDES": (
        [
            "decided",
            "decision",
            "conclude",
            "concluded",
            "conclusion",
            "chose",
            "chosen",
            "choice",
            "picked",
            "opted",
            "settle",
            "settled",
            "weighed",
            "weighing",
            "agreed",
            "confirmed",
        ],
        "root cause|the problem is|the issue was|the bug here|the cause is|the reason was|the fix is|the solution is|the key is"
        "|the culprit was|the trick is|turns out|the best way|the right option|the simplest fix|the cleanest approach"
        "|we'll use|we will keep|we should go with|i'll use|i will keep|going with|go with|goes with|went with|stick with"
        "|sticks with|sticking with|stuck with|stay with|stays with|staying with|stayed with|stick to|sticks to|sticking to"
        "|stuck to|verified that|fixed by|caused by|决定|确认|确认了|最终|根因",
        "the problem|best way|we use|i use|go on|undecided|decisive|it isn't|root|sticker with",
    ),
    "decisions._REJECTS": (
        ["rejected", "abandon", "abandoned", "avoid", "avoided", "avoids", "unnecessary", "tradeoff", "trade-off"],
        "instead of|rather than|not worth|won't work|doesn't work|ruled out|drop the|dropped the|no need to|would break"
        "|the other was|the others are|the other one is|can't use|cannot use|must not|放弃|而不是|不再用",
        "instead|rather|worth|work|drop it|need to|break|the other|use|must|avoiding|不再",
    ),
    "decisions._RESOLVES": (
        [
            "goes",
            "going",
            "went",
            "run",
            "runs",
            "proceed",
            "proceeds",
            "land",
            "lands",
            "landed",
            "rest",
            "rests",
            "remain",
            "remains",
            "stay",
            "stays",
            "win",
            "wins",
            "won",
            "prevail",
            "prevails",
            "final",
            "finally",
            "finalised",
            "finalized",
            "locked",
            "ruled",
            "verdict",
            "closed",
            "preferred",
            "favor",
            "favour",
            "favored",
            "favoured",
            "favors",
            "favours",
            "adopt",
            "adopts",
            "adopted",
            "sticking",
            "kept",
            "keep",
            "keeps",
            "keeping",
            "use",
            "used",
            "uses",
            "using",
            "set",
            "sets",
            "now",
        ],
        "fixed on|fixed at|fixed to|committed to|answer is|plan is|way forward|off the table|for good|standardised on"
        "|standardized on|based on|it is|it'll be|it’ll be|will be|就用|按这个来|统一|选",
        "fixed|committed|answer|plan|forward|table|good|base|will|finality|settle|nowhere|it|按来",
    ),
    "decisions._QUOTES": (
        [],
        "the user said|you say|you says|the user told|you asked|you have asked|the user had wanted|you mean|the user has meant"
        "|用户说|你要求",
        "the user|you|user said|asked|用户|你用",
    ),
    "frontier._SAYS_LEFT": (
        ["remaining", "pending", "outstanding"],
        "still need|still have|still to do|still missing|left to do|not yet|next step|next steps|还剩|尚未",
        "still|left|yet|next|nextstep|remains|还",
    ),
    "cues.REASON": (
        ["because", "since", "therefore", "thus", "hence", "otherwise"],
        "so that|which means|means that|due to|in order to|as the|as it|as they|as we|or else|would have|would need|would be"
        "|would break|would bring|would make|would mean|would lose|too slow|too large|too big|too many|too much|too few"
        "|too long|too late|too risky|too costly|因为|太慢|以便",
        "so|that|as a|as well|order|due|else|would|too|sincere|means|太",
    ),
    "cues.CONTRAST": (
        ["instead", "only", "never"],
        ", not|,not|; not|(not|( not|, and not|;and not|not this but|rather than|no longer|而非|，不|， 不|只|另一种",
        "not|and not|but|rather|no|long|longer|- not|not this. but|nevertheless|不|只是|只有|不过|，不过|另一",
    ),
}


def sentence(text: str) -> Sentence:
    (one,) = read_sentences([text])
    return one


def _cues(name: str) -> Cues:
    module, _, attribute = name.partition(".")
    found = getattr(importlib.import_module(f"sojourn.checkpoint.extract.{module}"), attribute)
    assert isinstance(found, Cues)
    return found


@pytest.mark.parametrize("name", _PHRASES)
def test_every_turn_of_phrase_is_found_and_half_of_one_is_not(name: str) -> None:
    mine = _cues(name)
    alone, phrases, halves = _PHRASES[name]
    for phrase in (*alone, *phrases.split("|")):
        dot = "." if phrase == "it is" else ""
        for text in (f"Xy {phrase}{dot}", f"Xy {phrase.upper()}{dot}", f"Xy — {phrase}{dot} z", f"q {phrase}{dot or ' '}z é"):
            assert mine.stand_in(sentence(text)), text
        if phrase.isascii() and phrase[0].isalpha():
            for text in (f"a{phrase}b z", f"é{phrase}é z", f"a_{phrase}_b z"):
                assert mine.stand_in(sentence(text)) == _slow(mine, text), text
    for half in halves.split("|"):
        for text in (f"Xy {half} zz", f"Xy {half} — zz"):
            assert not mine.stand_in(sentence(text)), text


def _slow(mine: Cues, text: str) -> bool:
    plain = mine._english.search(sentence(text).low) or mine._han.search(text)
    return plain is not None


_WORDS = [word for alone, phrases, halves in _PHRASES.values() for word in (*alone, *re.split(r"[ |]", f"{phrases}|{halves}"))]
_TEXT = st.lists(st.sampled_from([*_WORDS, "xyz", ".", ",", "(", "—", "’", "é", "ſ", "İ", "不", "只"]), max_size=12)


@settings(max_examples=200, deadline=None)
@given(_TEXT, st.sampled_from([" ", "", "  "]), st.booleans())
def test_the_words_of_a_sentence_lose_no_turn_of_phrase(parts: list[str], between: str, upper: bool) -> None:
    text = between.join(parts)
    text = text.upper() if upper else text
    for name in _PHRASES:
        mine = _cues(name)
        assert mine.stand_in(sentence(text)) == _slow(mine, text), name


def test_letters_that_are_others_in_the_other_case() -> None:
    one = sentence("İt iſ DECıDED BECAUſE of K")
    assert one.low == "it is decided because of k"
    assert one.words >= {b"decided", b"because"}
    assert sentence("Größe").low == "größe"
    assert [other.low for other in read_sentences(["A b", "ÄIſ", "C"])] == ["a b", "äis", "c"]
    assert [other.words for other in read_sentences(["So", "xyz", "now what"])] == [{b"so"}, set(), {b"now"}]
    assert REASON.stand_in(one)
    assert not CONTRAST.stand_in(one)


_PIECE = st.sampled_from(
    [
        "`a",
        "b`",
        "snake_case",
        "_x",
        "a_",
        "camelCase",
        "CamelCase",
        "HTTPServer",
        "/usr/local/x",
        "/x",
        "a/b",
        "fn()",
        "a.b.c()",
        "(",
        "()",
        "12",
        "7",
        "1,000",
        "rows",
        "5",
        "MB",
        "ms",
        "5秒",
        "20%",
        "2024-05-06",
        "12:30",
        "12:30:01.5",
        "2024-05-06T12:30:00Z",
        "v1.2.3",
        "1.2",
        "AB-12",
        "KX-71aa",
        "deadbeef1",
        "a1b2c3d",
        "https://x.io/a?b=1",
        "me@host.io",
        "10.0.0.1:80",
        "550e8400-e29b-41d4-a716-446655440000",
        "abcdefab-cdef-abcd-efab-abcdefabcdef",
        "localhost:8080",
        "api.example.com",
        "a.com.x",
        "src/a/b.py",
        "and/or",
        "utf-8",
        "X99ZZ",
        "12,",
        "(34)",
        "5.",
        "(5-b",
        "x,5-b",
        "é12",
        "中12文",
        "个",
        ".",
        ",",
        "—",
        "=",
        "==",
        "=>",
        "{",
        ";",
        "\\n",
        "12:30:00",
        ">>>",
        "$",
        "INFO",
        "@@",
        "x=1",
        "y=2",
        "Traceback",
        "File",
        "at",
    ]
)
_LINE = st.lists(st.tuples(_PIECE, st.sampled_from([" ", " ", " ", "", "  ", "\t"])), max_size=10).map(
    lambda pairs: "".join(piece + space for piece, space in pairs)
)
_PASTED = re.compile(
    r"^\W*\d{1,4}[-:/]\d\d[-:/ T]|^\s*at \S+ ?\(|^\s*File \"|\bTraceback\b|^\s*(?:\$|>>>|%) |=>|==|[{};]\s*$|\(\w*\)\s*[;{]"
    r"|^[\w./-]+\.\w+:\d+|^[+-]{3} |^@@|\\n|^\s*<[\w/]|\d\d:\d\d:\d\d[.,]\d|\b\w+=\S* \w+=\S|^(?:INFO|DEBUG|TRACE"
    r"|WARN(?:ING)?|ERROR|FATAL)\b|^[|+][-|+ ]"
)


@settings(max_examples=400, deadline=None)
@given(_LINE)
def test_looking_only_near_a_sign_misses_nothing(text: str) -> None:
    assert values(text) == [found[0] for found in cues._VALUE.finditer(text)]
    assert names(text) == len(cues._NAME.findall(text))
    near = cues.found_near(rare._SIGN, rare._CODE, text)
    assert near == [found[0] for found in rare._CODE.finditer(text)]
    assert rare.pasted(text) == (_PASTED.search(text) is not None)


_SENTENCE = re.compile(r"\n+|(?<=[.!?])\s+(?=[A-Z\"'`(\[*\u4e00-\u9fff])|(?<=[。！？；])")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["Ab", "ab", ".", "!", "?", "。", "；", " ", "\n", "\t", "\r", "(", "中", '"', "x7"]), max_size=20)
)
def test_sentences_end_where_they_ended(parts: list[str]) -> None:
    text = "".join(parts)
    assert words.sentences(text) == [line for raw in _SENTENCE.split(text) if (line := " ".join(raw.split()))]
