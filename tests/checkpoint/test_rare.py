"""What is a value that nobody could guess, and what is prose."""

import pytest

from sojourn.checkpoint.extract.rare import codes, labelled, marked, measures, pasted, prose, telling

pytestmark = pytest.mark.design("K-10")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("quote KLM-4471 in it", ["KLM-4471"]),
        ("flag ff_kite_91ab.", ["ff_kite_91ab"]),
        ("把 KLM-4471写上", ["KLM-4471"]),
        ("from 2031-04-02 on, or 2031-04-02T07:17Z", ["2031-04-02", "2031-04-02T07:17Z"]),
        ("ask j.doe-77@corp.example!", ["j.doe-77@corp.example"]),
        ("db-7.eu.internal:5433 and cache.eu.internal", ["db-7.eu.internal:5433", "cache.eu.internal"]),
        ("10.4.0.17:8443 or 10.4.0.18", ["10.4.0.17:8443", "10.4.0.18"]),
        ("at https://wiki.example/x?y=1。", ["https://wiki.example/x?y=1"]),
        ("fixed in 7fe91bc", ["7fe91bc"]),
        ("needs 4.11.2 of it", ["4.11.2"]),
        ("the KX90B board", ["KX90B"]),
        ("8f14e45f-ceea-467f-a0e6-3b1c9d2a7f10", ["8f14e45f-ceea-467f-a0e6-3b1c9d2a7f10"]),
        ("to deploy/kite/rollout-3391.yaml.", ["deploy/kite/rollout-3391.yaml"]),
        ("in src/a.py", ["src/a.py"]),
        ("in src/deep/tide now, not in src/deep", ["src/deep/tide"]),
        ("UTF-8, SHA-256, RFC-7231, x86_64, step-3, 3-way, non-zero", []),
        ("read and/or write, 5/12, input/output", []),
        ("port 8437 for 30 s", []),
        ("defaced or 1234567", []),
    ],
)
def test_codes(text: str, found: list[str]) -> None:
    assert codes(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/a_1.py, build/x-7/y and /srv/dumps", []),
        ("under /srv/dumps/q-19 and ~/spool/7", ["/srv/dumps/q-19", "~/spool/7"]),
        ("/srv/dumps/q-19.py", []),
        ("s3://kite-golden-17/base and KX-7", ["s3://kite-golden-17/base", "KX-7"]),
    ],
)
def test_files_mark_nothing(text: str, found: list[str]) -> None:
    assert marked(text) == found


def test_measures_leave_out_standards() -> None:
    assert measures("at 37 of them, 5 ms after UTF-8 and SHA-256") == ["37", "5 ms"]


@pytest.mark.parametrize(
    ("numbers", "says"),
    [([], False), (["37"], False), (["370"], True), (["5%"], True), (["5 ms"], True), (["37", "5 天"], True)],
)
def test_a_number_that_only_counts_tells_nothing(numbers: list[str], says: bool) -> None:
    assert telling(numbers) is says


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("the port is open", True),
        ("端口", True),
        ("端", False),
        ("harbor inlet jolt kernel 512", False),
        ("total = the + sum;", False),
        ("2031-04-02 the log says", False),
        ("09:07:20.570 it is the phase", False),
        ("phase a=1 b=2 of the log", False),
        ("    at load (theme.ts:3)", False),
        ("$ run the tests", False),
        ("src/a.py:12 is the line", False),
    ],
)
def test_prose(line: str, says: bool) -> None:
    assert prose(line) is says


def test_pasted_and_labelled_lines() -> None:
    assert pasted("x => y")
    assert not pasted("Final call: KX-71aa.")
    assert labelled("Reviewer: j.doe-77@corp.example")
    assert labelled("评审人：KX-1")
    assert not labelled("Reviewer: one of us")
    assert not labelled("7: KX-1")
