"""Rules that were kept for other agents (P-5)."""

import os
import sys

import pytest

from sojourn.base import UserMistake, WorkFailed
from sojourn.prefix import copy_rules, found_elsewhere


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.design("P-5")
@pytest.mark.report(116)
def test_what_other_agents_keep_is_found(tmp_path):
    assert found_elsewhere(tmp_path) == ()
    codex = put(tmp_path / ".codex" / "AGENTS.md", "mine")
    claude = put(tmp_path / ".claude" / "CLAUDE.md", "mine too")
    put(tmp_path / ".gemini" / "GEMINI.md", " \n")
    (tmp_path / ".qwen" / "QWEN.md").mkdir(parents=True)
    assert found_elsewhere(tmp_path) == (claude, codex)
    if sys.platform != "win32":
        (tmp_path / ".config" / "opencode").mkdir(parents=True)
        (tmp_path / ".config" / "opencode" / "AGENTS.md").symlink_to(codex)
        assert found_elsewhere(tmp_path) == (claude, codex), "one real file once"


@pytest.mark.design("P-5")
def test_a_copy_is_ours_private_and_never_replaces(tmp_path):
    source = put(tmp_path / ".claude" / "CLAUDE.md", "规则\r\nnever\r\n".encode("utf-16"))
    target = copy_rules(source, tmp_path / "config" / "sojourn")
    assert target == tmp_path / "config" / "sojourn" / "AGENTS.md"
    assert target.read_bytes() == "规则\nnever\n".encode()
    if os.name == "posix":
        assert target.stat().st_mode & 0o777 == 0o600
        assert target.parent.stat().st_mode & 0o777 == 0o700
    put(source, "other")
    with pytest.raises(UserMistake, match="there already"):
        copy_rules(source, target.parent)
    assert target.read_bytes() == "规则\nnever\n".encode()


@pytest.mark.design("P-5")
def test_what_cannot_be_copied_is_said(tmp_path):
    with pytest.raises(UserMistake, match="could not be read"):
        copy_rules(tmp_path / "gone.md", tmp_path / "config")
    with pytest.raises(UserMistake, match="not text"):
        copy_rules(put(tmp_path / "a.md", b"\xff\xff\x00\x81\x00\x01\x80"), tmp_path / "config")
    with pytest.raises(UserMistake, match="100 KiB"):
        copy_rules(put(tmp_path / "b.md", "x\n" * 51_201), tmp_path / "config")
    assert not (tmp_path / "config" / "AGENTS.md").exists()
    assert copy_rules(put(tmp_path / "b.md", "x\n" * 51_200), tmp_path / "config").stat().st_size == 102_400
    put(tmp_path / "file", "x")
    with pytest.raises(WorkFailed):
        copy_rules(tmp_path / "b.md", tmp_path / "file" / "config")
