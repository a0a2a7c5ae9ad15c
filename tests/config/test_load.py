from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sojourn.base import UserMistake
from sojourn.config import CheckpointSettings, Compaction, Loaded, Settings, load


class Place:
    """A user's folder and a project's folder in a temporary home."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user = root / "home" / "config" / "config.toml"
        self.project = root / "project" / ".sojourn" / "config.toml"
        for path in (self.user, self.project):
            path.parent.mkdir(parents=True)

    def load(self, *overrides: str, **environ: str) -> Loaded:
        return self.load_all(overrides, environ)

    def load_all(self, overrides: Sequence[str], environ: Mapping[str, str]) -> Loaded:
        return load(
            project=self.root / "project",
            overrides=overrides,
            environ={"SOJOURN_HOME": str(self.root / "home"), **environ},
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def mistake(place: Place, *overrides: str, **environ: str) -> UserMistake:
    with pytest.raises(UserMistake) as caught:
        place.load(*overrides, **environ)
    return caught.value


@pytest.mark.design("S-9")
def test_without_files_the_defaults_hold(place: Place) -> None:
    got = place.load()
    assert got.settings == Settings()
    assert set(got.origin.values()) == {"default"}
    assert "compaction.trigger_ratio" in got.origin
    assert "language" in got.origin
    assert load(project=None, environ={"SOJOURN_HOME": str(place.root / "nowhere")}).settings == Settings()


@pytest.mark.design("S-9")
def test_each_layer_wins_over_the_one_before(place: Place) -> None:
    key = "compaction.trigger_ratio"
    place.user.write_text('language = "zh"\n[compaction]\ntrigger_ratio = 0.5\npolicy = "economy"\n')
    got = place.load()
    assert (got.settings.compaction.trigger_ratio, got.origin[key]) == (0.5, f"user: {place.user}:3")
    place.project.write_text("compaction.trigger_ratio = 0.6\n")
    got = place.load()
    assert (got.settings.compaction.trigger_ratio, got.origin[key]) == (0.6, f"project: {place.project}:1")
    got = place.load(SOJOURN_COMPACTION_TRIGGER_RATIO="0.7")
    expected = (0.7, "environment: SOJOURN_COMPACTION_TRIGGER_RATIO")
    assert (got.settings.compaction.trigger_ratio, got.origin[key]) == expected
    got = place.load("compaction.trigger_ratio=0.8", SOJOURN_COMPACTION_TRIGGER_RATIO="0.7")
    assert (got.settings.compaction.trigger_ratio, got.origin[key]) == (0.8, "command line")
    got = place.load("compaction.trigger_ratio=0.8", "compaction.trigger_ratio=0.85")
    assert got.settings.compaction.trigger_ratio == 0.85
    # what one layer says alone stays
    assert (got.settings.compaction.policy, got.origin["compaction.policy"]) == ("economy", f"user: {place.user}:4")
    assert (got.settings.language, got.origin["language"]) == ("zh", f"user: {place.user}:1")
    assert got.origin["compaction.auto"] == "default"


@pytest.mark.design("S-9")
def test_no_project_no_project_file(place: Place) -> None:
    place.project.write_text("compaction.trigger_ratio = 0.6\n")
    home = {"SOJOURN_HOME": str(place.root / "home")}
    assert load(project=None, environ=home).settings == Settings()


@pytest.mark.design("S-9")
def test_tables_with_free_names_merge_entry_by_entry(place: Place) -> None:
    place.user.write_text('[compaction.max_context]\n"a/*" = "100K"\n"b/*" = 5_000\n\n[checkpoint.push_caps]\npins = "1K"\n')
    place.project.write_text('[compaction.max_context]\n"b/*" = "40%"\n[checkpoint]\npush_caps = { tasks = 300 }\n')
    got = place.load("checkpoint.push_caps.notes=2K", "compaction.max_context.c/gpt-4.1=30%", 'compaction.max_context."d/x"=9K')
    assert got.settings.compaction.max_context == {"a/*": "100K", "b/*": "40%", "c/gpt-4.1": "30%", "d/x": "9K"}
    assert got.settings.checkpoint.push_caps == {"pins": "1K", "tasks": 300, "notes": "2K"}
    assert got.origin["compaction.max_context.a/*"] == f"user: {place.user}:2"
    assert got.origin["compaction.max_context.b/*"] == f"project: {place.project}:2"
    assert got.origin["compaction.max_context.c/gpt-4.1"] == "command line"
    assert got.origin["checkpoint.push_caps.pins"] == f"user: {place.user}:6"
    assert got.origin["checkpoint.push_caps.tasks"] == f"project: {place.project}:4"
    assert got.origin["compaction.max_context"] == "command line"


@pytest.mark.design("S-9")
def test_a_number_replaces_a_table_and_a_table_a_number(place: Place) -> None:
    place.user.write_text('[compaction.max_context]\n"a/*" = "100K"\n')
    place.project.write_text("compaction.max_context = 64_000\n")
    got = place.load()
    assert got.settings.compaction.max_context == 64_000
    assert not [key for key in got.origin if key.startswith("compaction.max_context.")]
    assert got.origin["compaction.max_context"] == f"project: {place.project}:1"
    assert place.load("compaction.max_context.a/b=1K").settings.compaction.max_context == {"a/b": "1K"}


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("compaction.policy=economy", Compaction(policy="economy")),
        ('compaction.policy="economy"', Compaction(policy="economy")),
        (" compaction.policy = economy ", Compaction(policy="economy")),
        ("compaction.auto=false", Compaction(auto=False)),
        ("compaction.max_context=40%", Compaction(max_context="40%")),
        ("compaction.max_context=64K", Compaction(max_context="64K")),
        ("compaction.max_context=64_000", Compaction(max_context=64_000)),
        ("compaction.max_context={'a/*' = 9000}", Compaction(max_context={"a/*": 9_000})),
        ("compaction={auto = false, trigger_ratio = 0.5}", Compaction(auto=False, trigger_ratio=0.5)),
    ],
)
def test_overrides_are_toml_or_a_bare_word(place: Place, override: str, expected: Compaction) -> None:
    assert place.load(override).settings == Settings(compaction=expected)


@pytest.mark.design("S-9")
def test_a_list_by_override(place: Place) -> None:
    got = place.load('checkpoint.thresholds=["20%", "50K", 90000]')
    assert got.settings.checkpoint == CheckpointSettings(thresholds=("20%", "50K", 90_000))


@pytest.mark.design("S-9")
def test_a_value_cannot_smuggle_in_a_second_key(place: Place) -> None:
    assert "compaction.auto" in str(mistake(place, "compaction.auto=true\nlanguage = 'zh'"))


@pytest.mark.design("S-9")
@pytest.mark.parametrize("override", ["compaction.auto", "", "=3", " = 3"])
def test_what_is_no_override(place: Place, override: str) -> None:
    error = mistake(place, override)
    assert repr(override) in str(error)
    assert "--set" in error.next_step


@pytest.mark.design("S-9", "C-14")
@pytest.mark.parametrize("text", ["1", "true", "YES", "on", " 1 "])
def test_variables_switch_off(place: Place, text: str) -> None:
    got = place.load(SOJOURN_DISABLE_CHECKPOINT=text)
    assert (got.settings.checkpoint.enabled, got.settings.compaction.auto) == (False, True)
    assert got.origin["checkpoint.enabled"] == "environment: SOJOURN_DISABLE_CHECKPOINT"
    got = place.load(SOJOURN_DISABLE_AUTOCOMPACT=text)
    assert (got.settings.checkpoint.enabled, got.settings.compaction.auto) == (True, False)
    assert got.origin["compaction.auto"] == "environment: SOJOURN_DISABLE_AUTOCOMPACT"


@pytest.mark.design("S-9")
@pytest.mark.parametrize("text", ["0", "false", "No", "OFF", "", "  "])
def test_a_disabling_variable_that_says_no_changes_nothing(place: Place, text: str) -> None:
    place.project.write_text("[compaction]\nauto = false\n")
    got = place.load(SOJOURN_DISABLE_CHECKPOINT=text, SOJOURN_DISABLE_AUTOCOMPACT=text, SOJOURN_COMPACTION_TRIGGER_RATIO=" ")
    assert (got.settings.checkpoint.enabled, got.settings.compaction.auto) == (True, False)
    assert got.origin["checkpoint.enabled"] == "default"


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("SOJOURN_DISABLE_CHECKPOINT", "maybe"),
        ("SOJOURN_COMPACTION_TRIGGER_RATIO", "lots"),
        ("SOJOURN_COMPACTION_TRIGGER_RATIO", "1.5"),
    ],
)
def test_a_bad_variable_is_named(place: Place, variable: str, text: str) -> None:
    error = mistake(place, **{variable: text})
    assert f"environment: {variable}" in str(error)
    assert text in str(error)
    assert "Allowed" in error.next_step


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    ("text", "line", "key", "value", "allowed"),
    [
        ("# c\n\n[compaction]\npolicy = 'cheap'\n", 4, "compaction.policy", "'cheap'", "full, balanced, economy"),
        ("[compaction]\nauto = true\ntrigger_ratio = 0.29\n", 3, "compaction.trigger_ratio", "0.29", "0.3 to 0.99"),
        ("compaction.trigger_ratio = 1", 1, "compaction.trigger_ratio", "1", "0.3 to 0.99"),
        ("[compaction]\ntrigger_ratio = nan", 2, "compaction.trigger_ratio", "nan", "0.3 to 0.99"),
        ("[compaction]\nauto = 'yes'\n", 2, "compaction.auto", "'yes'", "true, false"),
        ("language = 'de'", 1, "language", "'de'", "auto, en, zh"),
        ("[checkpoint]\nreserved = true\n", 2, "checkpoint.reserved", "True", "64K"),
        ("[checkpoint]\nreserved = '1G'\n", 2, "checkpoint.reserved", "'1G'", "64K"),
        ("[checkpoint]\nreserved = -1\n", 2, "checkpoint.reserved", "-1", "64K"),
        ("[checkpoint]\nthresholds = '20%'\n", 2, "checkpoint.thresholds", "'20%'", "the trigger"),
        ("[checkpoint]\nthresholds = [\n '20%',\n '120%']\n", 2, "checkpoint.thresholds", "'120%'", "100%"),
        ("[checkpoint]\nthresholds = [0]\n", 2, "checkpoint.thresholds", "0", "Above 0"),
        ("[compaction]\nmax_context = 0\n", 2, "compaction.max_context", "0", "Above 0"),
        ("[compaction.max_context]\n'a/*' = 1\n\"b.c/*\" = 'x'\n", 3, 'compaction.max_context."b.c/*"', "'x'", "40%"),
        ("[compaction]\nmax_context = { 'a/*' = [] }\n", 2, "compaction.max_context", "{'a/*': []}", "40%"),
        ("[checkpoint.push_caps]\npins = '10%'\n", 2, 'checkpoint.push_caps."pins"', "'10%'", "64K"),
        ("[rebuild]\nrecent_user = '10%'\n", 2, "rebuild.recent_user", "'10%'", "64K"),
        ("[instructions]\nnames = 'AGENTS.md'\n", 2, "instructions.names", "'AGENTS.md'", "list"),
        ("language = 'en'\ncompaction = 3\n", 2, "compaction", "3", "compaction.KEY"),
    ],
)
def test_a_bad_value_names_file_line_key_value_and_range(
    place: Place, text: str, line: int, key: str, value: str, allowed: str
) -> None:
    place.project.write_text(text)
    error = mistake(place)
    assert str(error).startswith(f"project: {place.project}:{line}: {key} = {value} ")
    assert allowed in error.next_step


@pytest.mark.design("S-9")
@pytest.mark.parametrize(
    ("text", "line", "key", "guess"),
    [
        ("[compaction]\n\ntrigger_ration = 0.8\n", 3, "compaction.trigger_ration", "compaction.trigger_ratio"),
        ("[compaktion]\nauto = false\n", 1, "compaktion", "Did you mean compaction?"),
        ("[checkpoint]\npolicy = 'full'\n", 2, "checkpoint.policy", "compaction.policy"),
        ("auto = true\n", 1, "auto", "compaction.auto"),
        ("[checkpoint.push_caps]\npins = 1\nnote = 3\n", 3, "checkpoint.push_caps.note", "checkpoint.push_caps.notes"),
        ("[checkpoint]\npush_caps = { pins = 1, note = 3 }\n", 2, "checkpoint.push_caps.note", "checkpoint.push_caps.notes"),
        ("[language]\nx = 1\n", 1, "language", "auto, en, zh"),
        ("xyzzy = 1\n", 1, "xyzzy", "Known: compaction.auto, "),
    ],
)
def test_an_unknown_key_names_file_line_and_the_nearest(place: Place, text: str, line: int, key: str, guess: str) -> None:
    place.user.write_text(text)
    error = mistake(place)
    assert str(error).startswith(f"user: {place.user}:{line}: ")
    assert f" {key}" in str(error)
    assert guess in error.next_step


@pytest.mark.design("S-9")
def test_an_unknown_key_on_the_command_line(place: Place) -> None:
    error = mistake(place, "compaction.polcy=full")
    assert str(error) == "command line: Unknown setting compaction.polcy"
    assert error.next_step == "Did you mean compaction.policy?"


@pytest.mark.design("S-9", "A-4")
@pytest.mark.parametrize("value", ["off", "minimal", "low", "medium", "high", "xhigh", "max", "adaptive", "1024", "32000"])
def test_how_much_a_model_thinks(place: Place, value: str) -> None:
    assert place.load(f'model.thinking="{value}"').settings.model.thinking == value
    assert place.load(f"model.thinking={value}").settings.model.thinking == value, "a bare word, or a number as one"


@pytest.mark.design("S-9", "A-4")
@pytest.mark.parametrize("value", ["hgih", "High", "", " high", "1023", "0", "-2000", "2e3", "20K", "1024.0", "٢٠٤٨"])
def test_a_thinking_that_nobody_knows_is_named(place: Place, value: str) -> None:
    place.user.write_text(f'[model]\nthinking = "{value}"\n', "utf-8")
    caught = mistake(place)
    assert str(place.user) in str(caught)
    assert f"model.thinking = {value!r} is not allowed" in str(caught)
    allowed = "off, minimal, low, medium, high, xhigh, max, adaptive, or a whole number of tokens, 1024 or more"
    assert caught.next_step == f"Allowed: {allowed}."


@pytest.mark.design("S-9", "A-4")
@pytest.mark.parametrize("value", ["1023", "true", "2000.5", '["high"]'])
def test_a_thinking_of_another_type_is_named(place: Place, value: str) -> None:
    place.user.write_text(f"[model]\nthinking = {value}\n")
    assert "model.thinking = " in str(mistake(place))


@pytest.mark.design("S-9")
def test_zero_is_an_amount_where_it_means_none(place: Place) -> None:
    got = place.load("rebuild.recent_user=0", "checkpoint.reserved=0", "checkpoint.push_caps.pins=0")
    assert (got.settings.rebuild.recent_user, got.settings.checkpoint.reserved) == (0, 0)


@pytest.mark.design("S-9")
def test_broken_files_are_named(place: Place) -> None:
    place.user.write_text("[compaction]\nauto = \n")
    error = mistake(place)
    assert str(place.user) in str(error)
    assert "line 2" in str(error)
    place.user.write_bytes(b'language = "\xff"\n')
    assert str(mistake(place)) == f"{place.user} is not UTF-8 text: byte 12"
    place.user.unlink()
    place.user.mkdir()
    assert f"{place.user} cannot be read" in str(mistake(place))


@pytest.mark.design("S-9")
def test_a_byte_order_mark_is_no_mistake(place: Place) -> None:
    place.user.write_bytes('\ufefflanguage = "zh"\r\n'.encode())
    assert place.load().settings.language == "zh"
