"""What comments and documents state, and what closing answers settle, whatever the words."""

import msgspec
import pytest

from checkpoint.telling import calls, reads, record, run_of, runs, says, texts, user
from sojourn.base import Finish, Section
from sojourn.checkpoint.extract import extract, sure
from sojourn.checkpoint.extract.decisions import decisions
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.extract.remarks import remarks
from sojourn.record import Message

pytestmark = pytest.mark.design("K-10")

_CODE = """import math

def f(x):
    '''Return the beam of a pivot, 40 of them.'''
    return x * 3 + 77

{}

def g(y):
    return y
"""


def _lines(*messages: Message) -> list[str]:
    return [one.text for one in remarks(gather(record(*messages)), 10_000, wide=True)]


def _weights(*messages: Message) -> list[float]:
    return [one.weight for one in remarks(gather(record(*messages)), 10_000, wide=True)]


STATED = [
    "nobody gets more than QX-51ab7 out of the pool",
    "QX-51ab7 is where the pool gives up",
    "beyond QX-51ab7 the gateway says no",
    "the vendor's ceiling: QX-51ab7",
    "ops pinned this to QX-51ab7 last spring",
    "we talk to db-7.eu.internal:5433 here",
    "keys rotate on 2031-05-01",
    "agreed ceiling QX-51ab7",
    "set by contract to QX-51ab7, see the wiki",
    "queue depth tops out at 4096 entries",
    "the broker listens on port 15672",
    "uploads larger than 64 MB are dropped",
    "池子封顶 QX-51ab7，详见内网文档",
    "配额由运维定成 QX-51ab7",
    "超出 QX-51ab7 直接断开",
    "连的是 db-7.eu.internal:5433",
    "会话 900 秒后失效",
]


@pytest.mark.parametrize("sentence", STATED)
@pytest.mark.parametrize("mark", ["# ", "// ", "    -- "])
def test_a_comment_that_gives_a_value_is_a_fact(sentence: str, mark: str) -> None:
    run = run_of(user("go"), reads("src/a.py", _CODE.format(mark + sentence)), says("Done."))
    assert texts(sure(run), Section.KNOWLEDGE) == [sentence]
    assert texts(extract(msgspec.structs.replace(run, economic=True)), Section.KNOWLEDGE) == [sentence]


@pytest.mark.parametrize("sentence", STATED)
def test_a_document_says_it_too(sentence: str) -> None:
    shown = f"# Pool\n\nSome words about it.\n\n{sentence}\n\nMore words.\n"
    assert texts(sure(run_of(user("go"), reads("docs/a.md", shown))), Section.KNOWLEDGE) == [sentence]
    assert texts(sure(run_of(user("go"), runs("cat docs/a.md", shown))), Section.KNOWLEDGE) == [sentence]


