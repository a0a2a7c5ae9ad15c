"""A text's cost, by kind of content (M-1)."""

import math
import re
import string

from sojourn.base import Tokens
from sojourn.meter.features import BASE, pair_costs, quarters, script_costs

_BLOCK = 1 << 16
"""Bytes worked on at once: they stay in the processor's cache."""

_RUN = 64
"""Characters without a break from which a run is looked at."""
_PIECE = 1_024
"""Characters of a run that are judged together: a picture's base64 may hold long stretches of zeros."""
_SWITCHES = 2
"""Quarters a character from which a piece of a run is dense: words and paths lie near 1, base64 near 2.7."""
_UNBROKEN = bytes(ord("x") if re.match(r"[A-Za-z0-9+/=_-]", chr(byte)) else ord(" ") for byte in range(256))
_PROBE = b"x" * _RUN
_HEX = string.hexdigits.encode()

_HEAD = 4_096
"""Bytes from the start that name the kind of a text."""
_CODE_MARKS = b"(){}[]<>=;_/\\|#$*+&%@\"'`~^0123456789"


def weigh(text: str) -> Tokens:
    """Tokens by kind: ``dense`` and ``cjk`` by their characters, all others under the kind of the whole text."""
    if not text:
        return {}
    data = text.encode("utf-8", "surrogatepass")
    plain = text.isascii()
    east, rest = (0.0, 0.0) if plain else script_costs(data)
    dense = whole = 0
    for at in range(0, len(data), _BLOCK):
        block = data[at : at + _BLOCK]
        costs = pair_costs(block)
        characters, replaced = _dense(block, costs)
        dense += characters
        whole += quarters(costs) - replaced
    rest += whole / 4 + BASE * (len(text) - dense)
    tokens = {_kind(data): math.ceil(rest), "cjk": math.ceil(east), "dense": dense}
    return {kind: count for kind, count in tokens.items() if count}


def _dense(block: bytes, costs: bytes) -> tuple[int, int]:
    """Characters in long unbroken runs of base64 and the like, and the quarters that they had cost as text.

    They count one token a character, near the worst that tokenizers make of them. Hexadecimal digits have their cost in
    the table already and stay out.
    """
    unbroken = block.translate(_UNBROKEN)
    characters = replaced = 0
    start = unbroken.find(_PROBE)
    while start >= 0:
        end = unbroken.find(b" ", start)
        if end < 0:
            end = len(block)
        while start < end:
            piece = min(end, start + _PIECE)
            if block[start:piece].translate(None, _HEX):
                cost = quarters(costs[start:piece])
                if cost >= _SWITCHES * (piece - start):
                    characters += piece - start
                    replaced += cost
            start = piece
        start = unbroken.find(_PROBE, end)
    return characters, replaced


def _kind(data: bytes) -> str:
    head = data[:_HEAD]
    if (head.count(b'":') + head.count(b'",')) * 40 >= len(head):
        return "json"
    marks = len(head) - len(head.translate(None, _CODE_MARKS))
    return "code" if marks * 16 >= len(head) else "prose"
