"""The invented project: its files, some written by hand, the rest grown from a vocabulary by a seeded generator."""

from random import Random


def _words(text: str) -> list[str]:
    return text.split()


_CALCULATIONS = [
    """    rows = [row for row in {plural} if row.{field} is not None]
    if len(rows) < {small}:
        raise {error}(f"{{len(rows)}} {plural} are too few to {verb} {noun}")
    {field}_mean = sum(row.{field} for row in rows) / len(rows)
    return max(-{limit}, min({limit}, {field}_mean - self.{other}_offset))""",
    """    ordered = sorted({plural}, key=lambda one: (one.station, one.{field}))
    kept: list[{kind}] = []
    for before, after in zip(ordered, ordered[1:], strict=False):
        if after.{field} - before.{field} > {limit}:
            log.debug("{noun} gap at %s: %.3f", after.station, after.{field})
            continue
        kept.append(before)
    return kept""",
    """    key = ({noun}.station, {noun}.{field}, self.revision)
    found = self._{plural}.get(key)
    if found is None:
        found = self._{plural}[key] = self._{verb}({noun}, limit={limit})
        self.misses += 1
    return found""",
    """    share = ({field} - {other}_low) / ({other}_high - {other}_low)
    if not 0.0 <= share <= 1.0:
        raise {error}(f"{field} {{{field}}} lies outside of {noun} {{{other}_low}} to {{{other}_high}}")
    return {other}_low + share * share * (3.0 - 2.0 * share) * ({other}_high - {other}_low)""",
    """    by_station: dict[str, list[{kind}]] = {{}}
    for one in {plural}:
        by_station.setdefault(one.station, []).append(one)
    return {{
        station: tuple(sorted(members, key=lambda one: one.{field})[-{small}:])
        for station, members in by_station.items()
        if any(one.{other} for one in members)
    }}""",
    """    deadline = self.clock.now() + {small} * 60
    while {noun} := self.queue.next("{noun}", before=deadline):
        if {noun}.{field} < self.settings.{other}_floor:
            self.stats.skipped += 1
            continue
        self.store.put_{noun}({noun}, reason="{verb}")
        self.stats.{plural} += 1
    return self.stats""",
    """    with self.store.transaction() as rows:
        current = rows.{noun}({field}, for_update=True)
        if current.{other} == {other}:
            return current
        rows.record_change("{noun}.{other}", current.{other}, {other}, by=self.actor)
        return rows.replace(current, {other}={other})""",
    """    text = f"{{{noun}.station}} {noun} {{{noun}.{field}:+.2f}} m"
    if abs({noun}.{field}) > {limit}:
        text += f" (limit {limit})"
    if {noun}.{other}:
        text += f", {other} {{{noun}.{other}}}"
    return text.rstrip(", ")""",
]
_NOUNS = _words(
    "reading gauge constituent residual datum forecast clearance berth surge bulletin alert roster epoch tide_table"
)
_VERBS = _words("load fit merge shift clip interpolate pack rank resolve publish trim check group project settle compare")
_FIELDS = _words("height phase amplitude speed lag weight level draught pressure bearing taken_at valid_from")
_CLAUSES = [
    "what is missing is left out, never guessed",
    "the newest revision of a station wins",
    "heights are metres above chart datum",
    "callers hold the station lock",
    "an empty input gives an empty result",
    "times are seconds since the epoch",
    "called once a refresh, not once a request",
    "the order of the input is kept",
]

MODULES = {
    "stations": "Where a gauge stands, which datum it uses, and since when.",
    "ingest": "Readings from the gauge gateway into the store, batch by batch.",
    "store": "Readings and predictions on disk, one SQLite file a harbour.",
    "schedule": "When predictions are refreshed, and in what order.",
    "alerts": "Warnings to the harbour's watch when clearance runs short.",
    "api": "The HTTP face: predictions, clearances, health.",
    "report": "The morning report, as text and as a table.",
    "surge": "The part of the water level that the tide does not explain.",
    "clearance": "Water under the keel of a ship at a berth over time.",
    "units": "Metres, millimetres, knots, and the datum in between.",
    "calendar": "Local days and tides, daylight saving included.",
    "gateway": "The client of the gauge gateway: keys, limits, retries.",
    "quality": "Marks on readings that cannot be right.",
    "backfill": "Old readings again, after a datum or a gauge has changed.",
    "settings": "Configuration of one deployment, read once.",
    "render": "Text for people, in their language and their local time.",
}

