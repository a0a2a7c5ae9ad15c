"""Text files as people save them: UTF-8, with BOM or not, UTF-16, GBK (P-5)."""

import codecs

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decode(data: bytes, *, cut: bool) -> tuple[str, str] | None:
    """The text with ``\\n`` line ends, and the encoding; None = this is not text.

    ``cut``: the data ends somewhere inside the file, so half a character at its end is left out.
    """
    for encoding in _candidates(data):
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(data, final=not cut)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text.replace("\r\n", "\n").replace("\r", "\n"), encoding
    return None


def _candidates(data: bytes) -> tuple[str, ...]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return (encoding,)
    if b"\0" in data:
        # UTF-16 without BOM: in most texts one half of each unit is often zero.
        even, odd = data[0::2].count(0), data[1::2].count(0)
        return ("utf-16-le",) if odd >= even else ("utf-16-be",)
    return ("utf-8", "gb18030")
