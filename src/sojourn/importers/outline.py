"""What the first 64 KiB of a file hold, even where its first line is longer or damaged: top-level keys and kinds."""

import re
from functools import lru_cache

_TOKEN = re.compile(rb'"((?:[^"\\\n]++|\\.)*+)"?\s*(:?)|([\[{])|([\]}])')
_MAX_HEADS = 100

Head = dict[str, str]
"""Top-level keys of one object; the value of those with a string value, else ``""``."""


@lru_cache(maxsize=1)  # every format looks at the same sample
def heads(sample: bytes) -> list[Head]:
    """The objects of the lines that begin with ``{``, cut ones included."""
    found: list[Head] = []
    for line in sample.split(b"\n")[:_MAX_HEADS]:
        start = line.find(b"{")
        if start >= 0 and not line[:start].strip(b"\xef\xbb\xbf\0 \t\r"):
            found.append(_head(line[start:]))
    return found


@lru_cache(maxsize=1)
def document(sample: bytes) -> tuple[str, Head, list[Head]]:
    """``("list" | "object" | "", top-level keys, heads of the objects in the list or in ``messages``)``."""
    body = sample.lstrip(b"\xef\xbb\xbf \t\r\n")
    if body.startswith(b"["):
        return "list", {}, _elements(body[1:])
    if not body.startswith(b"{"):
        return "", {}, []
    found = re.search(rb'"messages"\s*:\s*\[', body)
    return "object", _head(body), _elements(body[found.end() :]) if found else []


def _elements(body: bytes) -> list[Head]:
    found: list[Head] = []
    depth, start = 0, -1
    for token in _TOKEN.finditer(body):
        if token[3]:
            if depth == 0:
                if token[3] != b"{":
                    return found
                start = token.start()
            depth += 1
        elif token[4]:
            depth -= 1
            if depth < 0:
                return found
            if depth == 0:
                found.append(_head(body[start : token.end()]))
                start = -1
    return [*found, _head(body[start:])] if start >= 0 else found


def _head(body: bytes) -> Head:
    """Top-level keys of the object that the bytes begin with."""
    head: Head = {}
    depth = 0
    key = ""
    for token in _TOKEN.finditer(body):
        text, colon, opens, closes = token.groups()
        if opens:
            depth += 1
        elif closes:
            depth -= 1
            if depth <= 0:
                return head
        elif text is not None and depth == 1:
            if colon:
                key = text.decode(errors="replace")
                head[key] = ""
            elif key:
                head[key] = text.decode(errors="replace")
                key = ""
    return head
