"""A shell command taken apart, as far as permission rules need it (Y-6). Pure.

Only what is understood for certain is called clear: whatever else a shell can do (here-documents, comments, ``$'..'``,
arithmetic) makes the command unclear, and an unclear command is never let through by a pattern.
"""

import re
import shlex
from collections.abc import Iterator, Sequence

import msgspec

_NAMED = re.compile(r"\$\{[A-Za-z0-9_]+\}")
_REDIRECTION = re.compile(r"&>>|&>|<>|<&|>&|>>|>\||<|>")
_DUPLICATE = re.compile(r"[ \t]*(\d+-?|-)(?=[\s;&|)]|$)")
_SEPARATORS = ";&|\n"
_CROOKED = frozenset("*?[]{}!")
_CROOKED_WORDS = frozenset({"case", "select", "function", "[["})
"""They use parentheses and bars in ways of their own."""
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(\[[^]]*\])?\+?=.*", re.DOTALL)
_CARRIERS = frozenset({
    "sudo", "doas", "command", "builtin", "exec", "nohup", "env", "nice", "ionice", "stdbuf", "setsid", "timeout", "xargs",
    "find", "busybox", "time", "watch", "parallel", "chroot", "su",
})  # fmt: skip
"""Commands that run what stands behind them."""
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "eval", "fish"})
_CARRIED = 100
"""Words behind ``sudo`` and its kin that are looked at as the beginning of a command."""
_DEEPEST = 8
"""Commands inside commands; deeper ones are unclear."""


class Part(msgspec.Struct, frozen=True):
    """One simple command of a line."""

    text: str
    """As written, one space between words, without redirections."""
    words: tuple[str, ...]
    """Without quotes."""
    plain: bool
    """No expansion, no escape, no wildcard: the words are what the command gets."""
    reads: tuple[str, ...] = ()
    """Files of ``<``."""
    writes: tuple[str, ...] = ()
    """Files of ``>`` and its kin; ``/dev/null`` and other descriptors are left out."""


class Script(msgspec.Struct, frozen=True):
    """All simple commands of a line, those inside ``$(...)``, backticks and ``<(...)`` too."""

    parts: tuple[Part, ...]
    clear: bool


class _Unclear(Exception):
    """The rest cannot be read for certain."""


def script(command: str) -> Script:
    """The command's parts, in no particular order."""
    parts: list[Part] = []
    try:
        _Reader(command, parts, 0).script(0, nested=False)
    except _Unclear:
        return Script(tuple(parts), clear=False)
    return Script(tuple(parts), clear=True)


