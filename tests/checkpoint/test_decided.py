"""What the assistant says it did, with a reason or with what it did not do; and the error line that says most."""

import pytest

from checkpoint.telling import calls, found, record, runs, says, texts, thinks, user
from sojourn.base import Section
from sojourn.checkpoint.extract.decisions import decisions
from sojourn.checkpoint.extract.evidence import gather
from sojourn.record import Message


def _weights(*messages: Message, closing: int = 0) -> dict[str, float]:
    found = decisions(gather(record(*messages)), frozenset({closing}))
    return {one.text: one.weight for one in found}


OWN = [
    "I leave the old column in place, since last year's app still reads it.",
    "I moved the parsing into the worker so that a slow upload stalls nobody.",
    "We hand out tokens for 11 minutes, not for an hour.",
    "I deliberately kept the lock instead of a queue.",
    "We don't cache the totals because they change every minute.",
    "I’ve pinned the driver; a newer one would break the tests.",
    "我把重试放在网关这一层，因为客户端升级太慢。",
    "我们没有用全局锁，否则写入会排队。",
    "我保留旧字段，不删除。",
]


@pytest.mark.design("K-10")
@pytest.mark.parametrize("sentence", OWN)
def test_what_it_did_with_a_reason_is_a_decision(sentence: str) -> None:
    between = calls("Read", "x", text=f"Good. {sentence}", file_path="a")
    closing = found(user("go"), says(f"Good. {sentence}"))
    assert sentence in texts(closing, Section.DECISIONS)
    if "不删除" not in sentence and "queue" not in sentence:
        assert sentence in texts(found(user("go"), between, says("Done.")), Section.DECISIONS)


STATED = [
    "The checksum is computed on the client, because the proxy rewrites line ends.",
    "Orders were billed twice because the webhook is delivered again.",
    "Queue per tenant wins; a noisy tenant would otherwise starve the rest.",
    "The borrow goes away after the last read of the table, not before it.",
    "I went with plan AX-7f, and that is settled.",
    "We stick to AX-7f for the move of the data.",
    "The move follows AX-7f; the other ways were too slow.",
    "对账不平是因为夜里的汇率更新得太晚。",
    "缓存按用户分片保存，不按区域。",
    "权衡之后选了方案 AX-7f。",
]


@pytest.mark.design("K-10")
@pytest.mark.parametrize("sentence", STATED)
def test_a_closing_answer_with_a_reason_or_a_contrast_is_kept(sentence: str) -> None:
    assert texts(found(user("go"), says(sentence)), Section.DECISIONS) == [sentence]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    "sentence",
    [
        "I read the loader and the parser of the rows.",
        "Let me look at the loader first, because it is small.",
        "Now let's run it again, not the whole suite.",
        "I'll check the index because it is stale.",
        "The user said it must only run at night, not by day.",
        "You asked for this because the page is slow.",
        "I moved the file to the other folder today.",
        "让我先看一下配置文件，因为它最短。",
        "用户要求夜里运行，不要白天运行这个任务。",
    ],
)
def test_looking_announcing_and_quoting_settle_nothing(sentence: str) -> None:
    assert texts(found(user("go"), says(sentence)), Section.DECISIONS) == []


@pytest.mark.design("K-10")
def test_own_doing_weighs_more_than_a_statement_and_thoughts_need_more() -> None:
    own = "We keep the lock in the store because it is short."
    said = "The lock stays in the store because it is short."
    assert _weights(says(own), closing=1) == {own: pytest.approx(0.9 + 0.5 + 1.0)}
    assert _weights(says(own)) == {own: pytest.approx(0.9 + 0.5 + 0.3)}
    assert _weights(says(said), closing=1) == {said: pytest.approx(0.5 + 0.5 + 1.0)}
    assert _weights(says(said)) == {}
    assert _weights(thinks(own)) == {}
    looked = "I looked at the lock in the store because it is short."
    assert _weights(says(looked), closing=1) == {looked: pytest.approx(0.5 + 0.5 + 1.0)}


@pytest.mark.design("K-10")
@pytest.mark.parametrize(("values", "more"), [("", 0.0), (" 12 s", 0.25), (" 12 s `a_b` load() AX-7 40%", 1.0)])
def test_values_and_names_add_to_it(values: str, more: float) -> None:
    sentence = f"The lock stays because it is short{values}"
    assert _weights(says(sentence), closing=1) == {sentence: pytest.approx(2.0 + more)}


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("t.py:9: ValueError\nE   ValueError: cannot convert NaN to integer", "E ValueError: cannot convert NaN to integer"),
        ("FAILED tests/a.py::b\nerror[E0502]: cannot borrow `slots` here", "error[E0502]: cannot borrow `slots` here"),
        ("FAILED\na.ts(12,4): error TS2345: Argument of type 'Slot'", "a.ts(12,4): error TS2345: Argument of type 'Slot'"),
        ("src/a.ts(12,4): error TS2345: Argument of\nbye for now", "src/a.ts(12,4): error TS2345: Argument of"),
        ("上线失败\n错误：证书将于 3 天后过期", "错误：证书将于 3 天后过期"),
        ("FAILED tests/a.py::b\nValueError", "FAILED tests/a.py::b"),
        (
            "Traceback\nKeyError: first of the two\nTypeError: second of the two\nx: ValueError",
            "TypeError: second of the two",
        ),
    ],
)  # fmt: skip
def test_the_line_that_says_what_went_wrong_comes_before_one_that_names_it(output: str, line: str) -> None:
    assert texts(found(user("go"), runs("./t.sh", output, failed=True)), Section.ERRORS) == [f"{line} (`./t.sh`)"]
