"""Rule files that are no longer what was loaded (P-5, P-7)."""

import os

import msgspec
import pytest

from sojourn.config.settings import Instructions
from sojourn.prefix import RuleStamp, changed_rules
from sojourn.prefix.sources import changed
from sojourn.prefix.sources.instructions import find, within_budget


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("rules v1")
    return folder


def loaded(repo):
    found = within_budget(find(repo, Instructions(), repo.parent / "config"), 10_000)
    return [stamp for file in found.files for stamp in file.stamps]


def seen(stamps):
    return [(change.path, change.kind) for change in changed_rules(stamps)]


@pytest.mark.design("P-5", "P-7")
@pytest.mark.report(55, 117)
def test_other_bytes_are_a_change_another_time_is_not(repo):
    file = repo / "AGENTS.md"
    stamps = loaded(repo)
    assert seen(stamps) == []
    os.utime(file, (1, 1))
    assert seen(stamps) == []
    file.write_text("rules v2")
    assert seen(stamps) == [(str(file), "changed")]
    (one,) = changed_rules(stamps)
    file.write_text("rules v3")
    assert changed_rules(stamps)[0].sha256 != one.sha256, "another change can be told from the one before"
    file.write_text("rules v1")
    assert seen(stamps) == []
    file.unlink()
    assert seen(stamps) == [(str(file), "gone")]
    assert changed_rules(stamps)[0].sha256 == ""


@pytest.mark.design("P-5")
def test_a_file_of_the_same_size_and_time_is_not_read(repo, monkeypatch):
    stamps = loaded(repo)
    monkeypatch.setattr(changed, "head", lambda *_: pytest.fail("read"))
    assert changed_rules(stamps) == ()
    os.utime(repo / "AGENTS.md", ns=(1, stamps[0].modified + 1))
    with pytest.raises(pytest.fail.Exception):
        changed_rules(stamps)


@pytest.mark.design("P-5")
def test_links_and_includes_are_watched_too(repo):
    (repo / "AGENTS.md").write_text("real.md")
    (repo / "real.md").write_text("@more.md\ntext")
    (repo / "more.md").write_text("more")
    stamps = loaded(repo)
    assert [(stamp.path, stamp.at) for stamp in stamps] == [
        (str(repo / "AGENTS.md"), str(repo / "AGENTS.md")),
        (str(repo / "AGENTS.md"), str(repo / "real.md")),
        (str(repo / "more.md"), str(repo / "more.md")),
    ]
    (repo / "real.md").write_text("@more.md\nother")
    assert seen(stamps) == [(str(repo / "AGENTS.md"), "changed")]
    (repo / "more.md").write_text("less")
    (repo / "AGENTS.md").write_text("more.md")
    assert seen(stamps) == [(str(repo / "AGENTS.md"), "changed"), (str(repo / "more.md"), "changed")], "each path once"


@pytest.mark.design("P-5", "P-7")
def test_a_stamp_can_be_stored(repo):
    stamps = loaded(repo)
    assert msgspec.json.decode(msgspec.json.encode(stamps), type=list[RuleStamp]) == stamps
