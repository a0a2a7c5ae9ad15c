"""Values that nobody could guess: codes, hashes, dates, addresses, hosts, places; and sentences that are prose (K-10)."""

import re

from sojourn.checkpoint.extract.cues import found_near, values

_CODE = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s<>\"'`，。；）)]+"
    r"|(?<![\w.@-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<!\w)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!\w)"
    r"|(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?(?![\w-])"
    r"|(?<![\w.-])\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
    r"|(?<![\w./@-])[~\w.@-]*/(?:[\w.@*-]+/)*[\w.@*-]*\w"
    r"|(?<![\w./-])[A-Za-z][\w-]*(?:\.[\w-]+)*:\d{2,5}(?!\w)"
    r"|(?<![\w./-])[A-Za-z][\w-]*(?:\.[\w-]+)*"
    r"\.(?:com|net|org|io|dev|local|internal|test|lan|cn|cloud|example|corp|intra)(?![\w-]|\.\w)"
    r"|(?<![\w./-])(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)+(?![\w/]|\.\w)"
    r"|(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?!\w)"
    r"|(?<![\w./-])v?\d+(?:\.\d+){2,}(?:-[\w.]+)?(?![\w-])"
    r"|(?<![\w./-])(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{5,}(?![\w-])",
    re.A,
)
"""Addresses, dates, places, hosts, names with a number in them, hashes, versions."""
_SIGN = re.compile(
    r"[0-9@/.-](?:(?<=[@/])|(?<=[0-9])(?<![0-9].)(?!(?<![^ (].)[0-9]*[.,:;!?)]*(?: |$))"
    r"|(?<=\.)(?:com|net|org|io|dev|local|internal|test|lan|cn|cloud|example|corp|intra)"
    r"|(?<=[0-9a-f]{8}-))[^ ]*"
)
"""Each of them has one. A number by itself is none."""
_STANDARD = re.compile(
    r"(?:utf|sha|iso|rfc|pep|md|aes|rsa|hmac|http|https|tls|ssl|ip|ipv|es|ecma|ieee|cp|base|gb|latin|windows|win|x|amd"
    r"|arm|crc"
    r"|posix|cve|cwe|unicode|ascii|h|mp|b|p|level|phase|step|part|task|issue|line|section|chapter|version|option|top|non"
    r"|pre"
    r"|re)[-_ ]?v?\d[\d.a-z]{0,8}(?:[-_][a-z]{1,8})?|\d+-[a-z]+|[a-z]+-to-[a-z]+|and/or|he/she|his/her|true/false|yes/no"
    r"|on/off"
    r"|read/write|input/output|client/server|i/o|n/a|w/o|ci/cd|x86_64|aarch64",
    re.I | re.A,
)
_FILE = re.compile(r"[^/~].*|[^\d]*|.*\.[A-Za-z]{1,4}$", re.A)
"""A place that is relative, has no number in it or ends like a file of code."""
_LINKS = re.compile(
    r"\b(?:is|are|was|were|be|been|being|am|has|have|had|does|do|did|will|would|shall|should|must|may|might|can|could"
    r"|cannot"
    r"|needs?|wants?|goes|gets?|lets?|uses?|takes?|stays?|keeps?|lives?|runs?|means?|holds?|the|of|to|at|by|in|on|with"
    r"|for|from"
    r"|under|behind|after|before|until|off|out|up|than|as|nobody|none|no one|everyone|everybody|whoever|it|that|this|we"
    r"|you|they|not|no|only|every|all|any|per)\b|['’](?:s|re|ll|ve|d|t)\b",
    re.I,
)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LOGGED = re.compile(
    r"\W*\d{1,4}[-:/]\d\d[-:/ T]|\s*at \S+ ?\(|\s*File \"|\s*(?:\$|>>>|%) |[\w./-]+\.\w+:\d+|[+-]{3} |@@|\s*<[\w/]"
    r"|(?:INFO|DEBUG|TRACE|WARN(?:ING)?|ERROR|FATAL)\b|[|+][-|+ ]"
)
"""How a line of a log, a stack, a shell or a change begins."""
_CODED = re.compile(r"\bTraceback\b|=>|==|[{};]\s*$|\(\w*\)\s*[;{]|\\n|\d\d:\d\d:\d\d[.,]\d|\b\w+=\S* \w+=\S")
_CODED_SIGN = re.compile(r"[={};\\:T](?:(?<=[={};\\])|(?<=\d:)\d|(?<=T)raceback)")
"""Each of them has one."""
_LABELLED = re.compile(r"[^\W\d][\w ]{1,40}\s?[:：=]\s?\S+")
_FEW_HAN = 2
_COUNT = 2
"""Digits of a number that only counts."""


def codes(text: str) -> list[str]:
    """The values in a text that are names of one thing: not a word, not a bare number, not the name of a standard."""
    return [found for found in found_near(_SIGN, _CODE, text) if not _STANDARD.fullmatch(found) and _is_place(found)]


def marked(text: str) -> list[str]:
    """Codes that are no files: what a decision or a limit is about."""
    return [code for code in codes(text) if "/" not in code or "://" in code or not _FILE.fullmatch(code)]


def measures(text: str) -> list[str]:
    """Numbers of two digits and more or with a unit, dates, versions; no names of standards."""
    return [found for found in values(text) if not _STANDARD.fullmatch(found)]


def prose(sentence: str) -> bool:
    """Whether somebody says something: a line of a log, of code or of a list of words is none."""
    if pasted(sentence):
        return False
    return len(_HAN.findall(sentence)) >= _FEW_HAN or _LINKS.search(sentence) is not None


def pasted(line: str) -> bool:
    """Whether a line looks like a log, a stack, a shell prompt or code."""
    if _LOGGED.match(line):
        return True
    return _CODED_SIGN.search(line) is not None and _CODED.search(line) is not None


def labelled(sentence: str) -> bool:
    """Whether a line gives a value to a name, ``Reviewer: KX-12``, and says nothing else."""
    return _LABELLED.fullmatch(sentence) is not None


def telling(numbers: list[str]) -> bool:
    """Whether one of them says more than a count: three digits or a unit."""
    return any(len(number) > _COUNT or not number[-1].isdigit() for number in numbers)


def _is_place(code: str) -> bool:
    """A place needs a letter, and a digit, a dot or two slashes: ``and/or`` is a word, ``5/12`` a number."""
    if "/" not in code or "://" in code:
        return True
    if not any(character.isalpha() for character in code):
        return False
    return code.count("/") > 1 or "." in code or any(character.isdigit() for character in code)
