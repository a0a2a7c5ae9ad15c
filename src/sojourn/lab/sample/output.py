"""What commands print: logs, test runs, tables, profiles. Seeded, so a command prints the same at every run."""

from sojourn.lab.sample.project import MODULES, seeded

_EVENTS = [
    "INFO ingest batch stored station={station} batch={batch} rows=288 lag_ms={ms}",
    "INFO schedule refresh done station={station} predictions={n} took_ms={ms}",
    "DEBUG gateway GET /v2/{station}/batches?after={batch} 200 in {ms} ms, {n} requests this minute",
    "INFO api GET /predictions/{station}?hours=48 200 {n} bytes {ms} ms",
    "WARNING quality spike dropped station={station} batch={batch} row={n} jump={jump:.3f}",
    "INFO clearance berth=B{n} station={station} least={jump:.2f} at hour {hour}",
    "DEBUG store checkpointed wal pages={n} took_ms={ms}",
    "INFO alerts nothing to say station={station} clearance={jump:.2f}",
]
_STATIONS = ["KV-16", "KV-17", "SB-02", "SB-05", "TN-01", "TN-04"]


def log(seed: str, count: int, *, at_end: str = "") -> str:
    """Lines of the service's log, a few seconds apart; ``at_end`` follows as it is."""
    chance = seeded(seed)
    seconds = chance.randint(2 * 3600, 7 * 3600)
    lines = []
    for _ in range(count):
        seconds += chance.randint(1, 40)
        event = chance.choice(_EVENTS).format(
            station=chance.choice(_STATIONS),
            batch=chance.randint(20_880, 20_990),
            ms=chance.randint(3, 2_900),
            n=chance.randint(12, 980),
            jump=chance.uniform(0.1, 2.6),
            hour=chance.randint(1, 47),
        )
        stamp = f"2026-03-12T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{chance.randint(0, 999):03d}Z"
        lines.append(f"{stamp} {event}")
    return "\n".join([*lines, at_end] if at_end else lines)


def suite(seed: str, passed: int, failure: str = "", seconds: float = 0.0) -> str:
    """A test run: verbose lines, then what failed, then the count."""
    chance = seeded(seed)
    names = list(MODULES)
    lines = [
        "============================= test session starts =============================",
        f"collected {passed + bool(failure)} items",
        "",
    ]
    for i in range(passed):
        name = names[i * len(names) // passed]
        what = chance.choice(["keeps", "drops", "orders", "refuses", "merges", "rounds", "repeats"])
        thing = chance.choice(
            ["empty_input", "newest_revision", "gaps", "late_batch", "spikes", "utc_days", "negative_heights"]
        )
        lines.append(
            f"tests/test_{name}.py::test_{what}_{thing}[{chance.choice(_STATIONS)}] PASSED [{(i + 1) * 100 // passed:3d}%]"
        )
    took = seconds or passed * 0.043
    if failure:
        lines += ["", "=================================== FAILURES ===================================", failure]
        lines += [f"========================= 1 failed, {passed} passed in {took:.2f}s ========================="]
    else:
        lines += ["", f"============================= {passed} passed in {took:.2f}s ============================="]
    return "\n".join(lines)


def residuals(seed: str, days: int, shift: float) -> str:
    """Predicted against measured, one line a station and day."""
    chance = seeded(seed)
    lines = [f"{'day':<12}{'station':<9}{'n':>5}{'mean':>9}{'rms':>8}{'worst':>8}{'lag_min':>9}"]
    for day in range(1, days + 1):
        for station in _STATIONS[:4]:
            off = shift if station == "KV-17" else 0.0
            mean, rms = chance.gauss(off * 0.4, 0.02), abs(chance.gauss(0.05 + off, 0.012))
            lag = chance.gauss(off * 240, 1.5)
            count = 288 - chance.randint(0, 9)
            lines.append(f"2026-03-{day:02d}  {station:<9}{count:>5}{mean:>9.3f}{rms:>8.3f}{rms * 2.7:>8.3f}{lag:>9.1f}")
    return "\n".join(lines)


def profile(seed: str, first: str) -> str:
    """A profile by own time; ``first`` is its top line."""
    chance = seeded(seed)
    lines = ["   ncalls  tottime  percall  cumtime  filename:lineno(function)", first]
    own = 1.9
    for name in chance.sample(list(MODULES), 14):
        own *= chance.uniform(0.6, 0.9)
        calls = chance.randint(300, 90_000)
        function = chance.choice(["fit_residual", "load_reading", "merge_epoch", "project_tide_table", "resolve_datum"])
        line = f"src/tidewatch/{name}.py:{chance.randint(30, 180)}({function})"
        lines.append(f"{calls:>9} {own:>8.3f} {own / calls:>8.6f} {own * 1.4:>8.3f}  {line}")
    return "\n".join(lines)


def check(seed: str, passed: int) -> str:
    """``make check`` when all is well."""
    lines = [
        "ruff check src tests",
        "All checks passed!",
        "mypy src",
        "Success: no issues found in 18 source files",
        "pytest -q",
    ]
    for done in range(0, passed, 40):
        upto = min(passed, done + 40)
        lines.append(f"{'.' * (upto - done):<72}[{upto * 100 // passed:3d}%]")
    return "\n".join([*lines, f"{passed} passed in {passed * 0.043 + len(seed) / 9:.2f}s"])


def readings(seed: str, count: int) -> str:
    """A CSV of readings, five minutes apart."""
    chance = seeded(seed)
    lines = ["taken_at,station,height_mm,quality"]
    height = 1_450
    for i in range(count):
        height += chance.randint(-38, 41)
        quality = chance.choice(["good", "good", "good", "spike"])
        lines.append(f"2026-03-11T{i // 12 % 24:02d}:{i * 5 % 60:02d}:00Z,KV-17,{height},{quality}")
    return "\n".join(lines)
