"""How far the estimate is from a real tokenizer (o200k) on each kind of content, and how much faster it is (M-1)."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from bench._row import Row
from sojourn.meter import estimate_text, fit_ends, fit_head, total


def run(quick: bool) -> list[Row]:
    """Errors in percent (beside them what characters / 4 would say), and speeds as ratios to tiktoken's."""
    corpora = _corpora()
    try:
        encode = corpora.o200k().encode_ordinary
    except ImportError as missing:
        return [Row("error against o200k", 0.0, "%", f"not measured: {missing}")]
    rows = []
    for name, text in {**corpora.corpora(), "base64 (counted near its worst)": corpora.base64_run()}.items():
        real = len(encode(text))
        rows.append(
            Row(
                f"estimate against o200k: {name}",
                100 * (total(estimate_text(text)) / real - 1),
                "%",
                f"characters / 4: {100 * (len(text) / 4 / real - 1):+.0f}%; {real:,} tokens",
            )
        )
    rounds = 3 if quick else 15
    for name in ("English prose", "Python", "JSON, dense", "Chinese"):
        text = corpora.corpora()[name]
        text = text * (100_000 // len(text) + 1)
        size = len(text.encode()) / 1e6
        ours, theirs = _best(lambda text=text: estimate_text(text), rounds), _best(lambda text=text: encode(text), rounds)
        note = f"{size / ours:.0f} MB/s, tiktoken {size / theirs:.0f}"
        rows.append(Row(f"speed over tiktoken's: {name}", theirs / ours, "times", note))
    text = corpora.english_prose() * (4 if quick else 200)
    whole = _best(lambda: estimate_text(text), rounds)
    head = _best(lambda: fit_head(text, 2_000), rounds)
    ends = _best(lambda: fit_ends(text, 2_000, omission=lambda count: f"[{count} tokens left out]"), rounds)
    megabytes = f"of {len(text) / 1e6:.1f} MB"
    rows.append(Row("fit_head to 2,000 tokens over one estimate", head / whole, "times", megabytes))
    rows.append(Row("fit_ends to 2,000 tokens over one estimate", ends / whole, "times", f"{megabytes}; {1e3 * ends:.0f} ms"))
    return rows


def _best(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest round."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _corpora() -> ModuleType:
    """The texts of the tests, so that tests and benchmark speak of the same ones."""
    path = Path(__file__).resolve().parent.parent / "tests" / "meter" / "corpora.py"
    spec = importlib.util.spec_from_file_location("meter_corpora", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no corpora at {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
