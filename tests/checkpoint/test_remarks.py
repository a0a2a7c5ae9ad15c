"""What comments and documents say about limits, units, order and time."""

import pytest

from checkpoint.telling import calls, edits, found, reads, record, runs, texts, user
from sojourn.base import Section
from sojourn.checkpoint.extract.evidence import gather
from sojourn.checkpoint.extract.remarks import remarks
from sojourn.record import Message, Touch


def _lines(*messages: Message, most: int = 10_000) -> list[str]:
    return [one.text for one in remarks(gather(record(*messages)), most)]


def _weight(*messages: Message) -> float:
    (one,) = remarks(gather(record(*messages)), 10_000)
    return one.weight


REMARKS = [
    ("a.py", "x = 1\n# amounts are cents since release 4.7\ny = 2", "amounts are cents since release 4.7"),
    ("a.go", "// Lease must be taken before Compact.", "Lease must be taken before Compact."),
    ("a.ts", "  * A cursor expires after 20 minutes.", "A cursor expires after 20 minutes."),
    ("a.sql", "-- rows older than 35 days are dropped at night", "rows older than 35 days are dropped at night"),
    ("a.py", "   12→    # the pool caps workers at AX-77f2", "the pool caps workers at AX-77f2"),
    ("a.py", "   12\t# callers never hold `queue_lock` here", "callers never hold `queue_lock` here"),
    ("a.py", "# 每个号码每天最多发送 8 条短信", "每个号码每天最多发送 8 条短信"),
    ("a.py", "# 工时从 2024-07-01 起按六分钟取整", "工时从 2024-07-01 起按六分钟取整"),
    ("a.py", "# FINDING: the broker stops at QX-12 for good", "FINDING: the broker stops at QX-12 for good"),
]  # fmt: skip


@pytest.mark.design("K-10")
@pytest.mark.parametrize(("path", "shown", "kept"), REMARKS)
def test_a_comment_that_bounds_or_dates_something_is_kept(path: str, shown: str, kept: str) -> None:
    assert _lines(reads(path, shown)) == [kept]
    assert kept in texts(found(user("go"), reads(path, shown)), Section.KNOWLEDGE)


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    "shown",
    [
        "# Give the row back in another form.",
        "# never do this",
        "# waits before 30 seconds",
        "# called once a refresh, for each of them",
        "# part 12 of 40 things",
        "# x = compute(limit, 40) before 30 seconds",
        "# if (limit > 40) { return after 30 seconds;",
        "# Licensed under version 2.0, you must not use it before 30 days",
        "# why is the limit 40 seconds here?",
        "# must be:",
        "#!/usr/bin/env python3.11 only for the limit",
        "must wait 30 seconds before the call",
        "-# the limit was 40 seconds before",
        "a.py:12:# the limit is 40 seconds",
        "# 这里读取配置文件",
    ],
)
def test_other_lines_are_none(shown: str) -> None:
    assert _lines(reads("a.py", shown)) == []


@pytest.mark.design("K-10")
def test_a_sentence_over_several_comment_lines_is_whole_and_others_stay_apart() -> None:
    shown = (
        "// The session has to be refreshed\n// at least 90 seconds before\n// it runs out. Nothing else.\n"
        "x();\n// Batches hold up to 288 rows.\n\n// Pages hold up to 250 rows."
    )
    assert sorted(_lines(reads("a.ts", shown))) == [
        "Batches hold up to 288 rows.",
        "Pages hold up to 250 rows.",
        "The session has to be refreshed at least 90 seconds before it runs out.",
    ]


@pytest.mark.design("K-10")
def test_a_docstring_speaks_in_paragraphs() -> None:
    shown = 'def push(x):\n    """Put one.\n\n    The broker drops a message\n    above 262144 bytes.\n    """\n'
    assert _lines(reads("a.py", shown)) == ["The broker drops a message above 262144 bytes."]


@pytest.mark.design("K-10")
def test_a_comment_behind_code_keeps_its_line_and_counts_its_value() -> None:
    line = "POLL_EVERY = 47  # seconds; the vendor blocks whoever comes earlier than that"
    kept = " ".join(line.split())
    assert _lines(reads("a.py", f"import x\n  9→{line}\nz = 1")) == [kept]
    assert _lines(reads("a.ts", "const n = 47; // the vendor blocks whoever comes earlier")) == [
        "const n = 47; // the vendor blocks whoever comes earlier"
    ]
    assert _lines(reads("a.py", f"-{line}")) == []
    assert _lines(reads("a.py", "run(47)  # go on")) == []


