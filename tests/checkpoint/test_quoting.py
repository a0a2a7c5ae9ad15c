"""Invented speech, the language of the user, the messages that an item rests on (K-2, K-6)."""

import pytest

from checkpoint.telling import calls, engine, imported, record, says, thinks, user
from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.language import is_foreign, script_of
from sojourn.checkpoint.quoting import heard, normal, quotations, spoken
from sojourn.checkpoint.sources import find_sources

D, K = Section.DIRECTIVES, Section.KNOWLEDGE


@pytest.mark.design("K-6")
@pytest.mark.parametrize(
    ("section", "text", "quotes"),
    [
        (D, 'keep "one two three" and "one two"', ("one two three",)),
        (D, 'keep "ab cdefg" and "ab cdef"', ("ab cdefg",)),
        (D, "“a b c” 「不要改动接口的名字」 『短』 «d e f»", ("a b c", "不要改动接口的名字", "d e f")),
        (D, "> never touch main", ("never touch main",)),
        (Section.INTENT, 'm3: "make it fast now"', ("make it fast now",)),
        (D, 'name it "src/app/main.py", "retry_budget_ms", "v1.22.333", "camelCaseName"', ()),
        (D, 'it must be "absolutely" so', ("absolutely",)),
        (K, 'the server says "no such user here"', ()),
        (K, 'the user said "no such thing here"', ("no such thing here",)),
        (K, 'as requested by the user: "no such thing here"', ("no such thing here",)),
        (K, 'the user (m3) has explicitly asked for "no such thing here"', ("no such thing here",)),
        (K, 'user: "no such thing here"', ("no such thing here",)),
        (K, 'according to the user "no such thing here"', ("no such thing here",)),
        (K, "用户要求“不要改动接口的名字”", ("不要改动接口的名字",)),
        (K, 'the user table says "no such thing here"', ()),
        (K, 'the user table is empty. The server said "no such thing here"', ()),
        (Section.ERRORS, 'GET /user answers "no such thing here"', ()),
    ],
)
def test_what_is_a_quotation_of_the_user(section: Section, text: str, quotes: tuple[str, ...]) -> None:
    assert quotations(section, text) == quotes


@pytest.mark.design("K-6")
@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("never touch main", True),
        ("Never  touch\nMAIN!", True),
        ("never touch the main", False),
        ("never … the release", True),
        ("never [...] the release", True),
        ("never ... the docs", False),
        ("it’s the “old” one", True),
        ("touch main or the release", True),
        ("touch main or the release never", False),
    ],
)
def test_who_is_quoted_has_said_it(quote: str, found: bool) -> None:
    said = spoken(["Please never  touch main\nor the release.", 'It\'s the "old" one'])
    assert heard(quote, said) is found


@pytest.mark.design("K-6")
def test_a_quotation_is_not_put_together_from_two_messages() -> None:
    assert not heard("touch main now please", spoken(["never touch main", "now please"]))
    assert heard("touch main … now please", spoken(["never touch main", "now please"]))


@pytest.mark.design("K-6")
@pytest.mark.report(130, 131)
def test_a_quotation_may_be_of_the_text_without_its_secret() -> None:
    said = spoken(["use password=hunter2abc for it"])
    assert heard("use password=hunter2abc for it", said)
    assert heard("use password=[redacted] for it", said)


@pytest.mark.design("K-6")
def test_normal_is_for_comparison_only() -> None:
    assert normal("  A “b”\n‘c’  「d」 ") == 'a "b" \'c\' "d"'


CHINESE = "请把解析器改成流式的，不要一次读完整个文件"
ENGLISH = "please make the parser a streaming one"


@pytest.mark.design("K-6")
@pytest.mark.report(92)
@pytest.mark.parametrize(
    ("texts", "script"),
    [
        ([CHINESE], "cjk"),
        ([ENGLISH], "latin"),
        ([], None),
        (["ok", "src/app/main.py", "`please do it so`"], None),
        ([CHINESE, CHINESE, CHINESE, ENGLISH, ENGLISH], "cjk"),
        ([CHINESE, ENGLISH], None),
        ([CHINESE, ENGLISH, ENGLISH], "latin"),
        (["这里报错了请看：" + "at the end of it all came nothing " * 10], None),
        ([CHINESE + "\n```\n" + "at the end of it all came nothing " * 10 + "\n```"], "cjk"),
        (["改成 5"], None),
        (["改成五个"], "cjk"),
        (["改成 five of them now"], None),
        (["do it"], None),
        (["do it now"], "latin"),
        (["この関数を直してください"], "cjk"),
        (["이 함수를 고쳐 주세요"], "cjk"),
    ],
)
def test_the_language_of_a_person(texts: list[str], script: str | None) -> None:
    assert script_of(texts) == script