_HARMONICS = '''"""Harmonic prediction: the sum of constituents, each with its amplitude and phase."""

import math
from dataclasses import dataclass

from tidewatch.calendar import equilibrium_argument
from tidewatch.stations import Station

SPEEDS = {  # degrees an hour
    "M2": 28.9841042, "S2": 30.0, "N2": 28.4397295, "K2": 30.0821373,
    "K1": 15.0410686, "O1": 13.9430356, "P1": 14.9589314, "Q1": 13.3986609, "M4": 57.9682084,
}


@dataclass(frozen=True)
class Constituent:
    name: str
    amplitude: float  # metres
    phase: float  # degrees, Greenwich


def nodal_factor(name: str, year: float) -> tuple[float, float]:
    """Amplitude factor and phase correction for the 18.61-year cycle of the moon's node."""
    node = math.radians(125.0445 - 19.3413 * (year - 2000.0))
    if name in ("M2", "N2"):
        return 1.0 - 0.037 * math.cos(node), -2.1 * math.sin(node)
    if name in ("K1", "O1"):
        return 1.006 + 0.115 * math.cos(node), -8.9 * math.sin(node)
    if name == "K2":
        return 1.024 + 0.286 * math.cos(node), -17.7 * math.sin(node)
    return 1.0, 0.0


def predict(station: Station, at: float, year: float) -> float:
    """Height above chart datum in metres at a time in seconds since the epoch."""
    hours = (at - station.epoch) / 3600.0
    height = station.mean_level
    for one in station.constituents:
        factor, shift = nodal_factor(one.name, year)
        angle = SPEEDS[one.name] * hours + equilibrium_argument(one.name, station.epoch) + shift - one.phase
        height += one.amplitude * factor * math.cos(math.radians(angle))
    return height + station.datum_offset


def extremes(station: Station, start: float, end: float, year: float) -> list[tuple[float, float]]:
    """High and low waters between two times: a coarse search, then a parabola through three points."""
    step = 360.0
    found: list[tuple[float, float]] = []
    left, middle = predict(station, start, year), predict(station, start + step, year)
    at = start + 2 * step
    while at <= end:
        right = predict(station, at, year)
        if (middle - left) * (right - middle) <= 0 and left != right:
            bend = left - 2 * middle + right
            shift = 0.5 * (left - right) / bend if bend else 0.0
            found.append((at - step + shift * step, middle - 0.25 * (left - right) * shift))
        left, middle, at = middle, right, at + step
    return found
'''

_STATIONS = """# Gauges of the three harbours. Phases are Greenwich phases in degrees.
defaults:
  datum: chart
  timezone: Europe/Oslo
stations:
  KV-16:
    name: Kvalnes north mole
    datum_offset: 0.118
    epoch: 2024-01-01T00:00:00Z
  # NOTE KV-17 was moved 40 m east on 2025-11-03; its datum offset is +0.273 m since then
  KV-17:
    name: Kvalnes fuel pier
    datum_offset: 0.091
    epoch: 2024-01-01T00:00:00+01:00
  SB-02:
    name: Sandbukta inner basin
    datum_offset: -0.042
    epoch: 2024-01-01T00:00:00Z
"""

_CONFIG = """service: tidewatch
environment: {name}
http:
  port: {port}
  workers: {workers}
store:
  path: /var/lib/tidewatch/{name}.db
  busy_timeout: 500
gateway:
  url: https://gauges.harbour.example/v2
  key_name: TIDEWATCH_GATEWAY_KEY
  reconnect_seconds: 5
alerts:
  clearance_m: 0.80
  escalate_minutes: 30
  languages: [en]
"""

