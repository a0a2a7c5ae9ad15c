"""Texts for people, in English and Chinese, from message catalogues (S-2, S-9 ``language``)."""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

_FOLDER = Path(__file__).parent / "texts"


class _Forms(Formatter):
    """``{count:item|items}`` in a text is the number and its word: ``1 item``, ``1,200 items``."""

    def format_field(self, value: Any, format_spec: str) -> str:
        one, counted, many = format_spec.partition("|")
        if not counted:
            return str(super().format_field(value, format_spec))
        number = f"{value:,.0f}"
        return f"{number} {one if number == '1' else many}"


_FORMS = _Forms()


class _Voice:
    """The language that this process speaks: one command line talks to one person."""

    language = "en"


def speak(setting: str = "auto", environ: Mapping[str, str] | None = None) -> None:
    """Sets the language of ``say``: the setting's, else the locale's."""
    _Voice.language = language(setting, environ)


def say(key: str, /, **values: object) -> str:
    """The text of ``key`` in the person's language, with its ``{values}`` filled in."""
    return text(key, _Voice.language, **values)


def language(setting: str = "auto", environ: Mapping[str, str] | None = None) -> str:
    """``en`` or ``zh``: the setting, else what the environment's locale says, else English."""
    if setting != "auto":
        return setting
    env = os.environ if environ is None else environ
    named = next((env[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if env.get(key)), "")
    return "zh" if named.lower().startswith("zh") else "en"


@cache
def catalogue(name: str) -> dict[str, str]:
    """All texts of a language by key."""
    return {key: str(text) for key, text in tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")).items()}


def text(key: str, lang: str, /, **values: object) -> str:
    """The text of ``key`` with its ``{values}`` filled in."""
    return _FORMS.format(catalogue(lang)[key], **values)
