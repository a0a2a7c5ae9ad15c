"""The picture of a session: its level over the steps, its windows, its checkpoints. Pure text and SVG, no dependency."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import log10

import msgspec


class Point(msgspec.Struct, frozen=True):
    """What one request held."""

    step: int
    """From 1."""
    seq: int
    level: int
    """Tokens."""


class Stay(msgspec.Struct, frozen=True):
    """One window: when it opened and its lines."""

    number: int
    kind: str
    """``start``, ``rebuild``, ``compaction``."""
    reason: str
    step: int
    """The first step that it served."""
    level_before: int
    """Tokens, as the rest."""
    level_after: int
    trigger: int
    hard: int


class Mark(msgspec.Struct, frozen=True):
    """A checkpoint."""

    step: int
    covered_seq: int


class SweepRow(msgspec.Struct, frozen=True):
    """One trigger that was tried."""

    trigger: int
    """Tokens."""
    units: float
    """Input of the session in units of one fresh token."""
    recall: float | None
    """0 to 1; None = nothing was asked for."""
    windows: int


_ROWS = 12
_BLOCKS = " ▁▂▃▄▅▆▇█"
_NARROWEST = 40
_PAINT = {"even": "36", "odd": "34", "trigger": "33", "hard": "31", "over": "31", "mark": "32", "faint": "2"}


def amount(tokens: float) -> str:
    """Tokens in few characters: ``950``, ``12.3K``, ``180K``, ``1.2M`` (K = 1,000)."""
    for scale, unit in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= scale * 0.9995:
            value = tokens / scale
            return f"{value:.0f}{unit}" if value >= 99.95 or value == round(value) else f"{value:.1f}{unit}"
    return f"{tokens:.0f}"


# --- terminal -----------------------------------------------------------------------------------------------------


def terminal_chart(
    points: Sequence[Point], windows: Sequence[Stay], width: int = 80, color: bool = False, marks: Sequence[Mark] = ()
) -> str:
    """Level over steps, at most ``width`` characters wide (at least 40), lines without trailing space.

    Below it the windows with their numbers, the checkpoints and a legend. Several steps in one column show the highest.
    """
    if not points:
        return "no steps yet"
    columns = max(_NARROWEST, width) - 8
    spans = _columns(points, columns)
    # Half a row of air, so that hard and trigger stand on rows of their own.
    top = max(*(point.level for point in points), *(window.hard for window in windows), 1) * 2 * _ROWS // (2 * _ROWS - 1)
    labels = _labels(top)
    stays = [_stay_at(windows, last.step) for _, last in spans]
    levels = [level for level, _ in spans]
    lines = []
    for row in range(_ROWS - 1, -1, -1):
        cells = [_cell(level, stay, row, top) for level, stay in zip(levels, stays, strict=True)]
        painted = "".join(
            _paint("".join(character for character, _ in run), name, color)
            for name, run in groupby(cells, key=lambda cell: cell[1])
        )
        lines.append(f"{labels.get(row, ''):>6} {'┤' if row in labels else '│'}{painted}")
    ends = [last.step for _, last in spans]
    lines.append(f"{'windows':>7} {_window_row(windows, ends, color)}")
    if marks:
        lines.append(f"{'marks':>7} {_mark_row(marks, ends, color)}")
    steps = f"{points[0].step:<{columns - 5}}{points[-1].step:>5}"
    lines += [f"{'steps':>7} {steps}", _legend(windows, bool(marks), color)]
    return "\n".join(line.rstrip() for line in lines)


def _columns(points: Sequence[Point], columns: int) -> list[tuple[int, Point]]:
    """For each column the highest level in it and the last point in it."""
    count = len(points)
    spans = []
    for column in range(columns):
        first = column * count // columns
        group = points[first : max(first + 1, (column + 1) * count // columns)]
        spans.append((max(point.level for point in group), group[-1]))
    return spans


def _stay_at(windows: Sequence[Stay], step: int) -> Stay | None:
    return next((window for window in reversed(windows) if window.step <= step), None)


def _labels(top: int) -> dict[int, str]:
    """The amounts beside the rows in which they lie."""
    unit = _nice(top / 4)
    return {_row_of(int(i * unit), top): amount(i * unit) for i in range(1, int(top / unit) + 1)}


def _cell(level: int, stay: Stay | None, row: int, top: int) -> tuple[str, str]:
    """One character of the picture and the name of its paint."""
    filled = min(8, max(0, round(level * _ROWS * 8 / top) - row * 8))
    if filled:
        over = stay is not None and level >= stay.trigger
        return _BLOCKS[filled], "over" if over else "odd" if stay and stay.number % 2 else "even"
    if stay and _row_of(stay.hard, top) == row:
        return "─", "hard"
    if stay and _row_of(stay.trigger, top) == row:
        return "┄", "trigger"
    return " ", "even"


def _row_of(level: int, top: int) -> int:
    return min(_ROWS - 1, level * _ROWS // top)


def _window_row(windows: Sequence[Stay], ends: list[int], color: bool) -> str:
    """Boundaries with their numbers, as far as there is room for them."""
    row = ""
    for window in windows:
        at = _column_of(window.step, ends)
        if at >= len(row):
            label = f"├{window.number}"
            row = f"{row:<{at}}{label if at + len(label) <= len(ends) else '├'}"
    return _paint(row, "faint", color)


def _mark_row(marks: Sequence[Mark], ends: list[int], color: bool) -> str:
    cells = [" "] * len(ends)
    for mark in marks:
        cells[_column_of(mark.step, ends)] = "◆"
    return _paint("".join(cells).rstrip(), "mark", color)


def _column_of(step: int, ends: list[int]) -> int:
    """The first column that shows this step; the last one for a step that has not been."""
    return next((column for column, end in enumerate(ends) if end >= step), len(ends) - 1)


def _legend(windows: Sequence[Stay], has_marks: bool, color: bool) -> str:
    entries = [_paint("█", "even", color) + " level"]
    if windows:
        entries.append(_paint("┄", "trigger", color) + f" trigger {amount(windows[-1].trigger)}")
        entries.append(_paint("─", "hard", color) + f" hard {amount(windows[-1].hard)}")
        entries.append("├ window")
    if has_marks:
        entries.append(_paint("◆", "mark", color) + " checkpoint")
    return " " * 8 + "  ".join(entries)


def _paint(text: str, name: str, color: bool) -> str:
    return f"\x1b[{_PAINT[name]}m{text}\x1b[0m" if color and text.strip() else text


def sweep_chart(rows: Sequence[SweepRow], width: int = 80, color: bool = False) -> str:
    """Cost and continuity over the trigger (C-18): one line a trigger, the cheapest one named."""
    if not rows:
        return "no triggers were tried"
    bar = max(6, (max(_NARROWEST, width) - 44) // 2)
    dearest = max(1.0, *(row.units for row in rows))
    cheapest = min(row.units for row in rows)
    lines = [f"{'trigger':>8}  {'cost, fresh tokens':<{bar + 7}}  {'continuity':<{bar + 5}}  windows"]
    for row in rows:
        cost = _paint(f"{_bar(row.units / dearest, bar):<{bar}}", "even", color)
        kept = _paint(f"{_bar(row.recall or 0.0, bar):<{bar}}", "mark", color)
        share = "-" if row.recall is None else f"{row.recall:.0%}"
        note = "  cheapest" if row.units == cheapest else ""
        lines.append(f"{amount(row.trigger):>8}  {cost} {amount(row.units):>6}  {kept} {share:>4}  {row.windows:>7}{note}")
    return "\n".join(lines)


def _bar(share: float, width: int) -> str:
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


# --- SVG ----------------------------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 960, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 58, 62
_STYLE = """
.paper { fill: #ffffff; } svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
text { fill: #57606a; font-size: 12px; } .title { fill: #1f2328; font-size: 16px; font-weight: 600; }
.grid { stroke: #d8dee4; stroke-width: 1; } .band { fill: #0969da; fill-opacity: 0.05; } .band.odd { fill-opacity: 0; }
.edge { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 2 3; } .number { font-weight: 600; fill: #1f2328; }
.area { fill: #0969da; fill-opacity: 0.18; } .level { fill: none; stroke: #0969da; stroke-width: 1.8; stroke-linejoin: round; }
.trigger { fill: none; stroke: #bc6c00; stroke-width: 1.5; stroke-dasharray: 6 4; }
.hard { fill: none; stroke: #cf222e; stroke-width: 1.5; } .mark { fill: #1a7f37; }
@media (prefers-color-scheme: dark) {
.paper { fill: #0d1117; } text { fill: #9198a1; } .title, .number { fill: #f0f6fc; } .grid { stroke: #2a313c; }
.band { fill: #4493f8; fill-opacity: 0.09; } .area { fill: #4493f8; fill-opacity: 0.25; } .level { stroke: #4493f8; }
.edge { stroke: #656c76; } .trigger { stroke: #d29922; } .hard { stroke: #f85149; } .mark { fill: #3fb950; }
}
"""


_TITLE_CHARACTERS = 62


def _short(title: str) -> str:
    """As much of the title as stands beside the key; Chinese counts double."""
    width = 0
    for at, character in enumerate(title):
        width += 2 if ord(character) > 0x2E7F else 1
        if width > _TITLE_CHARACTERS:
            return title[:at].rstrip() + "…"
    return title


def svg(points: Sequence[Point], windows: Sequence[Stay], title: str, marks: Sequence[Mark] = ()) -> str:
    """The same picture as one self-contained SVG: no script, no font, no address but the SVG namespace.

    It follows the reader's light or dark scheme; each window and checkpoint has a tooltip.
    """
    scale = _Scale(points, windows)
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="title" x="{_LEFT}" y="26">{escape(_short(title))}</text>',
        *_grid(scale),
        *_bands(scale, windows),
        *_level(scale, points, windows),
        *_limits(scale, windows),
        *_checkpoints(scale, marks),
        *_key(bool(marks)),
        "</svg>",
    ]
    return "\n".join(body) + "\n"


_WHOLE = Stay(0, "", "", 0, 0, 0, 0, 0)
"""Stands for a session without windows."""


class _Scale:
    """Where steps and levels stand on the picture."""

    def __init__(self, points: Sequence[Point], windows: Sequence[Stay]) -> None:
        self.first = points[0].step if points else 1
        self.last = max(points[-1].step if points else 1, self.first + 1)
        most = max([point.level for point in points] + [window.hard for window in windows], default=1)
        self.unit = _nice(most / 4)
        self.top = max(most * 1.04, 1)

    def x(self, step: float) -> float:
        share = (step - self.first) / (self.last - self.first)
        return round(_LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, level: float) -> float:
        return round(_HEIGHT - _BOTTOM - level / self.top * (_HEIGHT - _TOP - _BOTTOM), 1)


def _nice(value: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten at or above ``value``."""
    power: float = 10.0 ** int(log10(max(value, 1.0)))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value)


def _grid(scale: _Scale) -> Iterator[str]:
    level = 0.0
    while level <= scale.top:
        y = scale.y(level)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{amount(level)}</text>'
        level += scale.unit
    apart = int(_nice((scale.last - scale.first) / 8))
    for step in sorted({scale.first, *range(-(-scale.first // apart) * apart, scale.last + 1, apart)}):
        yield f'<text x="{scale.x(step)}" y="{_HEIGHT - _BOTTOM + 32}" text-anchor="middle">{step}</text>'
    yield f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">steps (model calls)</text>'
    middle = _HEIGHT / 2
    yield f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">tokens in the request</text>'


def _spans(scale: _Scale, windows: Sequence[Stay]) -> Iterator[tuple[Stay, float, float]]:
    for window, follower in _pairs(windows):
        yield window, scale.x(window.step), scale.x(follower.step if follower else scale.last)


def _pairs(windows: Sequence[Stay]) -> Iterator[tuple[Stay, Stay | None]]:
    """Each window with the one after it."""
    return zip(windows, [*windows[1:], None][: len(windows)], strict=True)


def _bands(scale: _Scale, windows: Sequence[Stay]) -> Iterator[str]:
    free = 0.0
    for window, left, right in _spans(scale, windows):
        tip = (
            f"Window {window.number} ({window.kind}, {window.reason}): from step {window.step}, "
            f"{amount(window.level_before)} before, {amount(window.level_after)} after; trigger "
            f"{amount(window.trigger)}, hard {amount(window.hard)}"
        )
        parity = "odd" if window.number % 2 else "even"
        yield f"<g><title>{escape(tip)}</title>"
        area = f'x="{left}" y="{_TOP}" width="{max(0.0, right - left):.1f}" height="{_HEIGHT - _TOP - _BOTTOM}"'
        yield f'<rect class="band {parity}" {area} pointer-events="all"/>'
        yield f'<line class="edge" x1="{left}" x2="{left}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        if left >= free:
            yield f'<text class="number" x="{left + 4}" y="{_TOP - 6}">{window.number}</text>'
            free = left + 8 + 8 * len(str(window.number))
        yield "</g>"


def _level(scale: _Scale, points: Sequence[Point], windows: Sequence[Stay]) -> Iterator[str]:
    """One line and area a window, so that the drop between two is a gap at the boundary and not a slope."""
    for window, follower in _pairs(windows or [_WHOLE]):
        mine = [point for point in points if window.step <= point.step and (follower is None or point.step < follower.step)]
        if not mine:
            continue
        line = [(scale.x(point.step), scale.y(point.level)) for point in mine]
        if follower is not None:
            line.append((scale.x(follower.step), scale.y(max(follower.level_before, mine[-1].level))))
        path = " L".join(f"{x} {y}" for x, y in line)
        base = scale.y(0)
        yield f'<path class="area" pointer-events="none" d="M{line[0][0]} {base} L{path} L{line[-1][0]} {base} Z"/>'
        yield f'<path class="level" pointer-events="none" d="M{path}"/>'


def _limits(scale: _Scale, windows: Sequence[Stay]) -> Iterator[str]:
    spans = list(_spans(scale, windows))
    for name in ("trigger", "hard"):
        path = " ".join(
            f"{'L' if i else 'M'}{left} {scale.y(getattr(window, name))} L{right} {scale.y(getattr(window, name))}"
            for i, (window, left, right) in enumerate(spans)
        )
        if path:
            yield f'<path class="{name}" pointer-events="none" d="{path}"/>'


def _checkpoints(scale: _Scale, marks: Sequence[Mark]) -> Iterator[str]:
    y = _HEIGHT - _BOTTOM + 10
    for mark in marks:
        x = scale.x(mark.step)
        tip = f"Checkpoint at step {mark.step}: covers messages up to {mark.covered_seq}"
        yield f'<path class="mark" d="M{x} {y - 5} l5 5 l-5 5 l-5 -5 Z"><title>{escape(tip)}</title></path>'


def _key(has_marks: bool) -> Iterator[str]:
    entries = [("level", "level"), ("trigger", "trigger"), ("hard", "hard line")]
    x = _WIDTH - _RIGHT - 90 * len(entries) - (114 if has_marks else 0)
    for name, label in entries:
        yield f'<path class="{name}" d="M{x} 22 h22"/><text x="{x + 28}" y="26">{label}</text>'
        x += 90
    if has_marks:
        x += 12
        yield f'<path class="mark" d="M{x + 6} 17 l5 5 l-5 5 l-5 -5 Z"/><text x="{x + 18}" y="26">checkpoint</text>'