@pytest.mark.design("K-10")
def test_a_document_speaks_in_prose() -> None:
    text = (
        "# Feed\n\nPages are long. A cursor expires\nafter 20 minutes.\n- At most 12 calls a second are allowed.\n"
        "```\nwait before 30 s calls\n```"
    )
    kept = ["At most 12 calls a second are allowed.", "A cursor expires after 20 minutes."]
    assert _lines(reads("docs/feed.md", text)) == kept
    assert _lines(runs("cat docs/feed.md", text)) == kept
    assert _lines(calls("WebFetch", text, url="https://example.org/feed")) == kept
    assert _lines(reads("docs/feed.py", text)) == []
    assert _lines(runs("grep -n cursor docs/feed.md", text)) == []
    assert _lines(calls("Ponder", text, query="feed")) == []
    changed = calls("Edit", "The limit of 40 seconds was changed.", touches=(Touch("a.md", "edit"),), file_path="a.md")
    assert _lines(changed) == []


@pytest.mark.design("K-10")
def test_chinese_documents() -> None:
    assert _lines(reads("文档.md", "# 短信\n\n同一号码每天最多发送 8 条。其余说明略。")) == ["同一号码每天最多发送 8 条。"]


@pytest.mark.design("K-10")
def test_what_failed_or_is_tagged_already_gives_none() -> None:
    line = "# the limit is 40 seconds for all"
    assert _lines(runs("cat a.py", line, failed=True)) == []
    assert _lines(reads("a.py", "# NOTE: the limit is 40 seconds for all")) == []
    items = found(user("go"), reads("a.py", "# NOTE: the limit is 40 seconds for all"))
    assert [text for text in texts(items, Section.KNOWLEDGE) if "40 seconds" in text] == [
        "# NOTE: the limit is 40 seconds for all"
    ]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("sentence", "score"),
    [
        ("the pool caps workers at 40", 0.8),
        ("the pool must stop at 40", 1.4),
        ("the pool must cap all of them", 0.9),
        ("the pool must keep `fast_path` set", 0.85),
        ("the pool stops at 40 after a day", 1.1),
        ("the pool stops at 40 or 50 after a day or each night", 1.6),
        ("the pool stops at 40, 50 and 60 for the day", 1.3),
    ],
)
def test_how_much_a_remark_weighs(sentence: str, score: float) -> None:
    assert _weight(reads("a.py", f"# {sentence}")) == pytest.approx(0.9 * score)


@pytest.mark.design("K-10")
def test_in_a_changed_file_it_weighs_more() -> None:
    shown = "# the pool stops at 40"
    assert _weight(reads("a.py", shown), edits("a.py")) == pytest.approx(0.9 * 1.2)
    assert _weight(reads("a.py", shown), edits("b.py")) == pytest.approx(0.9 * 0.8)


@pytest.mark.design("K-10")
def test_what_many_files_say_weighs_less() -> None:
    def weights(files: int, text: str = "# the pool stops at 40") -> list[float]:
        shown = [reads(f"{i}.py", text.replace("40", str(40 + i))) for i in range(files)]
        return [one.weight for one in remarks(gather(record(*shown)), 10_000)]

    assert weights(2) == pytest.approx([0.72] * 2)
    assert weights(3) == pytest.approx([0.24] * 3)
    same = [reads(f"{i}.py", "# the pool stops at 40") for i in range(3)]
    assert _weight(*same) == pytest.approx(0.24)
    again = [reads("a.py", "# the pool stops at 40") for _ in range(4)]
    assert _weight(*again) == pytest.approx(0.72)


@pytest.mark.design("K-10")
def test_the_best_stand_first_among_equals_the_newest_and_the_room_ends_them() -> None:
    shown = [
        reads("a.py", "# the pool stops at 40"),
        reads("b.py", "# the lane stops at 41 or"),
        reads("c.py", "# the pool must stop at 42"),
    ]
    assert _lines(*shown) == ["the pool must stop at 42", "the lane stops at 41 or", "the pool stops at 40"]
    assert _lines(*shown, most=24 + 23) == ["the pool must stop at 42", "the lane stops at 41 or"]
    assert _lines(*shown, most=24 + 22) == ["the pool must stop at 42"]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(("line", "kept"), [
    ("# NOTE the index is rebuilt at midnight", True),
    ("// TODO drop the shim in 3.2", True),
    ("# 注意 这里的锁不可重入", True),
    ("x = NOTE the index", False),
])  # fmt: skip
def test_a_tag_at_the_head_of_a_comment_needs_no_colon(line: str, kept: bool) -> None:
    assert (line in texts(found(user("go"), reads("a.py", line)), Section.KNOWLEDGE)) is kept
