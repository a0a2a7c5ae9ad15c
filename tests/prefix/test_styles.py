"""Output styles: packaged, the user's, the project's (P-9)."""

import sys

import pytest

from sojourn.base import UserMistake
from sojourn.prefix import Style, load_style


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    (folder / "pkg").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


@pytest.fixture
def config(tmp_path):
    return tmp_path / "config"


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def known(cwd, config):
    """The names that a mistake is answered with."""
    with pytest.raises(UserMistake) as caught:
        load_style("none such", cwd, config)
    return caught.value.next_step


@pytest.mark.design("P-9")
def test_packaged_styles(repo, config):
    assert known(repo, config) == "Known: concise, explaining."
    for name in ("concise", "explaining"):
        style = load_style(name, repo, config)
        assert (style.name, style.source) == (name, "sojourn")
        assert style.description
        assert not style.text.startswith("---")


@pytest.mark.design("P-9")
def test_the_project_goes_before_the_user_and_the_user_before_ours(repo, config):
    mine = put(config / "styles" / "concise.md", "mine")
    assert load_style("concise", repo / "pkg", config) == Style("concise", "mine", "", str(mine))
    far = put(repo / ".sojourn" / "styles" / "concise.md", "\nfar\n")
    assert load_style("concise", repo / "pkg", config).source == str(far)
    put(repo / "pkg" / ".sojourn" / "styles" / "any.md", "---\nname: concise\ndescription: near\n  one\n---\nnear\n")
    near = load_style("concise", repo / "pkg", config)
    assert (near.text, near.description) == ("near", "near one")
    assert load_style("concise", repo, config).text == "far"
    assert load_style("explaining", repo, config).source == "sojourn"
    assert known(repo / "pkg", config) == "Known: concise, explaining."


@pytest.mark.design("P-9")
def test_outside_a_repository_the_working_folder_only(tmp_path, config):
    put(tmp_path / "w" / ".sojourn" / "styles" / "above.md", "above")
    put(tmp_path / "w" / "in" / ".sojourn" / "styles" / "here.md", "here")
    put(tmp_path / "w" / "in" / ".sojourn" / "styles" / "b.md", "---\nname: twice\n---\nsecond")
    put(tmp_path / "w" / "in" / ".sojourn" / "styles" / "a.md", "---\nname: twice\n---\nfirst")
    assert known(tmp_path / "w" / "in", config) == "Known: concise, explaining, here, twice."
    assert load_style("twice", tmp_path / "w" / "in", config).text == "first", "of two files the first by name"
    with pytest.raises(UserMistake, match="there is no output style above"):
        load_style("above", tmp_path / "w" / "in", config)


@pytest.mark.design("P-9")
def test_an_unknown_name_is_answered_with_the_known_ones(repo, config):
    put(config / "styles" / "formal.md", "Be formal.")
    for name in ("brief", "../config/styles/formal", "Formal", ""):
        with pytest.raises(UserMistake, match="there is no output style") as caught:
            load_style(name, repo, config)
        assert caught.value.next_step == "Known: concise, explaining, formal."


@pytest.mark.design("P-9")
def test_a_style_that_cannot_be_used_says_why(repo, config):
    put(config / "styles" / "concise.md", "x" * 8_193)
    put(config / "styles" / "empty.md", "---\nname: nothing\n---\n\n")
    put(config / "styles" / "binary.md", b"\xff\xff\x00\x81\x00\x01\x80")
    (config / "styles" / "folder.md").mkdir()
    for name, said in (
        ("concise", "longer than 8192"),
        ("nothing", "says nothing"),
        ("binary", "not text"),
        ("folder", "could not be read"),
    ):
        with pytest.raises(UserMistake, match=said) as caught:
            load_style(name, repo, config)
        assert caught.value.next_step == "Known: explaining."
    put(config / "styles" / "concise.md", "x" * 8_192)
    assert len(load_style("concise", repo, config).text) == 8_192


@pytest.mark.design("P-9", "Y-6")
def test_a_projects_styles_can_be_left_out(repo, config):
    put(repo / ".sojourn" / "styles" / "concise.md", "theirs")
    put(repo / ".sojourn" / "styles" / "own.md", "theirs")
    put(config / "styles" / "mine.md", "mine")
    assert load_style("concise", repo, config).text == "theirs"
    assert load_style("concise", repo, config, project=False).source == "sojourn"
    assert load_style("mine", repo, config, project=False).text == "mine"
    with pytest.raises(UserMistake, match="there is no output style own") as left_out:
        load_style("own", repo, config, project=False)
    assert left_out.value.next_step == "Known: concise, explaining, mine. The folder's own are left out: it is not trusted."
    with pytest.raises(UserMistake) as unknown:
        load_style("none", repo, config)
    assert unknown.value.next_step == "Known: concise, explaining, mine, own."


@pytest.mark.skipif(sys.platform == "win32", reason="needs links of POSIX")
@pytest.mark.design("P-9", "T-9")
def test_a_projects_style_cannot_lead_out_of_it(repo, config, tmp_path):
    put(tmp_path / "secret", "key")
    for folder in (repo / ".sojourn" / "styles", config / "styles"):
        folder.mkdir(parents=True)
        (folder / "s.md").symlink_to(tmp_path / "secret")
    with pytest.raises(UserMistake, match="leads out of"):
        load_style("s", repo, config)
    assert load_style("s", tmp_path, config).text == "key", "the user's own link may lead anywhere"
