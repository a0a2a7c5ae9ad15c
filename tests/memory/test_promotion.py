"""Facts that outlive their session: sections, provenance, contradictions, no overwriting (K-12, reports 79, 81, 86, 87)."""
# ruff: noqa: ASYNC240  (one test, one loop: nothing else waits)

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.shelf import MEMORY, OTHER_PROJECT, OWN, PROJECT, session
from sojourn.base import UserMistake, WorkFailed
from sojourn.memory import LOADED, Document, Locator, MemoryStore, Promoted, path_of, promote, promotion
from sojourn.memory.outline import bullets, put_under
from sojourn.memory.promotion import merge
from sojourn.memory.revise import difference, revise
from sojourn.meter import estimate_text, total


def fact(text: str, section: str = "Rules", seq: int = 12) -> Promoted:
    return Promoted(section, text, "ses_1", seq, "2026-11-30")  # type: ignore[arg-type]


@pytest.mark.design("K-12")
@pytest.mark.report(87)
def test_facts_stand_under_their_heading_with_their_source(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        first = await promote(
            store,
            PROJECT,
            [fact("Never push to main"), fact("The port\n is 8437", "Durable knowledge", 15), fact("Use uv", seq=16)],
        )
        assert path_of(tmp_path, MEMORY).read_text() == (
            "# Project memory\n\n## Rules\n\n- Never push to main (ses_1 m12, 2026-11-30)\n- Use uv (ses_1 m16, 2026-11-30)\n\n"
            "## Durable knowledge\n\n- The port is 8437 (ses_1 m15, 2026-11-30)\n"
        )
        assert first.added == tuple(
            fact(text, seq=seq).line for text, seq in (("Never push to main", 12), ("The port is 8437", 15), ("Use uv", 16))
        )
        assert (first.replaced, first.known, first.warning) == ((), (), "")
        assert first.document == await store.read(MEMORY)
        again = await promote(store, PROJECT, [fact("never push to MAIN.", seq=40), fact("  ")])
        assert (again.added, again.replaced, again.known) == ((), (), ("never push to MAIN.",))
        assert again.document == first.document
        assert await store.versions(MEMORY) == ()
        assert (await store.search("8437", OWN))[0].line == 10

    asyncio.run(main())


@pytest.mark.design("K-12")
def test_a_contradiction_replaces_the_line_in_its_place(tmp_path: Path) -> None:
    async def main() -> None:
        store = session(tmp_path)
        path = path_of(tmp_path, MEMORY)
        path.parent.mkdir(parents=True)
        before = (
            "# Tide\n\nBy hand.\n\n## Durable knowledge\n\n- API port is 8080 (ses_0 m3, 2026-10-01)\n- Logs go to var/log\n\n"
            "## Facts\n\n- [package manager](facts/package-manager.md) - Package manager is npm\n"
        )
        path.write_text(before)
        done = await promote(
            store, PROJECT, [fact("API port is 9090", "Decisions"), fact("Package manager is pnpm", "Decisions")]
        )
        old, new = "- API port is 8080 (ses_0 m3, 2026-10-01)", "- API port is 9090 (ses_1 m12, 2026-11-30)"
        assert done.replaced == ((old, new),)
        assert done.added == ("- Package manager is pnpm (ses_1 m12, 2026-11-30)",)  # the index line of a fact is not touched
        assert path.read_text() == before.replace(old, new) + (
            "\n## Decisions\n\n- Package manager is pnpm (ses_1 m12, 2026-11-30)\n"
        )
        (version,) = await store.versions(MEMORY)
        assert (version.text, version.who) == (before, "writer")

    asyncio.run(main())


@pytest.mark.design("K-12")
def test_two_facts_of_one_promotion_are_compared_too() -> None:
    merged = merge("", [fact("API port is 8080"), fact("API port is 9090", seq=13), fact("api port is 9090", seq=14)])
    assert merged.text == "# Project memory\n\n## Rules\n\n- API port is 9090 (ses_1 m13, 2026-11-30)\n"
    assert merged.known == ("api port is 9090",)
    assert merge("- API port is 8080\n", [fact("API port is 9090")]).text == "- API port is 9090 (ses_1 m12, 2026-11-30)\n"
    assert merge("x\n\n\n", [fact(" ")]).text == "x\n\n\n"
    assert merge("", []).text == ""


@pytest.mark.design("K-12")
def test_a_warning_above_what_a_rebuild_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = session(tmp_path)
        done = await promote(store, PROJECT, [fact("a rule")])
        assert done.document is not None
        tokens = total(estimate_text(done.document.text))
        monkeypatch.setattr(promotion, "LOADED", tokens)
        assert (await promote(store, PROJECT, [])).warning == ""
        monkeypatch.setattr(promotion, "LOADED", tokens - 1)
        warning = (await promote(store, PROJECT, [])).warning
        assert f"about {tokens:,} tokens" in warning
        assert str(path_of(tmp_path, MEMORY)) in warning
        assert (await promote(session(tmp_path / "none"), PROJECT, [])).document is None

    assert LOADED == 10_000
    asyncio.run(main())


@pytest.mark.design("K-12", "Y-2")
@pytest.mark.report(85)
def test_a_writer_promotes_into_its_own_project_only(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(UserMistake, match="another project"):
            await promote(session(tmp_path), OTHER_PROJECT, [fact("a")])
        assert list(tmp_path.iterdir()) == []

    asyncio.run(main())


class Interrupted:
    """A store in which somebody writes between each read and the write that follows, so many times."""

    def __init__(self, store: MemoryStore, path: Path, times: int) -> None:
        self.store, self.path, self.times = store, path, times
        self.edits = 0

    async def read(self, locator: Locator) -> Document | None:
        document = await self.store.read(locator)
        if self.times:
            self.times -= 1
            self.path.write_text(self.path.read_text().replace("- mine", "- mine!"))
        return document

    async def edit(self, locator: Locator, old: str, new: str, *, who: str) -> Document:
        self.edits += 1
        return await self.store.edit(locator, old, new, who=who)  # type: ignore[arg-type]


@pytest.mark.design("K-12", "Y-2")
@pytest.mark.report(79, 81, 86)
def test_what_is_written_while_the_writer_is_at_work_stays(tmp_path: Path) -> None:
    async def main() -> None:
        path = path_of(tmp_path, MEMORY)
        path.parent.mkdir(parents=True)
        path.write_text("## Rules\n- mine\n")
        store = Interrupted(session(tmp_path), path, 3)
        await promote(store, PROJECT, [fact("a rule")])  # type: ignore[arg-type]
        assert path.read_text() == f"## Rules\n- mine!!!\n{fact('a rule').line}\n"
        assert store.edits == 4

    asyncio.run(main())


@pytest.mark.design("K-12")
def test_a_user_who_edits_the_same_line_is_not_written_over(tmp_path: Path) -> None:
    async def main() -> None:
        path = path_of(tmp_path, MEMORY)
        path.parent.mkdir(parents=True)
        path.write_text("- a\n- b\n")
        store = session(tmp_path)
        seen: list[str] = []

        def change(text: str) -> str:
            seen.append(text)
            if len(seen) == 1:
                path.write_text("- a\n- b, by hand\n")
            return text.replace("- b", "- c")

        assert (await revise(store, MEMORY, change, who="writer")) == await store.read(MEMORY)
        assert path.read_text() == "- a\n- c, by hand\n"
        assert seen == ["- a\n- b\n", "- a\n- b, by hand\n"]

        def always(text: str) -> str:
            path.write_text(text.replace("a\n", "aa\n"))
            return text.replace("- a", "- q")

        with pytest.raises(WorkFailed, match="being changed all the time"):
            await revise(store, MEMORY, always, who="writer")
        assert path.read_text() == f"- {'a' * 21}\n- c, by hand\n"

    asyncio.run(main())


LINES = st.text("ab\n", max_size=12)


@pytest.mark.design("K-12")
@given(LINES.filter(bool), LINES)
@settings(max_examples=200, deadline=None)
def test_a_difference_is_one_unambiguous_edit(before: str, after: str) -> None:
    old, new = difference(before, after)
    assert before.find(old) == before.rfind(old) >= 0
    assert before.replace(old, new) == after


@pytest.mark.design("K-12")
def test_a_difference_is_small() -> None:
    assert difference("a\nb\nc\nd\n", "a\nb\nx\nd\n") == ("c\n", "x\n")
    assert difference("a\nb\nc\n", "a\nb\nnew\nc\n") == ("b\nc\n", "b\nnew\nc\n")
    assert difference("a\nb\n", "a\nb\nnew\n") == ("b\n", "b\nnew\n")
    assert difference("a\nb\nc\n", "a\nc\n") == ("b\n", "")
    assert difference("x\na\nx\n", "x\na\ny\n") == ("a\nx\n", "a\ny\n")


@pytest.mark.design("K-12")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "## Rules|| - new"),
        ("# T", "# T||## Rules|| - new"),
        ("# T||||", "# T||## Rules|| - new"),
        ("## Rules", "## Rules|| - new"),
        ("## rules ##|text", "## rules ##|text| - new"),
        ("## Rules|| - a|||## Next", "## Rules|| - a| - new||## Next"),
        ("## Rules| - a|### Inner| - b|# Next", "## Rules| - a|### Inner| - b| - new||# Next"),
        ("### Rules| - a|## Next", "### Rules| - a| - new||## Next"),
        ("## Rules| - a|## Rules| - b", "## Rules| - a| - new||## Rules| - b"),
        ("## Rules|```|## No|```", "## Rules|```|## No|```| - new"),
        ("```|## Rules|````|# x|``|~~~", "```|## Rules|````|# x|``|~~~||## Rules|| - new"),
        ("```|## Rules|``` x|``", "```|## Rules|``` x|``| - new"),
        ("````|```|## Rules", "````|```|## Rules|| - new"),
        ("````|```|## Rules|```|## Next", "````|```|## Rules|```|## Next||## Rules|| - new"),
        ("~~~|```|## Rules|~~~", "~~~|```|## Rules|~~~||## Rules|| - new"),
    ],
)
def test_a_line_is_put_at_the_end_of_its_section(text: str, expected: str) -> None:
    lines = text.split("|") if text else []
    assert put_under(lines, "Rules", " - new") == expected.split("|")