@pytest.mark.parametrize(
    "line",
    [
        "# total of the rows",
        "# see RFC-7231 for this",
        "# fixes BUG-1234",
        "# ported from kite-9.1 by hand",
        "# 参见 KX-71aa",
        "# x = QX-7 + 3;",
        "# is it QX-51ab7?",
        "# import from src/a_1/b.py",
        "# QX-51ab7",
        "# licensed to QX-51ab7",
        "the pool stops at QX-51ab7",
        "# [output truncated after 4096 lines]",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert _lines(reads("src/a.py", _CODE.format(line))) == []


def test_a_value_that_the_code_defines_is_the_codes() -> None:
    said = "# ops pinned this to QX-51ab7"
    assert _lines(reads("a.py", said)) == [said[2:]]
    assert _lines(reads("a.py", f'{said}\nLIMIT = "QX-51ab7"')) == []


def test_comment_lines_that_end_like_sentences_are_sentences() -> None:
    shown = "# NOTE: shared by all tenants.\n# ops pinned it to QX-51ab7!\n# workers go to QX-88c1a\n# and no further\nx = 1"
    assert sorted(_lines(reads("a.py", shown))) == ["ops pinned it to QX-51ab7!", "workers go to QX-88c1a and no further"]


def test_the_same_words_with_other_values_are_other_facts_and_the_same_fact_in_many_files_is_one() -> None:
    values = [reads(f"{i}.py", f"# ops pinned it to QX-51{i}") for i in range(5)]
    assert _weights(*values) == pytest.approx([1.62] * 5)
    same = [reads(f"{i}.py", "# ops pinned it to QX-51ab7") for i in range(3)]
    assert _weights(*same) == pytest.approx([1.62 / 3])
    assert _weights(*same[:2]) == pytest.approx([1.62])


def test_numbers_are_merged_as_ever_and_rare_values_too_in_full_checkpoints() -> None:
    numbers = [reads(f"{i}.py", f"# the pool stops at 4{i}") for i in range(3)]
    assert _weights(*numbers) == pytest.approx([0.24] * 3)
    values = [reads(f"{i}.py", f"# the pool stops at QX-51{i}") for i in range(3)]
    assert [one.weight for one in remarks(gather(record(*values)), 10_000)] == pytest.approx([0.24] * 3)


@pytest.mark.parametrize(("length", "count"), [(7, 0), (8, 1), (520, 1), (521, 0)])
def test_how_long_a_stated_fact_may_be(length: int, count: int) -> None:
    text = ("at QX-1a" + " and on" * 80)[:length]
    assert len(_lines(reads("docs/a.md", text))) == count


def test_how_short_a_settled_one_may_be() -> None:
    def lines(text: str) -> list[str]:
        return [one.text for one in decisions(gather(record(says(text))), frozenset({1}), wide=True)]

    assert lines("So KX-1a") == ["So KX-1a"]
    assert lines("So KX-1") == []
    assert lines("就 KX-1a") == ["就 KX-1a"]
    assert lines("K X-1a") == []


def test_how_much_a_stated_value_weighs() -> None:
    assert _weights(reads("a.py", "# ops pinned this to QX-51ab7 last spring")) == [pytest.approx(1.8 * 0.9)]
    assert _weights(reads("a.py", "# the ceiling of this is QX-51ab7")) == [pytest.approx(2.0 * 0.9)]
    assert _weights(reads("a.py", "# ops set QX-51ab7 last spring")) == [pytest.approx(1.3 * 0.9)]
    assert _weights(reads("a.py", "# ops QX-51ab7 spring")) == [pytest.approx(1.3 * 0.9)]
    assert _weights(reads("a.py", "# harbor QX-51ab7")) == []
    assert _weights(reads("a.py", "# our port: 15672")) == [pytest.approx(1.3 * 0.9)]
    assert _weights(reads("a.py", "# port: 15672 / 15673")) == []
    assert _weights(reads("a.py", "# the broker's port here: 15672")) == [pytest.approx(1.3 * 0.9)]
    assert _weights(reads("a.py", "# the broker's port here: 67")) == []
    assert _weights(reads("a.py", "# 会话 900 秒后失效")) == [pytest.approx(1.3 * 0.9)]
    assert _weights(reads("a.py", "# gone after 900 seconds")) == [pytest.approx(0.8 * 0.9)]
    assert _weights(reads("a.py", "# gone for 900 seconds")) == []


def test_in_full_checkpoints_only_the_known_forms_count() -> None:
    evidence = gather(record(reads("a.py", "# ops pinned it to QX-51ab7 once")))
    assert remarks(evidence, 10_000) == []
    assert len(remarks(evidence, 10_000, wide=True)) == 1


SETTLED = [
    "KX-71aa it is.",
    "Having compared the three, KX-71aa comes out on top.",
    "So the rollout runs along KX-71aa.",
    "Final call: KX-71aa.",
    "The schema change will be done the KX-71aa way.",
    "From here the cut-over is KX-71aa, not open for debate.",
    "KX-71aa was the only option that held up.",
    "Let's lock in KX-71aa.",
    "Of the candidates only KX-71aa survived the load test.",
    "I ended up choosing KX-71aa over the queue.",
    "KX-71aa, then.",
    "迁移就按 KX-71aa 来。",
    "比较下来还是 KX-71aa 合适。",
    "定了，走 KX-71aa。",
    "索引按 LY-204 的布局分区。",
    "选型结果：KX-71aa。",
]


@pytest.mark.parametrize("sentence", SETTLED)
def test_what_a_closing_answer_says_of_a_rare_value_is_settled(sentence: str) -> None:
    run = run_of(user("go"), reads("a.py", "x"), says(f"Task 3 finished.\n{sentence}"))
    assert texts(sure(run), Section.DECISIONS) == [sentence]
    assert texts(extract(msgspec.structs.replace(run, economic=True)), Section.DECISIONS) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "Task 3 finished.",
        "All tests pass now.",
        "I read src/a_1.py and src/b_2.py.",
        "Shall I go with KX-71aa?",
        "Let me look at KX-71aa first.",
        "I'll check KX-71aa next.",
        "You said KX-71aa.",
        "See https://wiki.example/x-7 for it.",
        "09:07:20.570 KX-71aa started",
        "Confirmed.",
    ],
)
def test_other_closing_sentences_settle_nothing(sentence: str) -> None:
    run = run_of(user("go"), reads("a.py", "x"), says(sentence))
    assert texts(sure(run), Section.DECISIONS) == []


def test_only_the_closing_answer_counts_and_what_it_weighs() -> None:
    def weights(*messages: Message, wide: bool = True) -> list[float]:
        return [one.weight for one in decisions(gather(record(*messages)), frozenset({1}), wide=wide)]

    said = "The rollout runs along KX-71aa."
    assert weights(says(said)) == [pytest.approx(1.2 + 0.25 + 1.0)]
    assert weights(says(said), wide=False) == []
    assert weights(user("x"), says(said)) == []
    assert weights(says("The rollout runs along `lane_two`.")) == [pytest.approx(0.5 + 0.25 + 1.0)]
    assert weights(says("The rollout walks along `lane_two`.")) == []
    contrast = "The rollout runs along KX-71aa, not along the other."
    assert weights(says(contrast)) == [pytest.approx(1.2 + 0.25 + 1.0)]
    assert sure(run_of(user("go"), calls("Read", "x", text=said, file_path="a"), says("Done.", Finish.STOP))) == ()
