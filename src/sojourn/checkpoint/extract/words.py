"""Words and sentences: what a line is about, in English and Chinese."""

import re

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}|\d[\d.]*\d|[\u4e00-\u9fff]+")
_END = re.compile(r"[.!?。！？；](?:(?<=[。！？；])|\s+(?=[A-Z\"'`(\[*\u4e00-\u9fff]))")
"""Where a sentence ends within a line."""
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)[^\n]*$", re.S | re.M)
_BULLET = re.compile(r"^[ \t]*(?:[-*+•>][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)+", re.M)
_NUMBERED = re.compile(r"^\s*\d{1,6}(?:→|\t|\||: )\s?")

_COMMON = """
    a about above after again all also always am an and any are as at be because been before being below between both but
    by can cannot could did do does doing don down during each few for from further get got had has have having he her
    here hers him his how i if in instead into is it its itself just keep let like make may me more most must my need
    never no nor not now of off on once one only or other our out over own please same see she should so some still such
    sure than that the their them then there these they this those through to too under until up use used uses using very
    want was way we were what when where which while who why will with would yes you your void rather ensure actually
"""
_COMMON_HAN = """
    不要 必须 总是 永远 一律 禁止 不能 不是 而是 改为 改成 改用 以后 现在 我们 你们 这个 那个 这里 那里 一个 可以 需要 应该
    使用 就是 还是 没有 如果 因为 所以 时候 什么 怎么 然后 是用 要用 请用 务必 记住
"""
STOP = frozenset(_COMMON.split())
_STOP_HAN = frozenset(_COMMON_HAN.split())


def terms(text: str) -> set[str]:
    """The content words of a text: lower-cased words of three letters or more, numbers, and pairs of Han characters, without
    the words that every sentence has."""
    result: set[str] = set()
    for word in _WORD.findall(text):
        if "\u4e00" <= word[0] <= "\u9fff":
            result.update(pair for i in range(len(word) - 1) if (pair := word[i : i + 2]) not in _STOP_HAN)
        elif (lower := word.lower()) not in STOP:
            result.add(lower)
    return result


def sentences(text: str) -> list[str]:
    """The sentences of a text without code fences, bullets and headings, each on one line; empty ones left out."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    found: list[str] = []
    for line in _BULLET.sub("", text).split("\n"):
        start = 0
        for end in _END.finditer(line):
            found.append(line[start : end.end()])
            start = end.end()
        found.append(line[start:])
    return [plain for raw in found if (plain := " ".join(raw.split()))]


def plain(line: str) -> str:
    """A line as its author wrote it: without the number that a reader put before it, white space collapsed."""
    return " ".join(_NUMBERED.sub("", line).split())


def clip(text: str, most: int, around: int = 0) -> str:
    """At most ``most`` characters of a line, cut at white space, the place ``around`` kept in view; "…" where it is cut."""
    if len(text) <= most:
        return text
    start = 0 if around < most * 2 // 3 else min(around - most // 3, len(text) - most)
    if start:
        space = text.find(" ", start, start + 24)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + most)
    if end < len(text):
        space = text.rfind(" ", max(start + 1, end - 24, around), end)
        end = space if space > start else end
    return ("…" if start else "") + text[start:end].rstrip() + ("…" if end < len(text) else "")
