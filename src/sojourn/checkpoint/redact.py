"""Secrets out of every text that a checkpoint keeps (K-6): redaction beats verbatim, and never stops the work."""

import re

MARK = "[redacted]"
"""What stands where a secret stood."""

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\Z)", re.S
)
_ISSUED = re.compile(
    r"\b(?:sk-[\w-]{16,}|sk_(?:live|test)_\w{10,}|rk_(?:live|test)_\w{10,}|gh[pousr]_\w{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|npm_\w{30,}|pypi-[\w-]{30,}|hf_[A-Za-z]{25,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_\w{30,}|shpat_\w{20,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{6,})",
    re.A,
)
"""Keys that say by their form what they are."""
_LOGIN = re.compile(r"(?<=://)([^\s:/@'\"`<>]*):([^\s@/'\"`<>]{1,256})@")
"""``scheme://user:password@host``."""
_SENT = re.compile(r"\b((?:[Bb]earer|Basic|Token)\s+)([\w.~+/=-]{12,})", re.A)
_NAMED = re.compile(
    r"((?:pass(?:word|wd|phrase)|PASS(?:WORD|WD|PHRASE)|Pass(?:word|wd|phrase)|\bpwd\b|PWD\b|[Ss]ecret|SECRET|[Tt]oken|TOKEN"
    r"|[Aa][Pp][Ii][_ -]?[Kk][Ee][Yy]|[Aa]ccess[_-]?[Kk]ey|ACCESS_KEY|[Pp]rivate[_-]?[Kk]ey|PRIVATE_KEY"
    r"|[Cc]redential|CREDENTIAL"
    r"|密码|口令|密钥|令牌)"
    r"(?:[A-Za-z_]{0,24})[\"'`*]{0,3}\s{0,3}(?:=>|:=|==?|[:：]|是|为|\bis\b)\s{0,3}|--(?:password|token|secret"
    r"|api-key|passphrase)[ =])"
    r"(?:\"([^\"\n]{3,})\"|'([^'\n]{3,})'|`([^`\n]{3,})`|([^\s\"'`,;)\]}]{3,}))"
)
"""A value that stands behind a telling name."""
_ANCHORS = (
    "://", "bearer ", "basic ", "token", "passw", "passphrase", "pwd", "secret", "credential", "apikey", "api_key",
    "api-key", "api key", "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key", "密码",
    "口令", "密钥", "令牌", "sk-", "sk_live", "sk_test", "rk_live", "rk_test", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "glpat-", "xox", "xapp-", "akia", "asia", "aiza", "ya29.", "npm_", "pypi-", "hf_", "sg.", "dop_v1_",
    "shpat_", "eyj",
)  # fmt: skip
"""What a line must hold, in lower case, to be looked at: found at memory speed, so that a clean text costs next to nothing."""
_NAME = re.compile(
    r"[A-Za-z_][\w.]*[(\[<|?.].*|[A-Za-z_]+\w*\.\w[\w.()]*|[a-z]+(?:[A-Z_]\w*)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[$%<{(\[&*].*",
    re.A | re.S,
)
"""What programs write behind a telling name: a call, a member, a variable, a type, a placeholder."""
_PROGRAM_WORDS = """
    str string text none null nil true false bool boolean int integer number float bytes any object undefined optional
    char required missing invalid expired empty unknown the not and for from with that this your given valid wrong correct
    stored sent set unset used needed here there
"""
_PLAIN = frozenset(_PROGRAM_WORDS.split())


def redact(text: str) -> str:
    """The text with every secret replaced by ``[redacted]``: issued keys, bearer tokens, private keys, logins in
    addresses, and values behind names such as password, secret, token, api key (密码, 密钥). Idempotent; never fails."""
    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(MARK, text)
    low = text.lower()
    if len(low) != len(text):
        return _redact_line(text)
    starts: set[int] = set()
    for anchor in _ANCHORS:
        at = low.find(anchor)
        while at >= 0:
            starts.add(low.rfind("\n", 0, at) + 1)
            end = low.find("\n", at)
            at = low.find(anchor, end) if end >= 0 else -1
    if not starts:
        return text
    pieces: list[str] = []
    done = 0
    for start in sorted(starts):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        pieces += (text[done:start], _redact_line(text[start:end]))
        done = end
    return "".join((*pieces, text[done:]))


def _redact_line(line: str) -> str:
    line = _ISSUED.sub(MARK, line)
    line = _LOGIN.sub(lambda match: f"{match[1]}:{MARK}@", line)
    line = _SENT.sub(lambda match: match[1] + MARK if _dense(match[2]) else match[0], line)
    return _NAMED.sub(_hide, line)


def _hide(match: re.Match[str]) -> str:
    name, bare = match[1], match[5]
    value = match[2] or match[3] or match[4] or bare
    if MARK in value:
        return match[0]
    if bare is not None and not _telling(name, bare):
        return match[0]
    if bare is None and (" " in value.strip() or value.startswith(("$", "{", "<"))):
        return match[0]
    return match[0][: len(name)] + match[0][len(name) :].replace(value, MARK, 1)


def _telling(name: str, value: str) -> bool:
    """Whether a bare value is a secret and not a word of a program or of a sentence."""
    core = value.strip(".:!?。，、；")
    if len(core) < 4 or core.lower() in _PLAIN:
        return False
    if name.rstrip().endswith("=") and name[0].isupper() and name.split("=")[0].strip().isupper():
        return not core.startswith(("$", "<", "{", "("))
    if _NAME.fullmatch(core):
        return False
    if any(c.isdigit() for c in core):
        return not core.replace(".", "").replace(",", "").isdigit() or "pass" in name.lower() or "密码" in name
    return "=" in name and "==" not in name and "pass" in name.lower() and "pass" not in core.lower()


def _dense(value: str) -> bool:
    return any(c.isdigit() for c in value) or len(value) >= 24
