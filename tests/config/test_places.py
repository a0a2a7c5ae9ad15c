import pytest

from sojourn.config.places import line_of

TEXT = """\
# language = "no"
language = "en"

[ compaction ]  # when
auto=true
max_context."a/b" = 1

[compaction . "x.y"]
z = 1
'q' = 2

[[many]]
one = 1
inline = { two = 2 }
"""


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("language",), 2),
        (("compaction",), 4),
        (("compaction", "auto"), 5),
        (("compaction", "max_context", "a/b"), 6),
        (("compaction", "max_context"), 4),
        (("compaction", "x.y"), 8),
        (("compaction", "x.y", "z"), 9),
        (("compaction", "x.y", "q"), 10),
        (("many", "one"), 13),
        (("many", "inline", "two"), 14),
        (("none", "at", "all"), 1),
    ],
)
def test_the_line_of_a_key_or_of_the_table_around_it(path: tuple[str, ...], line: int) -> None:
    assert line_of(TEXT, path) == line


@pytest.mark.design("S-9")
def test_the_first_of_two_lines_counts() -> None:
    assert line_of("a.b = 1\na.c = 2\n[a]\n", ("a", "c")) == 2
    assert line_of("[t]\nx = 1\n[u]\nx = 2\n[t]\nx = 3\n", ("t", "x")) == 2
