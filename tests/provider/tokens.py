"""A token count that is simple and always the same.

A text has one token for every four bytes of UTF-8, begun ones counted; JSON counts as its compact text. A message adds 4
tokens to its first part (Anthropic: a run of messages of one role counts as one message), a tool definition and a call add
8 each, a picture has width x height / 750 tokens, at most 1,600. Names, texts, arguments, schemas and thinking count; ids,
signatures and marks do not.
"""

import json
from typing import Any

MESSAGE = 4
TOOL = 8
PICTURE_MOST = 1_600


def count(text: str | bytes) -> int:
    """Tokens of a text."""
    return -(-len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")) // 4)


def compact(value: Any) -> str:
    """JSON without white space, keys in the order in which they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count_json(value: Any) -> int:
    """Tokens of a value written as compact JSON."""
    return count(compact(value))


def count_picture(size: tuple[int, int] | None) -> int:
    """Tokens of a picture of that width and height; the most where the size is unknown."""
    if size is None:
        return PICTURE_MOST
    return max(1, min(PICTURE_MOST, -(-size[0] * size[1] // 750)))
