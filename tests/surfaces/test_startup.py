"""Importing the package and asking its version stay light; a command loads only what it needs."""

import subprocess
import sys

import pytest

_HEAVY = ("apsw", "click", "pydantic", "markdown_it", "genai_prices", "tiktoken", "platformdirs", "msgspec", "asyncio")


def modules_after(code: str) -> set[str]:
    """Top-level names of all modules that the code loads."""
    told = f"{code}\nimport sys; sys.stderr.write('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(done.stderr.split("\n"))


def command(*arguments: str) -> str:
    return (
        f"import sys; sys.argv = {['sojourn', *arguments]!r}\n"
        "from sojourn.surfaces.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )


@pytest.mark.design("S-1", "S-8")
def test_import_is_light() -> None:
    loaded = modules_after("import sojourn; sojourn.__version__; dir(sojourn)")
    assert "sojourn" in loaded
    assert loaded.isdisjoint(_HEAVY)
    assert {name for name in loaded if name.startswith("sojourn.")} == {"sojourn.__about__"}


@pytest.mark.design("S-1")
@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version_is_light(flag: str) -> None:
    loaded = modules_after(command(flag))
    assert loaded.isdisjoint(_HEAVY)


@pytest.mark.design("S-1")
def test_help_loads_no_command_and_no_store() -> None:
    loaded = modules_after(command("--help"))
    assert "click" in loaded
    assert loaded.isdisjoint({"apsw", "markdown_it", "genai_prices", "pydantic", "tiktoken"})
    assert not {name for name in loaded if name.startswith(("sojourn.surfaces.cli.commands.", "sojourn.engine", "sojourn.lab"))}


@pytest.mark.design("S-1")
def test_version_says_the_version() -> None:
    from sojourn import __version__

    for flag in ("--version", "-V"):
        done = subprocess.run([sys.executable, "-m", "sojourn", flag], capture_output=True, text=True, check=True)
        assert done.stdout == f"sojourn {__version__}\n"
