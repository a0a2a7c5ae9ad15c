"""The script that is built in: an honest look at the folder for whoever has no model yet (A-5)."""

import re
import tomllib
from functools import cache
from pathlib import Path

from sojourn.models.scripted.sight import Answer, Called, Place, Result, Sight

_CJK = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}|[\u3400-\u9fff]{2,}")
_COMMON = frozenset({"file", "files", "folder", "have", "please", "project", "that", "this", "what", "where", "which", "with"})
_WORDS = 3
"""Words of the prompt that are looked for."""
_HAN = 4
"""Characters of a Chinese run that are looked for."""
_QUOTED = 6
"""Lines of a result that the answer quotes."""
_COLUMNS = 160
_PATH = re.compile(r"(?m)^([^\s\[(][^\n]*\.\w{1,8}|README)$")


class Looking:
    """Lists the folder, reads its README or first file, searches for words of the prompt, says what it saw.

    It says in its first answer that it is no language model. Its language is the prompt's: English or Chinese.
    """

    def next(self, sight: Sight) -> Answer:
        """First the listing, then a file and a search, then what was seen and how a real model is connected."""
        texts = _texts("zh" if _CJK.search(sight.prompt) else "en")
        if sight.answers == 0 and "glob" in sight.tools:
            both = (Called("glob", {"pattern": "**/*"}), Called("glob", {"pattern": "README*"}))
            return Answer(texts["intro" if sight.turn == 1 else "again"], both)
        listing, readme = sight.results[0] if sight.results and sight.results[0] else (None, None)
        calls = _second_look(sight, readme, listing)
        if sight.answers == 1 and calls:
            return Answer(texts["nearer"], calls)
        return Answer(_report(sight, texts, listing, calls))

    def resume(self, prompt: str, calls: tuple[Called, ...], answers: int, text: str) -> Place:
        """From its beginning: it says again what it is and looks for itself."""
        del prompt, calls, answers, text
        return Place(1, 0)


def _second_look(sight: Sight, *listings: Result | None) -> tuple[Called, ...]:
    """What the second answer calls: the README or else the first file, and the words. Pure: the third knows it too."""
    calls = []
    paths = (_first_file(one.text) for one in listings if one is not None and not one.error)
    path = next((path for path in paths if path), "")
    if path and "read" in sight.tools:
        calls.append(Called("read", {"path": path}))
    words = _wanted(sight.prompt)
    if words and "grep" in sight.tools:
        calls.append(Called("grep", {"pattern": "|".join(words)}))
    return tuple(calls)


def _report(sight: Sight, texts: dict[str, str], listing: Result | None, calls: tuple[Called, ...]) -> str:
    if listing is None:
        told = [texts["intro" if sight.turn == 1 else "again"], texts["blind"]]
    elif listing.error:
        told = [texts["signed"], texts["refused"].format(tool="glob", reason=_quoted(listing.text, 1))]
    else:
        count, names = len(listing.text.splitlines()), _quoted(listing.text, _QUOTED)
        told = [texts["signed"], texts["listed"].format(count=count, names=names)]
    results = sight.results[1] if len(sight.results) > 1 else ()
    for call, result in zip(calls, results, strict=False):
        subject = str(call.arguments.get("path") or call.arguments["pattern"])
        if result.error:
            told.append(texts["refused"].format(tool=call.name, reason=_quoted(result.text, 1)))
        else:
            told.append(texts[call.name].format(subject=subject, lines=_quoted(result.text, _QUOTED)))
    return "\n\n".join([*told, texts["connect"]])


def _first_file(listing: str) -> str:
    """The first line that is a file's name with an ending."""
    first = _PATH.search(listing)
    return first[1] if first else ""


def _wanted(prompt: str) -> tuple[str, ...]:
    """The longest words of the prompt that are worth a search, in the order in which they are said."""
    words = [word[:_HAN] if _CJK.match(word) else word for word in _WORD.findall(prompt) if word.lower() not in _COMMON]
    longest = sorted(dict.fromkeys(words), key=lambda word: -len(word))[:_WORDS]
    return tuple(word for word in dict.fromkeys(words) if word in longest)


def _quoted(text: str, most: int) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    more = [f"  ... (+{len(lines) - most})"] if len(lines) > most > 1 else []
    return "\n".join([f"  {line[:_COLUMNS]}" for line in lines[:most]] + more).strip("\n")


@cache
def _texts(language: str) -> dict[str, str]:
    text = (Path(__file__).parent / "texts" / f"{language}.toml").read_text("utf-8")
    return {key: str(value) for key, value in tomllib.loads(text).items()}