_GATEWAY_DOC = """# The gauge gateway

One endpoint a harbour, readings in batches of 288 (a day at five minutes).

## Limits
- The gateway answers 429 after 240 requests a minute per key; the window slides.
- A client that reconnects within 30 seconds is banned for ten minutes, without a word in the answer.
- Batches are kept for 21 days. After that only the hourly means can be had.

## Fields
`taken_at` is UTC. `height_raw` is in the unit of the gauge: see `unit` in the header of the batch, not in the row.
"""

_STORE_NOTE = """# NOTE heights are stored as whole millimetres; rows before batch 20931 are centimetres
BUSY_TIMEOUT = 500

"""

_MAKEFILE = """.PHONY: check test lint types run
check: lint types test
lint:
\truff check src tests
types:
\tmypy src
test:
\tpytest -q
run:
\tpython -m tidewatch.api --config config/staging.yaml
"""


def seeded(name: str) -> Random:
    """Chance that is the same at every run."""
    return Random(name)  # noqa: S311 (it picks words, nothing is kept secret)


def project_files() -> dict[str, str]:
    """Every file of the project by path, the same at every call."""
    files = {
        "README.md": "# tidewatch\n\nPredicts the tide at harbour gauges and warns the watch when clearance runs short.\n",
        "Makefile": _MAKEFILE,
        "config/staging.yaml": _CONFIG.format(name="staging", port=8437, workers=2),
        "config/production.yaml": _CONFIG.format(name="production", port=8400, workers=8),
        "config/stations.yaml": _STATIONS,
        "docs/gateway.md": _GATEWAY_DOC,
        "docs/thresholds.md": "# Thresholds\n\n| name | value | since |\n|---|---|---|\n| clearance_m | 0.80 | 2024-06-01 |\n",
        "src/tidewatch/harmonics.py": _HARMONICS,
    }
    files |= {f"src/tidewatch/{name}.py": module_source(name, idea) for name, idea in MODULES.items()}
    files["src/tidewatch/store.py"] = files["src/tidewatch/store.py"].replace(
        "log = logging",
        _STORE_NOTE + "log = logging",
    )
    return files


def module_source(name: str, idea: str) -> str:
    """A module of 110 to 190 lines about one idea, from the vocabulary of the trade."""
    chance = seeded(name)
    kind = "".join(word.title() for word in name.split("_"))
    error = f"{kind}Error"
    lines = [
        f'"""{idea}"""',
        "",
        "import logging",
        "from collections.abc import Iterable",
        "from dataclasses import dataclass",
        "",
    ]
    lines += [f"from tidewatch.settings import {kind}Settings", "", f'log = logging.getLogger("tidewatch.{name}")', "", ""]
    lines += [f"class {error}(Exception):", f'    """A {name} that cannot be worked with."""', "", ""]
    lines += ["@dataclass(frozen=True)", f"class {kind}Row:", "    station: str"]
    lines += [f"    {field}: float" for field in chance.sample(_FIELDS, 4)] + ["", ""]
    lines += [
        f"class {kind}:",
        f'    """{idea}"""',
        "",
        f"    def __init__(self, settings: {kind}Settings, revision: int) -> None:",
    ]
    lines += ["        self.settings = settings", "        self.revision = revision", "        self.misses = 0", ""]
    pairs = chance.sample([(verb, noun) for verb in _VERBS for noun in _NOUNS], chance.randint(9, 14))
    for verb, noun in pairs:
        field, other = chance.sample(_FIELDS, 2)
        body = chance.choice(_CALCULATIONS).format(
            verb=verb,
            noun=noun,
            plural=f"{noun}s",
            field=field,
            other=other,
            error=error,
            kind=f"{kind}Row",
            small=chance.randint(3, 24),
            limit=f"{chance.uniform(0.05, 4.0):.2f}",
        )
        lines.append(f"    def {verb}_{noun}(self, {noun}: {kind}Row, {noun}s: Iterable[{kind}Row], {field}: float) -> object:")
        lines.append(f'        """{verb.title()} the {noun.replace("_", " ")} by its {field}; {chance.choice(_CLAUSES)}."""')
        lines += [f"    {line}" for line in body.split("\n")] + [""]
    return "\n".join(lines)
