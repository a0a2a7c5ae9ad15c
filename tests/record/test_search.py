"""Full-text search: Chinese words of two characters, identifiers, any query (R-13)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from record.rows import Desk, at_desk, call, model, sit, undo_turn, user
from sojourn.record import AddMessage, Message, Notice, Reasoning, Reminder, SettlePart, Text
from sojourn.record.search import index_text, match_query, searchable, snippet

Where = Path | None


async def found(desk: Desk, query: str, **how: str) -> list[int]:
    return [hit.seq for hit in await desk.store.search(query, **how)]  # type: ignore[arg-type]


@pytest.mark.design("R-13")
@pytest.mark.parametrize(
    ("text", "queries", "misses"),
    [
        (
            "检查点写手提高水位线",
            ["水位", "检查点", "写手提高", "水位线", "线", "检", "手"],
            ["位检", "水线", "检写", "高水位线检"],
        ),
        ("水", ["水"], ["水位", "位"]),
        ("用read_file读取文件", ["read_file", "读取", "用", "文件 read", "用read_file读取"], ["取用"]),
        ("チェックポイントを書く", ["ポイント", "書く"], ["イポ"]),
        ("체크포인트 저장", ["포인트", "저장"], ["장저"]),
        (
            "call read_file then readFileNow",
            ["read_file", "read", "FILE", "readFileNow", "readfilenow", "now"],
            ["rea", "read_fil", "filenow"],
        ),
        ("class HTTPServer2 in utf8Decode", ["http", "server", "HTTPServer2", "decode", "utf"], ["tpserver"]),
        (
            "open src/sojourn/record/store.py",
            ["store.py", "sojourn/record", "record store", "py"],
            ["store.record", "record.sojourn"],
        ),
        ("config.load(path) failed", ["config.load", "config.load(path)", "load failed"], ["load.config"]),
        ("Ünïcode café", ["unicode", "CAFE", "café"], ["caf"]),
        ('it said "no space left" (disk 5%)', ['"no space left"', "(disk", "5%"], ["space-no"]),
    ],
)
def test_it_finds_words_and_only_words(where: Where, text: str, queries: list[str], misses: list[str]) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1", text), user("m2", "something else 其他"))
        for query in queries:
            assert await found(desk, query) == [1], query
        for query in misses:
            assert await found(desk, query) == [], query

    at_desk(where, story)


@pytest.mark.design("R-13")
@pytest.mark.parametrize(
    "query",
    [
        "", "   ", '"', '""', "*", "-", "AND", "OR NOT", "NEAR(a b)", "a*", "text:alpha", "{text} : x", "^a", "\x00", "(", "_",
        "'; DROP TABLE sessions; --", "alpha\x00beta", "scope:s1", "\ud800", "💥", "…",
    ],
)  # fmt: skip
def test_no_query_breaks_it(where: Where, query: str) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1", "alpha beta"))
        await desk.store.search(query)
        assert await found(desk, "s1") == []  # the words that narrow a search are not text

    at_desk(where, story)


def test_every_term_must_occur_and_quotes_are_no_operators(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(user("m1", "alpha beta"), user("m2", "alpha AND gamma"), user("m3", "beta alpha"))
        assert await found(desk, "alpha beta") == [3, 1]
        assert await found(desk, "alpha AND") == [2]
        assert await found(desk, "alpha* beta") == [3, 1]
        assert await found(desk, "alpha\x00beta") == [3, 1]
        assert await found(desk, "alpha -beta") == [3, 1]
        assert await found(desk, "...") == []
        assert await found(desk, "alpha ... 💥") == [3, 2, 1]

    at_desk(where, story)


@pytest.mark.design("R-13", "R-2")
def test_only_what_people_and_models_said_and_called_is_indexed(where: Where) -> None:
    async def story(desk: Desk) -> None:
        parts = (
            Reasoning("needle"), Reminder("s", "needle"), Notice("k", "needle"),
            call(result=(Text("needle"),), state="completed"),
        )  # fmt: skip
        await desk.put(model("m1", *parts))
        await desk.put(AddMessage(Message("m2", "user", "engine", (Text("needle"),))))
        await desk.put(AddMessage(Message("m3", "user", "import", (Text("needle"),))))
        assert await found(desk, "needle") == []
        await desk.put(
            model("m4", Text("needle one")),
            model("m5", call("needle")),
            model("m6", call(arguments={"a": {"b": ["x", "needle"]}, "n": 5})),
        )
        await desk.put(model("m7", call(raw_arguments="needle {")), user("m8", "needle"))
        assert await found(desk, "needle") == [8, 7, 6, 5, 4]
        assert await found(desk, "read_file") == [7, 6, 1]

    at_desk(where, story)


@pytest.mark.design("R-13")
def test_a_streamed_message_is_found_as_its_parts_settle(where: Where) -> None:
    async def story(desk: Desk) -> None:
        await desk.put(model("m1"))
        await desk.put(SettlePart("m1", 0, Text("alpha")))
        assert await found(desk, "alpha") == [1]
        await desk.put(SettlePart("m1", 1, call("grep", arguments={"pattern": "beta"})))
        assert await found(desk, "alpha beta") == [1]
        await desk.put(SettlePart("m1", 1, call("grep", "completed", arguments={"pattern": "gamma"})))
        assert await found(desk, "beta") == []
        assert await found(desk, "alpha gamma grep") == [1]

    at_desk(where, story)


@pytest.mark.design("R-13")
@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
def test_what_is_committed_is_found_at_once_however_much_it_is(where: Where, size: int) -> None:
    async def story(desk: Desk) -> None:
        for batch in range(40 if size == 1 else 2):
            await desk.put(*(user(f"m{batch}_{at}", f"needle w{batch}x{at}") for at in range(size)))
        assert len(await found(desk, "needle", limit=999)) == (40 if size == 1 else 2) * size  # type: ignore[arg-type]
        assert len(await found(desk, f"w0x{size - 1}")) == 1

    at_desk(where, story)


def test_the_index_catches_up_every_32nd_commit_and_with_each_large_one(where: Where) -> None:
    async def story(desk: Desk) -> None:
        def waiting() -> int:
            assert desk.store._db is not None
            return int(desk.store._db.execute("SELECT count(*) FROM unindexed").fetchone()[0])  # type: ignore[index]

        await desk.talk(31)
        assert waiting() == 31
        await desk.talk(1, 32)
        assert waiting() == 0
        await desk.put(*(user(f"a{at}") for at in range(15)))
        assert waiting() == 15
        await desk.put(*(user(f"b{at}") for at in range(16)))
        assert waiting() == 15  # as many as it brought: the oldest first
        await desk.store.search("hello")
        assert waiting() == 0

    at_desk(where, story)


@pytest.mark.design("R-13", "R-4")
def test_a_search_is_narrowed_by_session_and_project_and_leaves_out_the_undone(where: Where) -> None:
    async def story(desk: Desk) -> None:
        desk2 = await sit(None, "ses_2", store=desk.store, project_id="p", title="Two")
        desk3 = await sit(None, "ses_3", store=desk.store, project_id="q\ud800")
        for at in (desk, desk2, desk3):
            await at.put(user(f"{at.sid}_1", "needle", created=7), model(f"{at.sid}_2", Text("needle")))

        async def ids(**how: str) -> list[str]:
            return [f"{hit.session_id}:{hit.seq}" for hit in await desk.store.search("needle", **how)]  # type: ignore[arg-type]

        assert await ids() == ["ses_3:2", "ses_3:1", "ses_2:2", "ses_2:1", "ses_1:2", "ses_1:1"]
        assert await ids(session_id="ses_2") == ["ses_2:2", "ses_2:1"]
        assert await ids(project_id="p") == ["ses_2:2", "ses_2:1", "ses_1:2", "ses_1:1"]
        assert await ids(project_id="q\ud800") == ["ses_3:2", "ses_3:1"]
        assert await ids(project_id="p", session_id="ses_3") == []
        assert await ids(session_id="ses_9") == []
        await desk2.put(undo_turn("u", 0, 1))
        assert await ids(project_id="p") == ["ses_2:2", "ses_1:2", "ses_1:1"]
        assert await ids(session_id="ses_2") == ["ses_2:2"]
        (hit,) = await desk.store.search("needle", session_id="ses_2")
        assert (hit.role, hit.created, hit.title, hit.snippet) == ("assistant", 0, "Two", "needle")
        assert [hit.seq for hit in await desk.store.search("needle", limit=1)] == [2]
        assert list(await desk.store.search("needle", limit=0)) == []

    at_desk(where, story, project_id="p")


def test_a_very_long_query_and_text_are_taken(where: Where) -> None:
    async def story(desk: Desk) -> None:
        words = [f"w{at}" for at in range(3_000)]
        await desk.put(user("m1", " ".join(words)), user("m2", "水位线检查" * 2_000), user("m3", "x" * 200_000))
        assert await found(desk, " ".join(words)) == [1]
        assert await found(desk, "水位线检查" * 1_000) == [2]
        assert await found(desk, "水位线检查" * 2_001) == []
        await desk.store.search("x" * 200_000)

    at_desk(where, story)


@pytest.mark.design("R-13")
def test_a_snippet_is_one_line_around_the_hit() -> None:
    text = "start " + "before " * 100 + "Needle here\nand\tafter " + "tail " * 100
    line = snippet(text, "needle")
    assert "Needle here and after" in line
    assert line.startswith("…")
    assert line.endswith("…")
    assert "\n" not in line
    assert 150 <= len(line) <= 202
    assert snippet("short needle", "needle") == "short needle"
    assert snippet("x" * 200, "y") == "x" * 200
    assert snippet("x" * 201, "y") == "x" * 200 + "…"
    assert snippet("a" * 300 + " 水位线", "位线").endswith("水位线")
    assert "end" in snippet("a.b " * 100 + "the end", "the.end")  # the term as typed is not there, its words are
    assert snippet("", "x") == ""


def test_index_text_is_exact() -> None:
    assert index_text("plain words") == "plain words"
    assert index_text("readFile read_it XML A1") == "readFile read_it XML A1\nfile it read"
    assert index_text("水位线a水") == " 水位 位线 线 a  水 "[0:9] + "a  水 "
    assert match_query("水位线 水") == '{text} : ("水位 位线" AND "水" *)'
    assert match_query('a"b a"b') == '{text} : ("a b")'
    assert match_query("!?") is None
    assert searchable((Text("a"), Text(""), call("b", arguments={"k": "c", "l": [1, "d"]}))) == "a\nb\nc\nd"


@pytest.mark.design("R-13")
@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("水位线检 ab_B.,\ud800é"), max_size=14), st.data())
def test_any_run_of_a_text_finds_it(text: str, data: st.DataObject) -> None:
    cjk = [run for run in "".join(c if c in "水位线检" else " " for c in text).split() if run]
    words = text.replace("\ud800", " ").replace(",", " ").replace(".", " ").split()
    plain = [word for word in words if all(c in "ab_Bé" for c in word) and word.strip("_")]

    async def story(desk: Desk) -> None:
        await desk.put(user("m1", text))
        for run in cjk:
            start = data.draw(st.integers(0, len(run) - 1))
            piece = run[start : data.draw(st.integers(start + 1, len(run)))]
            assert await found(desk, piece) == [1], piece
        for word in plain:
            assert await found(desk, word) == [1], word

    at_desk(None, story)
