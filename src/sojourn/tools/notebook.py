"""A notebook as its cells: source and text output, without the JSON around and the pictures inside."""

import json
from typing import Any

from sojourn.tools.plain import plain

_OUTPUT_MOST = 4_000
"""Characters of one output."""


def notebook_text(data: bytes) -> str | None:
    """``--- cell 3: code ---``, its source, its outputs behind ``--- output ---``; None = not a notebook as we know it."""
    try:
        book = json.loads(data)
        language = book.get("metadata", {}).get("kernelspec", {}).get("language", "")
        cells = book["cells"]
        lines = [line for number, cell in enumerate(cells, 1) for line in _cell(number, cell, language)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return "\n".join(lines) + "\n" if lines else ""


def _cell(number: int, cell: dict[str, Any], language: str) -> list[str]:
    kind = cell["cell_type"]
    name = f"{kind} {language}".strip() if kind == "code" else kind
    lines = [f"--- cell {number}: {name} ---", _joined(cell.get("source", ""))]
    for output in cell.get("outputs", ()):
        lines += ["--- output ---", _output(output)]
    return lines


def _output(output: dict[str, Any]) -> str:
    if "traceback" in output:
        said = "\n".join(output["traceback"])
    elif "text" in output:
        said = _joined(output["text"])
    else:
        data = output.get("data", {})
        said = _joined(data["text/plain"]) if "text/plain" in data else ""
        pictures = [kind for kind in data if kind.startswith("image/")]
        said = "\n".join([*([said] if said else []), *(f"[{kind} left out]" for kind in pictures)])
    said = plain(said)
    left_out = len(said) - _OUTPUT_MOST
    return said if left_out <= 0 else f"{said[:_OUTPUT_MOST]}\n[... {left_out:,} characters left out]"


def _joined(text: str | list[str]) -> str:
    return (text if isinstance(text, str) else "".join(text)).rstrip("\n")
