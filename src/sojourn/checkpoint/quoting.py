"""Quotations in a model's items: whoever is quoted must have said so (K-6). No user speech is invented."""

import re
from collections.abc import Iterable, Sequence

from sojourn.base import Section
from sojourn.checkpoint.redact import redact

_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|„([^“”]+)[“”]|「([^」]+)」|『([^』]+)』|«([^»]+)»|^>\s*(.+)$")
_ELLIPSIS = re.compile(r"\s*[\[(（]?(?:\.\.\.|…+)[\])）]?\s*")
_CODE = re.compile(r"[^A-Za-z'.,!?-]|[a-z][A-Z]|\w[.-]\w")
"""What makes one unbroken word a literal and not speech: a path, a name, a number."""
_WORDS, _CHARACTERS = 3, 8
"""From these on a quotation is looked for."""
_EDGES = " .,;:!?。，、；：！？"
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "「": '"', "」": '"', "『": '"', "』": '"'})
_THEIR_OWN = frozenset({Section.INTENT, Section.DIRECTIVES})
"""What stands there is the user's."""
_SAYS = (
    r"(?:said|says?|asked|asks?|wants?|wanted|told|tells?|wrote|writes?|request(?:s|ed)?|insist(?:s|ed)?|prefers?|preferred"
    r"|confirm(?:s|ed)?|instruct(?:s|ed|ions?)?|words?|answer(?:s|ed)?|repl(?:y|ies|ied)|means?|meant|demand(?:s|ed)?"
    r"|approved?|agreed?|quote[ds]?)"
)
_BETWEEN = r"(?: (?:has|have|had|also|then|again|just|now|only|later|first|still|not|\w{1,20}ly)| ?\(?(?:in |at )?m\d+\)?){0,3}"
_ATTRIBUTED = re.compile(
    rf"(?<![\w/.-])users?(?:['’]s)?{_BETWEEN} {_SAYS}\b|\b{_SAYS}\b[^.\"“「]{{0,20}}\b(?:by|to|from) the user\b"
    r"|\b(?:according to|quot(?:e|ing)) the user\b|(?<![\w/.-])user(?:['’]s words)?\s*[:：]\s*[\"“「>]"
    r"|用户[^。\"“「]{0,12}(?:说|要求|表示|提到|希望|指出|明确|强调|问|回复|原话|同意|[:：])",
    re.I,
)


def quotations(section: Section, text: str) -> tuple[str, ...]:
    """What an item quotes from the user, as it stands between the marks: all that is quoted in intent and directives, else
    where the text says that the user said it. Quotations under three words and eight characters, and literals such as
    a path, are left out."""
    if section not in _THEIR_OWN and not _ATTRIBUTED.search(text):
        return ()
    found = (next(group for group in one.groups() if group is not None) for one in _QUOTED.finditer(text))
    return tuple(quote for quote in found if _is_speech(quote.strip()))


def heard(quote: str, said: Iterable[str]) -> bool:
    """Whether one of the texts (``normal``) holds the quotation; where it is shortened by an ellipsis, every piece of it."""
    pieces = [piece for one in _ELLIPSIS.split(quote) if (piece := normal(one).strip(_EDGES))]
    texts = tuple(said)
    return all(any(piece in text for text in texts) for piece in pieces)


def normal(text: str) -> str:
    """The text for comparison: one kind of quotation mark, any case, white space collapsed."""
    return " ".join(text.translate(_QUOTES).casefold().split())


def spoken(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts to find quotations in, each as it was said and as it reads without its secrets."""
    return tuple(dict.fromkeys(normal(one) for text in texts for one in (text, redact(text))))


def _is_speech(quote: str) -> bool:
    words = len(quote.split())
    if words == 1 and quote.isascii() and _CODE.search(quote):
        return False
    return words >= _WORDS or len(quote) >= _CHARACTERS