class _Reader:
    """Reads one text; ``parts`` takes up what is found."""

    def __init__(self, text: str, parts: list[Part], depth: int) -> None:
        if depth > _DEEPEST:
            raise _Unclear
        self._text = text
        self._parts = parts
        self._depth = depth
        self._begin()

    def _begin(self) -> None:
        self._words: list[str] = []
        self._raw: list[str] = []
        self._files: dict[str, list[str]] = {"<": [], ">": []}
        self._plain = True
        self._awaits = ""
        self._word: list[str] | None = None
        self._raw_word: list[str] = []

    def script(self, at: int, *, nested: bool) -> int:
        """Reads to the end, or (nested) behind the closing parenthesis; answers where it stopped."""
        text, open_groups = self._text, 0
        while at < len(text):
            character = text[at]
            if character == ")" and open_groups == 0:
                if not nested:
                    raise _Unclear
                self._end_part()
                return at + 1
            if character in "()" or character in _SEPARATORS:
                open_groups += {"(": 1, ")": -1}.get(character, 0)
                if text.startswith(("((", "&>"), at):
                    if character == "(":
                        raise _Unclear
                    at = self._redirection(at)
                    continue
                self._end_part()
                at += 1
            else:
                at = self._inside(at)
        if nested or open_groups:
            raise _Unclear
        self._end_part()
        return at

    def _inside(self, at: int) -> int:
        text, character = self._text, self._text[at]
        match character:
            case " " | "\t":
                self._end_word()
                return at + 1
            case "\\":
                if text.startswith("\\\n", at):
                    return at + 2
                if at + 1 >= len(text):
                    raise _Unclear
                self._plain = False
                return self._add(text[at + 1], text[at : at + 2], at + 2)
            case "'":
                end = text.find("'", at + 1)
                if end < 0:
                    raise _Unclear
                return self._add(text[at + 1 : end], text[at : end + 1], end + 1)
            case '"':
                return self._quoted(at)
            case "$" | "`":
                return self._expansion(at, quoted=False)
            case "<" | ">":
                if text.startswith("(", at + 1):
                    return self._substitution(at, at + 2)
                return self._redirection(at)
            case "#" if self._word is None:
                raise _Unclear
            case "\r" | "\0":
                raise _Unclear
            case _:
                if character in _CROOKED or (character == "~" and self._word is None):
                    self._plain = False
                return self._add(character, character, at + 1)

    def _add(self, value: str, raw: str, then: int) -> int:
        self._word = self._word or []
        self._word.append(value)
        self._raw_word.append(raw)
        return then

    def _quoted(self, at: int) -> int:
        text = self._text
        self._add("", '"', at)
        at += 1
        while at < len(text):
            character = text[at]
            if character == '"':
                return self._add("", '"', at + 1)
            if character in "$`":
                at = self._expansion(at, quoted=True)
            elif character == "\\" and at + 1 < len(text):
                self._plain = False
                value = {"\n": "", '"': '"', "\\": "\\", "$": "$", "`": "`"}.get(text[at + 1], text[at : at + 2])
                at = self._add(value, text[at : at + 2], at + 2)
            else:
                at = self._add(character, character, at + 1)
        raise _Unclear

    def _expansion(self, at: int, *, quoted: bool) -> int:
        text = self._text
        self._plain = False
        if text[at] == "`":
            end = text.find("`", at + 1)
            if end < 0 or "\\" in text[at:end]:
                raise _Unclear
            _Reader(text[at + 1 : end], self._parts, self._depth + 1).script(0, nested=False)
            return self._add(text[at : end + 1], text[at : end + 1], end + 1)
        if text.startswith(("$((", "$["), at) or (not quoted and text.startswith(("$'", '$"'), at)):
            raise _Unclear
        if text.startswith("$(", at):
            return self._substitution(at, at + 2)
        if text.startswith("${", at):
            named = _NAMED.match(text, at)
            if named is None:
                raise _Unclear
            return self._add(named[0], named[0], named.end())
        return self._add("$", "$", at + 1)

    def _substitution(self, at: int, inner: int) -> int:
        self._plain = False
        end = _Reader(self._text, self._parts, self._depth + 1).script(inner, nested=True)
        return self._add(self._text[at:end], self._text[at:end], end)

    def _redirection(self, at: int) -> int:
        text = self._text
        if self._word is not None and not "".join(self._raw_word).isdigit():
            self._end_word()
        self._word, self._raw_word = None, []  # a number in front of it is a descriptor
        if text.startswith("<<", at):
            raise _Unclear
        operator = _REDIRECTION.match(text, at)
        if operator is None or self._awaits:
            raise _Unclear
        duplicate = _DUPLICATE.match(text, operator.end())
        if operator[0] in ("<&", ">&") and duplicate:
            return duplicate.end()
        self._awaits = "<" if operator[0] == "<" else ">"
        return operator.end()

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, raw = "".join(self._word), "".join(self._raw_word)
        self._word, self._raw_word = None, []
        if self._awaits:
            if word != "/dev/null":
                self._files[self._awaits].append(word)
            self._awaits = ""
        else:
            self._words.append(word)
            self._raw.append(raw)

    def _end_part(self) -> None:
        self._end_word()
        if self._awaits or (self._words and self._words[0] in _CROOKED_WORDS):
            raise _Unclear
        if self._words or self._files["<"] or self._files[">"]:
            files = {mark: tuple(names) for mark, names in self._files.items()}
            self._parts.append(Part(" ".join(self._raw), tuple(self._words), self._plain, files["<"], files[">"]))
        self._begin()


# --- what a command may come to --------------------------------------------------------------------------------------


def faces(command: str, depth: int = 0) -> Iterator[str]:
    """Every text under which a rule that forbids or asks may know the command: whole, part by part, behind ``sudo`` and
    its kin, without quotes and paths, inside ``sh -c``. Better one too many than one too few."""
    yield command.strip()
    found = script(command)
    for part in found.parts:
        yield from _part_faces(part.text, part.words, depth)
    if not found.clear:
        for piece in re.split(r"[;&|\n`(){}]+", command):
            yield from _part_faces(" ".join(piece.split()), _loose_words(piece), depth)


def every_part(command: str, depth: int = 0) -> Iterator[Part]:
    """Every simple command under which a rule about files may know the line: those inside ``sh -c`` too, and where it
    cannot be read for certain, what its pieces look like. Better one too many than one too few."""
    found = script(command)
    parts = list(found.parts)
    if not found.clear:
        for piece in re.split(r"[;&|\n`(){}]+", command):
            words = [word for one in re.split(r"\d*[<>]+", piece) for word in _loose_words(one)]
            parts.append(Part(piece, tuple(words), False, writes=tuple(words) if ">" in piece else ()))
    for part in parts:
        yield part
        names = [word.rpartition("/")[2] for word in part.words[:_CARRIED]]
        at = next((index for index, name in enumerate(names) if name in _SHELLS), None)
        if at is not None and depth < _DEEPEST:
            for word in part.words[at + 1 :]:
                if len(word.split()) > 1 or any(mark in word for mark in _SEPARATORS + "<>"):
                    yield from every_part(word, depth + 1)


def _part_faces(text: str, words: Sequence[str], depth: int) -> Iterator[str]:
    yield text
    carried = False
    for index, word in enumerate(words[:_CARRIED]):
        if index and not carried:
            return
        rest = words[index:]
        name = word.rpartition("/")[2]
        yield " ".join(rest)
        yield " ".join((name, *rest[1:]))
        if name in _SHELLS and depth < _DEEPEST:
            inner = (" ".join(rest[1:]),) if name == "eval" else rest[1:]
            for one in inner:
                yield from faces(one, depth + 1)
        carried = carried or name in _CARRIERS or word in _KEYWORDS or bool(_ASSIGNMENT.fullmatch(word))


def _loose_words(piece: str) -> list[str]:
    try:
        return shlex.split(piece)
    except ValueError:
        return piece.replace('"', "").replace("'", "").split()
