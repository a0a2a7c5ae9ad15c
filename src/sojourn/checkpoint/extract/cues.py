"""Turns of phrase that make a sentence worth keeping whoever wrote it: values, bounds, reasons, contrasts (K-10)."""

import re

_UNITS = (
    r"%|°|ms|µs|ns|s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?|h|days?|weeks?|months?|years?|milliseconds?|[kMGT]i?B|[kMG]?b(?:it)?s?"
    r"|bytes?|chars?|characters?|tokens?|rows?|lines?|items?|entries|requests?|calls?|retries|attempts?|times|connections?"
    r"|workers?|threads?|files?|users?|m|mm|cm|km|met(?:er|re)s?|px|kg|[kM]?Hz|x"
)
_HAN_UNITS = (
    "毫秒|秒|分钟|小时|天|周|个月|月|年|次|个|条|行|列|字节|字符|兆|元|块|倍|度|米|毫米|厘米|公里|克|人|台|份|页|批|级|层|位"
)
VALUE = re.compile(
    r"(?<![A-Za-z0-9_#./:-])[+-]?(?:"
    rf"\d[\d,_]*(?:\.\d+)*\s?(?:(?:{_UNITS})(?![A-Za-z0-9_])|(?:{_HAN_UNITS}))"
    r"|\d{4}-\d\d-\d\d|\d[\d,_]*(?:\.\d+)+|\d[\d,_]*\d)(?![A-Za-z0-9_/])"
    r"|(?<![\w./-])(?=[A-Za-z0-9-]*\d)[A-Za-z]{2,}(?:-[A-Za-z0-9]+)+(?![\w/-])"
    r"|(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?!\w)",
    re.A,
)
"""A number with a unit or of two digits and more, a date, a hash, a name with a number (``AB-12``)."""
NAME = re.compile(
    r"`[^`]+`|\b[A-Za-z]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|(?<![\w/])/\w|\b[A-Za-z_]\w*(?:\.\w+)*\(\)", re.A
)
REASON = re.compile(
    r"\b(?:because|since|so that|therefore|thus|hence|which means|means that|due to|in order to|as (?:the|it|they|we)\b"
    r"|otherwise|or else|would (?:have|need|be|break|bring|make|mean|lose)"
    r"|too (?:slow|large|big|many|much|few|long|late|risky|costly))\b"
    r"|因为|所以|因此|由于|以便|意味着|否则|以免|免得|为了|这样才|太(?:慢|大|多|贵|长|复杂|晚|小)",
    re.I,
)
CONTRAST = re.compile(
    r"[,;(] ?(?:and )?not\b|\bnot\b[^.;]{1,50}\bbut\b|\binstead\b|\brather than\b|\bno longer\b|\bonly\b|\bnever\b"
    r"|而不是|而非|不再|不是|[，,；] ?不(?!过|但|仅)|只(?!是|要|有)|另一(?:个|种)",
    re.I,
)
