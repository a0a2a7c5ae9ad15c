"""The cost model behind the estimate: what each pair of neighbouring bytes costs (M-1).

A tokenizer starts a new token mostly where the kind of character changes, so a text's tokens are the sum of what its
pairs of neighbours cost. Every byte belongs to one of 15 classes, and a table says what each pair of classes costs, in
quarters of a token. Letters of other scripts cost by their first byte in UTF-8 on top of that. The numbers were fitted
(least squares, none below zero) to o200k counts of prose, code, JSON, logs, listings, hashes and some 30 languages;
none of that text is kept here. ``bench/bench_meter.py`` measures the errors.

All work is done by C loops over whole strings: two translations, and one count of the bits that are set, for a cost of
``k`` quarters is stored as a byte with ``k`` bits.
"""

import string

_CLASSES = (
    "\n\r",
    " ",
    string.digits,
    string.ascii_uppercase,
    "aeiou",
    "tnshrldcm",
    "bfgpwyv",
    "kjqxz",
    "_",
    "/-.,",
    "\"'`:",
    "()[]{}<>",
    "\t",
)
_OTHER = len(_CLASSES)
"""The rest of ASCII."""
_BEYOND = _OTHER + 1
"""Every byte of a character that is not ASCII."""

_QUARTERS = (
    "044334211312241",
    "807020203141321",
    "821773364401141",
    "417120050341335",
    "532130021304200",
    "402001031101400",
    "014301461313210",
    "245512541142100",
    "111012211112132",
    "122223222022341",
    "226262121200120",
    "233503024300744",
    "112510212141245",
    "034326113038111",
    "401110042365260",
)
"""Row: the class of a byte; column: the class of the next; the end of a text counts as a line break."""

BASE = 0.02
"""Tokens that any character costs beside its pairs: a run of one letter is not free."""

_LEADS = (
    (0xC2, 0xC2, 0.98),  # signs of Latin-1
    (0xC3, 0xC9, 0.92),  # Latin with accents
    (0xCA, 0xCD, 1.18),  # phonetic signs, combining accents
    (0xCE, 0xCF, 0.35),  # Greek
    (0xD0, 0xD4, 0.26),  # Cyrillic
    (0xD5, 0xD7, 0.34),  # Armenian, Hebrew
    (0xD8, 0xDF, 0.22),  # Arabic
    (0xE0, 0xE1, 0.33),  # Indic scripts, Thai, Georgian
    (0xE2, 0xE2, 0.28),  # punctuation, arrows, boxes
    (0xEE, 0xEE, 1.18),  # private use
    (0xF0, 0xF4, 2.2),  # emoji
)
"""First and last of the first bytes of a script in UTF-8, tokens a character."""

_EAST = (
    (0xE3, 0xE3, 0.65),  # kana
    (0xE4, 0xE9, 0.72),  # Han
    (0xEA, 0xED, 0.62),  # Hangul (and what stands for lone surrogates)
    (0xEF, 0xEF, 0.58),  # full-width forms
)
"""The same for what is counted as kind ``cjk``."""


def _class_table() -> bytes:
    table = bytearray([_OTHER] * 128 + [_BEYOND] * 128)
    for number, characters in enumerate(_CLASSES):
        for character in characters:
            table[ord(character)] = number
    return bytes(table)


def _cost_table() -> bytes:
    """From the byte ``class | next class << 4`` to one with as many bits set as the pair costs quarters."""
    table = bytearray(256)
    for first, row in enumerate(_QUARTERS):
        for second, quarters in enumerate(row):
            table[first | second << 4] = (1 << int(quarters)) - 1
    return bytes(table)


_CLASS = _class_table()
_COST = _cost_table()


def pair_costs(data: bytes) -> bytes:
    """One byte for each of UTF-8 ``data``: the cost of the pair that begins there, as a number of set bits."""
    classes = int.from_bytes(data.translate(_CLASS), "little")
    # Shifted by four bits less than a byte, the next class comes to lie above each class.
    return (classes | classes >> 4).to_bytes(len(data), "little").translate(_COST)


def quarters(costs: bytes) -> int:
    """The sum of such costs in quarters of a token."""
    return int.from_bytes(costs, "little").bit_count()


def _ranges(ranges: tuple[tuple[int, int, float], ...]) -> tuple[bytes, tuple[tuple[bytes, float], ...]]:
    """A table that gives each range a letter of its own, and what each letter weighs."""
    table = bytearray(b"." * 256)
    weights = []
    for number, (first, last, weight) in enumerate(ranges):
        letter = ord("A") + number
        table[first : last + 1] = bytes([letter]) * (last - first + 1)
        weights.append((bytes([letter]), weight))
    return bytes(table), tuple(weights)


_NOT_LEADS = bytes(range(0xC2)) + bytes(range(0xF5, 0x100))
_SCRIPTS, _SCRIPT_WEIGHTS = _ranges(_EAST + _LEADS)


def script_costs(data: bytes) -> tuple[float, float]:
    """Tokens that characters beyond ASCII cost beside their pairs: (Chinese, Japanese and Korean; all others)."""
    leads = data.translate(_SCRIPTS, _NOT_LEADS)
    costs = [leads.count(letter) * weight for letter, weight in _SCRIPT_WEIGHTS]
    return sum(costs[: len(_EAST)]), sum(costs[len(_EAST) :])
