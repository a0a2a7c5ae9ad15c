"""Run as a script, never imported by the package: prints the text of some pages of a PDF as one JSON object."""

import json
import sys

_MEMORY = 1 << 30
_PROCESSOR_SECONDS = 30


def _limit() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_PROCESSOR_SECONDS, _PROCESSOR_SECONDS))


def _answer(path: str, first: int, count: int, most: int) -> dict[str, object]:
    try:
        from pypdf import PdfReader
    except ImportError:
        return {"missing": True}
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is locked with a password"}
        pages = len(reader.pages)
        texts: list[str] = []
        room = most
        for number in range(first, min(pages, first + count - 1) + 1):
            text = reader.pages[number - 1].extract_text().encode("utf-8", "replace").decode("utf-8")
            room -= len(json.dumps(text))
            if room < 0 and texts:
                break
            texts.append(text if room >= 0 else text[: most // 12])
        return {"pages": pages, "texts": texts}
    except MemoryError:
        return {"error": "it needs too much memory"}
    except Exception as error:  # noqa: BLE001 (a broken file may raise anything: that is why this is a process of its own)
        return {"error": f"{type(error).__name__}: {error}"[:300]}


if __name__ == "__main__":
    _limit()
    sys.stdout.write(json.dumps(_answer(sys.argv[1], *map(int, sys.argv[2:5]))))