@pytest.mark.design("K-12")
def test_bullets_with_the_heading_above_them() -> None:
    text = "- a\n# T #\n* b  \n+ c\n  - inner\n-no\n```\n- code\n```\n## U\n- d\n- \n"
    assert list(bullets(text.split("\n"))) == [(0, "", "a"), (2, "T", "b"), (3, "T", "c"), (10, "U", "d")]


@pytest.mark.design("K-12")
@given(
    st.lists(st.sampled_from(["# T", "## Rules", "- a", "- Port is 1", "", "```", "text", "## Facts"]), max_size=8),
    st.lists(st.sampled_from(["a", "b", "Port is 1", "Port is 2", "never a"]), max_size=4),
)
@settings(max_examples=100, deadline=None)
def test_promotion_loses_no_line_but_contradicted_ones(lines: list[str], facts: list[str]) -> None:
    text = "\n".join(lines)
    merged = merge(text, [fact(one) for one in facts])
    replaced = [old for old, _ in merged.replaced]
    left = merged.text.split("\n")
    assert all(left.count(line) + replaced.count(line) >= lines.count(line) for line in set(lines) if line.strip())
    assert len(merged.added) + len(merged.replaced) + len(merged.known) == len(facts)
    assert merge(merged.text, [fact(one) for one in facts[-1:]]).text == merged.text
