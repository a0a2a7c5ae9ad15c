"""What later work needs and whether it is in view: small sessions where the right answer is known (T-6)."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.lab.continuity import Asked, SessionIndex, ViewIndex, needed_after, plain_text, recall, visible
from sojourn.lab.identifiers import content_words, runs, scan, scan_errors
from sojourn.record import File, Message, Reasoning, Text, ToolCall

pytestmark = pytest.mark.design("T-6")


def user(seq: int, text: str, origin: str = "user") -> Message:
    return Message(f"m{seq}", "user", origin, (Text(text),), seq)


def says(seq: int, text: str) -> Message:
    return Message(f"m{seq}", "assistant", "model", (Text(text),), seq)


def calls(seq: int, result: str = "", name: str = "bash", **arguments: object) -> Message:
    part = ToolCall(f"c{seq}", name, arguments, state="completed", result=(Text(result),) if result else ())
    return Message(f"m{seq}", "assistant", "model", (part,), seq)


def identifiers(asked: tuple[Asked, ...]) -> list[str]:
    return [one.identifier for one in asked]


# --- identifiers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open src/tide/model.py now", [("src/tide/model.py", "path")]),
        ("see model.py.", [("model.py", "path")]),
        ("in /etc/hosts or ~/notes", [("/etc/hosts", "path"), ("~/notes", "path")]),
        ("under src/ only", [("src/", "path")]),
        ("src/tide/deep without extension", [("src/tide/deep", "path")]),
        ("read and/or write at 3/4 MB/s", []),
        ("call load_station and parseLine", [("load_station", "symbol"), ("parseLine", "symbol")]),
        ("self.cache_size grows", [("cache_size", "symbol")]),
        ("np.array holds e.g. three", [("np.array", "symbol")]),
        ("`sort` is backticked, sort is not", [("sort", "symbol")]),
        ("a README in CAPS is a word", []),
        ("port 8437, not 84 or 7", [("8437", "number")]),
        ("404 of them", [("404", "number")]),
        ("a_b is too short, a_bc is not", [("a_bc", "symbol")]),
        ("0.35 of it, 30s and 5%", [("0.35", "number"), ("30s", "number"), ("5%", "number")]),
        ("12,500 rows, 10_000 more", [("12500", "number"), ("10000", "number")]),
        ("the 3rd of 000", []),
        ("until 2026-04-01 at 14:30", [("2026-04-01", "number"), ("14:30", "number")]),
        ("2026-04-01T08:00:12.123Z worker", [("2026-04-01", "number")]),
        ("commit 4f2a91c8", [("4f2a91c8", "hash")]),
        ("defaced and 4f2a91", []),
        ("see https://tides.example/api?x=1.", [("https://tides.example/api?x=1", "url")]),
        ("端口8437是测试用的", [("8437", "number")]),
    ],
)
def test_what_is_an_identifier(text: str, found: list[tuple[str, str]]) -> None:
    assert [(identifier, kind) for identifier, kind, _ in scan(text)] == found


def test_places_point_at_the_identifier() -> None:
    text = "first\nuse load_station here"
    [(identifier, _, at)] = scan(text)
    assert text[at : at + len(identifier)] == "load_station"


def test_what_error_lines_quote_and_say() -> None:
    text = "fine 'not an error'\nKeyError: no such station here\nfatal: bad ref 'release two'\nValueError: mismatched lengths\n"
    assert [phrase for phrase, _ in scan_errors(text)] == ["no such station here", "release two", "bad ref 'release two'"]


def test_a_line_with_two_errors_is_read_once() -> None:
    text = "KeyError: no such station, OSError follows\nTypeError: not a single height"
    assert [phrase for phrase, _ in scan_errors(text)] == ["no such station, OSError follows", "not a single height"]


def test_runs_are_five_content_words_or_eight_chinese_characters() -> None:
    assert runs("keep the migrations folder frozen today please") == [
        "keep migrations folder frozen today",
        "migrations folder frozen today please",
    ]
    assert runs("keep the migrations folder frozen") == []
    assert runs("所有时间都按标准时") == ["所有时间都按标准", "有时间都按标准时"]
    assert runs("所有时间都按标") == []


def test_content_words() -> None:
    assert content_words("The port of staging is 8437 on it") == {"port", "staging", "8437"}
    assert content_words("不要改") == {"不要", "要改"}


# --- what is asked for ---------------------------------------------------------------------------------------------


def test_used_after_the_boundary_and_known_before() -> None:
    session = [user(1, "The staging port is 8437 for tests."), says(2, "Noted."), calls(3, command="curl staging:8437 port")]
    [asked] = needed_after(session, 2, 3)
    assert asked == Asked(
        "8437", "number", 1, "The staging port is 8437 for tests.", 3, ("The staging port is 8437 for tests.",)
    )


def test_not_asked_before_at_or_outside_the_span() -> None:
    session = [user(1, "Open src/tide/model.py."), says(2, "src/tide/model.py"), says(3, "ok"), says(4, "src/tide/model.py")]
    assert needed_after(session, 2, 3) == ()
    assert identifiers(needed_after(session, 1, 2)) == ["src/tide/model.py"]
    assert identifiers(needed_after(session, 3, 4)) == ["src/tide/model.py"]
    assert needed_after(session, 0, 2) == (), "first seen after the boundary: nothing was lost"


def test_occurrence_at_the_boundary_itself_counts_as_before() -> None:
    session = [says(1, "hello"), user(2, "Use load_station."), says(3, "load_station it is")]
    assert identifiers(needed_after(session, 2, 3)) == ["load_station"]
    assert needed_after(session, 1, 3) == ()


@pytest.mark.parametrize("shower", [user(3, "about load_station again"), calls(3, result="def load_station():", path="x")])
def test_shown_again_before_its_use_is_not_asked(shower: Message) -> None:
    session = [user(1, "Use load_station."), says(2, "ok"), shower, says(4, "load_station is fine")]
    assert needed_after(session, 2, 4) == ()


def test_shown_after_its_use_is_asked_once() -> None:
    session = [
        user(1, "Use load_station."),
        says(2, "ok"),
        calls(3, result="load_station", command="grep load_station"),
        says(4, "load_station"),
    ]
    [asked] = needed_after(session, 2, 4)
    assert asked.used_seq == 3


def test_parallel_results_come_after_all_calls_of_their_message() -> None:
    first = ToolCall("a", "read_file", {"path": "x"}, state="completed", result=(Text("load_station"),))
    second = ToolCall("b", "bash", {"command": "grep load_station"}, state="completed")
    both = Message("m3", "assistant", "model", (first, second), 3)
    assert identifiers(needed_after([user(1, "Use load_station."), says(2, "ok"), both], 2, 3)) == ["load_station"]


def test_shown_as_part_of_a_longer_path_counts_as_shown() -> None:
    session = [
        user(1, "Open tide/model.py."),
        says(2, "ok"),
        calls(3, result="/srv/app/tide/model.py", command="find"),
        says(4, "tide/model.py"),
    ]
    assert needed_after(session, 2, 4) == ()


def test_shown_in_another_spelling_counts_as_shown() -> None:
    session = [
        user(1, "limit rows 12500"),
        says(2, "ok"),
        calls(3, result="limit: rows 12,500", command="x"),
        says(4, "rows 12500"),
    ]
    assert needed_after(session, 2, 4) == ()
    assert identifiers(needed_after([*session[:2], session[3]], 2, 4)) == ["12500"]


def test_once_a_boundary_and_again_at_the_next() -> None:
    session = [user(1, "Use load_station."), says(2, "load_station"), says(3, "load_station"), says(4, "load_station")]
    index = SessionIndex(session)
    assert [one.used_seq for one in index.needed_after(1, 3)] == [2]
    assert [one.used_seq for one in index.needed_after(3, 4)] == [4]


def test_thinking_neither_uses_nor_shows() -> None:
    thought = Message("m2", "assistant", "model", (Reasoning("load_station other_name"),), 2)
    assert needed_after([user(1, "Use load_station."), thought], 1, 2) == ()
    assert needed_after([thought, says(3, "other_name")], 2, 3) == ()


def test_a_bare_number_is_asked_only_with_a_word_it_stood_with() -> None:
    known = [user(1, "The staging port is 8437."), says(2, "ok")]
    assert needed_after([*known, calls(3, name="read_file", offset=8437)], 2, 3) == ()
    assert identifiers(needed_after([*known, says(3, "port 8437")], 2, 3)) == ["8437"]


def test_argument_lines_read_as_name_argument_value() -> None:
    session = [calls(1, name="write_file", path="tide/model.py", text="alpha\nload_station = 1\n"), says(2, "load_station")]
    [asked] = needed_after(session, 1, 2)
    assert asked.line == "write_file(text=load_station = 1)"


def test_the_first_and_the_newest_lines_are_kept() -> None:
    session = [*(user(seq, f"load_station number{seq}") for seq in range(1, 71)), says(71, "load_station")]
    [asked] = needed_after(session, 70, 71)
    assert asked.lines == ("load_station number1", *(f"load_station number{seq}" for seq in range(8, 71)))
    assert len(asked.lines) == 64


def test_excerpts_of_large_results_count_and_raw_arguments_too() -> None:
    part = ToolCall("a", "patch", raw_arguments="free load_station", result=(File("0", "text/plain", 9, excerpt="other_name"),))
    session = [Message("m1", "assistant", "model", (part,), 1), says(2, "load_station other_name")]
    assert [(one.identifier, one.line) for one in needed_after(session, 1, 2)] == [
        ("load_station", "patch(free load_station)"),
        ("other_name", "other_name"),
    ]


def test_quoted_errors() -> None:
    session = [calls(1, result="OperationalError: database is locked now\n", command="x"), says(2, "hm")]
    quoting = says(3, 'It failed with "OperationalError: database is locked now".')
    name, asked = needed_after([*session, quoting], 2, 3)
    assert name.identifier == "OperationalError"
    assert (asked.identifier, asked.kind, asked.first_seq) == ("database is locked now", "error", 1)
    assert needed_after([*session, says(3, "the database is locked now")], 2, 3) == (), "not quoted"


def test_user_sentences_said_again() -> None:
    rule = "Never touch the migrations folder without asking me first."
    session = [
        user(1, f"Hi! {rule} Thanks."),
        says(2, "ok"),
        says(3, "You said never touch the migrations folder without asking."),
    ]
    [asked] = needed_after(session, 2, 3)
    assert (asked.identifier, asked.kind, asked.first_seq) == (rule, "sentence", 1)
    assert asked.run == "never touch migrations folder without"
    assert recall([asked], f"- {rule}") == (1, 1)
    assert recall([asked], "- never touch the migrations\n- folder without asking") == (0, 1), "in a row, on one line"
    assert needed_after([*session[:2], says(3, "never touch the migrations folder")], 2, 3) == (), "four words are chance"
    assert len(needed_after([says(1, "hm"), user(2, rule), says(3, rule)], 2, 3)) == 1, "said at the boundary itself"
    assert needed_after([says(1, "hm"), user(2, rule), says(3, rule)], 1, 3) == ()
    assert needed_after([user(1, rule, "engine"), *session[1:]], 2, 3) == (), "only a person's sentences"
    assert needed_after([*session[:2], user(3, rule), says(4, rule)], 2, 4) == (), "shown again"


def test_chinese_sentences() -> None:
    session = [user(1, "先别动。所有时间都按标准时保存！"), says(2, "好"), says(3, "记得所有时间都按标准时保存")]
    [asked] = needed_after(session, 2, 3)
    assert (asked.identifier, asked.kind, asked.run) == ("所有时间都按标准时保存！", "sentence", "所有时间都按标准")
    assert recall([asked], "规则:所有时间都按标准时。") == (1, 1)
    assert recall([asked], "规则:所有时间都按本地时。") == (0, 1)


def test_chinese_context_words() -> None:
    [asked] = needed_after([user(1, "测试端口是8437"), says(2, "用测试端口8437")], 1, 2)
    assert recall([asked], "端口是8437")[0] == 1
    assert recall([asked], "编号8437")[0] == 0


# --- in view -------------------------------------------------------------------------------------------------------


def asked_for(identifier: str, *lines: str, kind: str = "symbol") -> Asked:
    return Asked(identifier, kind, 1, lines[0], 2, lines)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("view", "is_visible"),
    [
        ("load_station reads coastal harbours", True),
        ("coastal: see load_station, harbours", True),
        ("load_station reads", False),
        ("load_station", False),
        ("reads coastal harbours", False),
        ("load_station\nreads coastal harbours", False),
        ("preload_station reads coastal harbours", False),
        ("load_stations reads coastal harbours", False),
        ("", False),
    ],
)
def test_it_needs_two_other_words_of_its_line(view: str, is_visible: bool) -> None:
    assert visible(asked_for("load_station", "load_station reads coastal harbours"), ViewIndex(view)) is is_visible


def test_words_of_one_original_line_not_of_two() -> None:
    asked = asked_for("load_station", "load_station reads coastal", "load_station writes inland")
    assert not visible(asked, ViewIndex("load_station reads inland"))
    assert visible(asked, ViewIndex("load_station writes inland"))
    assert visible(asked, ViewIndex("load_station reads inland\nload_station reads coastal")), "any line of the view"


def test_bare_lines_need_all_they_have_and_only_where_there_is_no_better() -> None:
    assert visible(asked_for("load_station", "load_station"), ViewIndex("x load_station y"))
    one = asked_for("load_station", "def load_station")
    assert visible(one, ViewIndex("a def of load_station"))
    assert not visible(one, ViewIndex("load_station"))
    both = asked_for("load_station", "load_station", "load_station reads coastal")
    assert not visible(both, ViewIndex("load_station"))
    poor = asked_for("load_station", "def load_station", "load_station reads coastal")
    assert not visible(poor, ViewIndex("def load_station"))


def test_numbers_stand_alone_in_any_spelling() -> None:
    asked = asked_for("12500", "limit rows 12500", kind="number")
    assert visible(asked, ViewIndex("limit: rows 12,500"))
    assert visible(asked, ViewIndex("limit: rows 12_500"))
    assert visible(asked, ViewIndex("limit: rows are 12500."))
    assert not visible(asked, ViewIndex("limit: rows 112500"))
    assert not visible(asked, ViewIndex("limit: rows 12500.5"))
    assert not visible(asked, ViewIndex("limit: rows 3.12500"))
    assert not visible(asked, ViewIndex("limit: rows 12,500,000"))


def test_recall_counts() -> None:
    asked = [asked_for("load_station", "load_station reads coastal"), asked_for("other_name", "other_name writes inland")]
    assert recall(asked, "load_station reads coastal") == (1, 2)
    assert recall(asked, "") == (0, 2)
    assert recall([], "anything") == (0, 0)


WORDS = st.sampled_from(
    [
        "load_station",
        "tide/model.py",
        "8437",
        "0.35",
        "parseLine",
        "harbour",
        "reads",
        "coastal",
        "writes",
        "端口不要改动文件",
        "`sort`",
    ]
)
LINE = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)
TEXT = st.lists(LINE, min_size=1, max_size=3).map("\n".join)


@st.composite
def sessions(draw: st.DrawFn) -> list[Message]:
    shapes = draw(st.lists(st.tuples(st.sampled_from(["user", "says", "calls"]), TEXT, TEXT), min_size=2, max_size=9))
    return [
        user(i, one) if shape == "user" else says(i, one) if shape == "says" else calls(i, two, command=one, path=two)
        for i, (shape, one, two) in enumerate(shapes, 1)
    ]


@settings(max_examples=100, deadline=None)
@given(sessions(), st.data())
def test_the_whole_history_recalls_all_and_nothing_recalls_nothing(session: list[Message], data: st.DataObject) -> None:
    boundary = data.draw(st.integers(1, len(session)))
    asked = needed_after(session, boundary, len(session))
    assert recall(asked, plain_text(session[:boundary])) == (len(asked), len(asked))
    assert recall(asked, "") == (0, len(asked))
    assert len({one.identifier for one in asked}) == len(asked)
    assert all(one.first_seq <= boundary < one.used_seq for one in asked)


@settings(max_examples=50, deadline=None)
@given(sessions(), st.data())
def test_a_longer_view_never_recalls_less(session: list[Message], data: st.DataObject) -> None:
    asked = needed_after(session, len(session) - 1, len(session))
    cut = data.draw(st.integers(1, len(session)))
    assert recall(asked, plain_text(session[cut:]))[0] <= recall(asked, plain_text(session[cut - 1 :]))[0]


def test_ten_boundaries_of_a_long_session_are_fast() -> None:
    body = "\n".join(f"def compute_{i}(height, range_{i % 7}): return tide/model_{i % 50}.py at {i * 7}" for i in range(120))
    session = [calls(i, body, command=f"grep compute_{i % 120} tide/model_{i % 50}.py") for i in range(1, 101)]
    start = time.perf_counter()
    index = SessionIndex(session)
    asked = [index.needed_after(i, i + 10) for i in range(10, 100, 10)]
    [recall(one, body) for one in asked]
    assert sum(len(message.parts[0].result[0].text) for message in session) > 700_000  # type: ignore[union-attr]
    assert time.perf_counter() - start < 3, "0.4 s on one core"


def test_plain_text_is_the_lines_of_all_that_counts() -> None:
    session = [user(1, "one\ntwo"), calls(2, "res", name="edit", path="p", text="x\ny")]
    assert plain_text(session).split("\n") == ["one", "two", "edit(path=p)", "edit(text=x)", "edit(text=y)", "res"]
