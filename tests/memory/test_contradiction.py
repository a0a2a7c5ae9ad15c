"""Lines that say the same, and lines that contradict each other (K-12)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.memory.contradiction import contradicted, line_of, same

CONTRADICTIONS = [
    ("Package manager is npm", "Package manager is pnpm"),
    ("The package manager is npm.", "Package manager is now pnpm"),
    ("The API port is 8080", "API listens on port 9090 now"),
    ("Retries are capped at 3", "Retries are capped at 5"),
    ("Retries: 3", "Retries = 5"),
    ("Requires Node 20", "Requires Node 22"),
    ("Staging database host is db-1.internal", "Staging database host is db-2.internal"),
    ("The manifest goes to out/v1", "The manifest goes to out/v2"),
    ("Timeout of fetch = 30s", "Timeout of fetch = 45s"),
    ("Never push to main", "Always push to main"),
    ("Do not push to main", "Push to main"),
    ("默认端口是 8080", "默认端口改为 9090"),
    ("包管理器是npm", "包管理器改为pnpm"),
    ("部署必须用 make ship-1", "部署必须用 make ship-2"),
    ("不能推送到主干", "推送到主干"),
]
BOTH_HOLD = [
    ("Tests are run with pytest", "Tests are slow on CI"),
    ("Retries of fetch are capped at 3", "Retries of upload are capped at 5"),
    ("Unit tests are in tests/unit", "Integration tests are in tests/integration"),
    ("Worker 1 runs uploads", "Worker 2 runs downloads"),
    ("Port 8080 is taken", "Port 9090 is taken"),
    ("Unit tests use pytest", "Unit tests use hypothesis"),
    ("Step 1 of deploy: build image", "Step 2 of deploy: push image"),
    ("The parser uses recursion", "The lexer uses recursion"),
    ("Ada owns the parser", "Bob owns the parser"),
    ("The parser is slow", "The parser is recursive"),
    ("API port is 8080", "Database port is 5432"),
    ("The build needs Node 20", "The lint needs Node 22"),
    ("Package manager is pnpm", "Package manager is pnpm 9"),
    ("Package manager is pnpm", "Use it"),
    ("Never push to main", "Never push to release"),
    ("Do not push to main", "Push to main on 5 days"),
    ("The cache is kept for 5 days", "Logs are kept for 9 days"),
    ("数据库端口是 5432", "缓存端口是 6379"),
    ("Build order is one two three four five", "Build order is six"),
    ("", "Package manager is pnpm"),
    ("The build owner is Ada Bell", "The build owner is Ada"),
    ("The build owner is Ada", "The build owner is Ada Bell"),
    ("Use gas", "Use ga"),
    ("口是 1", "味是 1"),
    ("8080", "9090"),
]


@pytest.mark.design("K-12")
@pytest.mark.parametrize(("old", "new"), CONTRADICTIONS)
def test_another_value_of_the_same_subject(old: str, new: str) -> None:
    others = ["The tide is measured at noon", "部署前备份", old, "Logs go to var/log"]
    assert contradicted(line_of(new), [line_of(one) for one in others]) == 2
    assert not same(line_of(old), line_of(new))


@pytest.mark.design("K-12")
@pytest.mark.parametrize(("old", "new"), BOTH_HOLD)
def test_what_may_both_hold(old: str, new: str) -> None:
    assert contradicted(line_of(new), [line_of(old)]) is None
    assert not same(line_of(old), line_of(new))


@pytest.mark.design("K-12")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm.", "use  PNPM"),
        ("The port is 8437", "the ports are 8437"),
        ("Do not push", "Never push"),
        ("端口是 8437。", "端口为8437"),
        ("Retries: `3`", "retries = 3"),
        ("Feed cats", "Feed cat"),
    ],
)
def test_the_same_in_other_dress(one: str, other: str) -> None:
    assert same(line_of(one), line_of(other))
    assert contradicted(line_of(one), [line_of(other)]) is None


@pytest.mark.design("K-12")
def test_the_most_alike_is_the_one() -> None:
    olds = ["API port of staging is 8080", "API port is 8081", "The API port is 8082 for all"]
    assert contradicted(line_of("API port is 9090"), [line_of(one) for one in olds]) == 1
    assert contradicted(line_of("API port is 9090"), []) is None


@pytest.mark.design("K-12")
@given(st.text("ab12 =:/是不用端口.'`-", max_size=20), st.lists(st.text("ab12 =:/是不用端口.'`-", max_size=20), max_size=4))
@settings(max_examples=150, deadline=None)
def test_it_answers_for_any_lines(new: str, olds: list[str]) -> None:
    which = contradicted(line_of(new), [line_of(old) for old in olds])
    assert which is None or 0 <= which < len(olds)
    assert contradicted(line_of(new), [line_of(new)]) is None