@pytest.mark.design("K-6")
@pytest.mark.report(92)
@pytest.mark.parametrize(
    ("text", "script", "foreign"),
    [
        ("the parser reads one line at a time", "cjk", True),
        ("the parser reads one line", "cjk", False),
        ("the parser reads one line now", "cjk", True),
        ("`src/app/main.py` MAX_RETRIES=5 retryBudget HTTP/2 v1.2.3 `at the end of it all`", "cjk", False),
        ("解析器 reads one line at a time so", "cjk", False),
        ("解 reads one line at a time so", "cjk", True),
        ("解析器每次只读一行内容", "latin", True),
        ("解析器每次只读一", "latin", True),
        ("解析器每次只读", "latin", False),
        ("解析器每次只读一行内容 is what the button of the page says", "latin", False),
        ("the button says 「解析器每次只读一行内容」", "latin", False),
        ("解析器 reads one line at a time of the file", "cjk", False),
        ("解析 reads one line at a time of the file", "cjk", True),
        ("解析器每次只读一行内容不读整个文件" + " so we go on with it then as it is", "latin", False),
        ("解析器每次只读一行内容不读整个文件啊" + " so we go on with it then as it is", "latin", True),
        ("解析器每次只读一行内容", None, False),
        ("the parser reads one line at a time", None, False),
        ("the parser reads one line at a time", "latin", False),
        ("解析器每次只读一行内容", "cjk", False),
    ],
)
def test_a_foreign_item(text: str, script: str | None, foreign: bool) -> None:
    assert is_foreign(text, script) is foreign  # type: ignore[arg-type]


def test_long_unbroken_text_is_read_in_linear_time() -> None:
    for unit in ("=", "a", "_", "`", '"', "/", "a1"):
        assert script_of([unit * 200_000]) is None


@pytest.mark.design("K-2")
@pytest.mark.report(96)
def test_sources_are_the_newest_messages_with_most_of_the_rarest_terms() -> None:
    messages = record(
        user("look at the parser budget"),
        says("The parser reads the budget from retry_ms"),
        calls("Read", "retry_ms = 250  # parser", file_path="conf.py"),
        thinks("the walrus is 250 now"),
        says("parser, parser, parser"),
    )
    evidence = gather(messages)

    def of(text: str, section: Section = K) -> tuple[int, ...]:
        return find_sources([(section, text)], evidence)[0]

    assert of("retry_ms is 250 in conf") == (3,)
    assert of("a walrus") == (4,)
    assert of("the parser") == (2, 3, 5)
    assert of("nothing of it stands anywhere") == ()
    assert of("it is") == ()
    assert of("walrus and parser and budget and retry_ms") == (2,)  # walrus, budget, retry_ms: m2 holds two of them
    four = gather(record(says("alpha bravo charlie delta"), says("alpha bravo charlie delta echo")))
    assert find_sources([(K, "alpha bravo charlie delta")], four) == [(1, 2)]
    third = gather(record(says("alpha bravo charlie"), says("alpha bravo"), says("charlie")))
    assert find_sources([(K, "alpha bravo charlie")], third) == [(1,)]
    fifth = gather(record(says("alpha bravo charlie"), says("delta, alpha bravo charlie"), says("delta delta")))
    assert find_sources([(K, "alpha bravo charlie delta")], fifth) == [(1, 2)]  # its three rarest, by name where equal
    assert find_sources([(K, "a walrus"), (K, "the parser")], evidence) == [(4,), (2, 3, 5)]


@pytest.mark.design("K-2", "K-4")
@pytest.mark.report(90)
def test_directives_rest_on_the_user_and_nothing_rests_on_text_of_the_engine() -> None:
    messages = record(
        user("never touch the walrus"), says("the walrus, dearly"), engine("the zebra is striped"), imported("an old zebra")
    )
    evidence = gather(messages)
    assert find_sources([(D, "leave the walrus alone")], evidence) == [(1,)]
    assert find_sources([(K, "leave the walrus alone")], evidence) == [(1, 2)]
    shown = gather(record(user("never touch the walrus"), calls("Read", "walrus", path="a")))
    assert find_sources([(D, "leave the walrus alone")], shown) == [(1,)]
    assert find_sources([(D, "dearly, a zebra")], evidence) == [(2,)]
    assert find_sources([(K, "a zebra")], evidence) == [()]
