"""Charts as inline SVG: no script, colours by CSS class, every point with its value as a tooltip."""

from __future__ import annotations

from html import escape

from edgeinf.core.report.cells import format_cell, format_number
from edgeinf.core.report.scale import scale_for
from edgeinf.core.report.tree import Axis, Chart, Column, Point, Series

__all__ = ["COLOURS", "to_svg"]

COLOURS = 8  # classes c0 to c7, defined by the page's style
_DOTS = 200  # beyond that many points a line needs no marks
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, _ROW = 720, 280, 64, 16, 12, 44, 26


def to_svg(chart: Chart) -> str:
    """Return one ``<svg>`` element; the page around it holds title, legend and the table."""
    body, height = _line(chart) if chart.kind == "line" else _rows(chart)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(chart.title)}" '
        f'preserveAspectRatio="xMidYMid meet">{body}</svg>'
    )


def _say(value: float | str | None, axis: Axis) -> str:
    text = format_cell(value, Column(title="", unit=axis.unit))
    return f"{text} {axis.unit}".strip() if not isinstance(value, str) else text


def _tick(value: float, axis: Axis) -> str:
    return f"{format_number(value * 100)} %" if axis.unit == "%" else format_number(value)


def _tooltip(series: Series, point: Point, chart: Chart) -> str:
    text = f"{series.name}: {_say(point.x, chart.x)}, {_say(point.y, chart.y)}"
    if point.low is not None and point.high is not None:
        text += f" ({_say(point.low, chart.y)} to {_say(point.high, chart.y)})"
    return f"<title>{escape(text)}</title>"


def _text(kind: str, x: float, y: float, anchor: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _rule(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _dot(colour: str, x: float, y: float, radius: int, tooltip: str) -> str:
    return f'<circle class="dot {colour}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">{tooltip}</circle>'


def _line(chart: Chart) -> tuple[str, int]:
    points = [p for s in chart.series for p in s.points if p.y is not None]
    across = scale_for((float(p.x) for p in points), log=chart.x.log)
    up = scale_for((p.y for p in points if p.y is not None), log=chart.y.log, from_zero=not chart.y.log)

    def at_x(value: float) -> float:
        return _LEFT + across.share(value) * (_WIDTH - _LEFT - _RIGHT)

    def at_y(value: float) -> float:
        return _HEIGHT - _BOTTOM - up.share(value) * (_HEIGHT - _TOP - _BOTTOM)

    out = []
    for tick in up.ticks():
        out.append(_rule("grid", _LEFT, at_y(tick), _WIDTH - _RIGHT, at_y(tick)))
        out.append(_text("tick", _LEFT - 6, at_y(tick) + 4, "end", _tick(tick, chart.y)))
    for tick in across.ticks(7):
        out.append(_text("tick", at_x(tick), _HEIGHT - _BOTTOM + 16, "middle", _tick(tick, chart.x)))
    out.append(_axis_title(chart.x, _HEIGHT - 6))
    for number, series in enumerate(chart.series):
        colour = f"c{number % COLOURS}"
        drawn = [(at_x(float(p.x)), at_y(p.y), p) for p in series.points if p.y is not None]
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y, _) in enumerate(drawn))
        out.append(f'<path class="line {colour}" d="{path}"/>' if path else "")
        if len(drawn) <= _DOTS:
            out += [_dot(colour, x, y, 3, _tooltip(series, p, chart)) for x, y, p in drawn]
    return "".join(out), _HEIGHT


def _rows(chart: Chart) -> tuple[str, int]:
    lines = [(number, s, p) for number, s in enumerate(chart.series) for p in s.points]
    categories = list(dict.fromkeys(str(p.x) for _, _, p in lines))
    lines.sort(key=lambda line: (categories.index(str(line[2].x)), line[0]))
    many = len(chart.series) > 1
    labels = [f"{p.x} · {s.name}" if many else str(p.x) for _, s, p in lines]
    left = min(300, 24 + 7 * max((len(label) for label in labels), default=0))
    values = [v for _, _, p in lines for v in (p.y, p.low, p.high) if v is not None]
    scale = scale_for(values, log=chart.y.log, from_zero=not chart.y.log)
    bottom = _TOP + _ROW * len(lines)

    def at(value: float) -> float:
        return left + scale.share(value) * (_WIDTH - left - _RIGHT - 60)

    out = []
    for tick in scale.ticks():
        out.append(_rule("grid", at(tick), _TOP, at(tick), bottom))
        out.append(_text("tick", at(tick), bottom + 16, "middle", _tick(tick, chart.y)))
    out.append(_axis_title(chart.y, bottom + _BOTTOM - 6))
    for row, ((number, series, point), label) in enumerate(zip(lines, labels, strict=True)):
        middle = _TOP + _ROW * row + _ROW / 2
        out.append(_text("label", left - 8, middle + 4, "end", label))
        if point.y is not None:
            low, high = (point.y if v is None else v for v in (point.low, point.high))
            tooltip, colour = _tooltip(series, point, chart), f"c{number % COLOURS}"
            if chart.kind == "bars":
                out.append(_bar(colour, at(scale.low), middle - 8, at(point.y) - at(scale.low), tooltip))
            else:
                out.append(_rule(f"line {colour}", at(low), middle, at(high), middle))
                out.append(_dot(colour, at(point.y), middle, 5, tooltip))
            out.append(_text("tick", at(max(point.y, high)) + 8, middle + 4, "start", _tick(point.y, chart.y)))
    return "".join(out), bottom + _BOTTOM


def _bar(colour: str, x: float, y: float, width: float, tooltip: str) -> str:
    size = f'x="{x:.1f}" y="{y:.1f}" width="{max(1.0, width):.1f}" height="16" rx="2"'
    return f'<rect class="bar {colour}" {size}>{tooltip}</rect>'


def _axis_title(axis: Axis, y: float) -> str:
    text = f"{axis.title} ({axis.unit})" if axis.unit and axis.unit != "%" else axis.title
    return _text("tick", _WIDTH / 2, y, "middle", text)
