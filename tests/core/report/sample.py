"""A small report with every kind of part, for the writers' tests."""

from __future__ import annotations

from edgeinf.core.report.tree import Axis, Chart, Column, Point, Section, Series, Table, Text

__all__ = ["CURVE", "REPORT"]

_TABLE = Table(
    title="regions",
    columns=(Column(title="name"), Column(title="ttft", unit="ms", digits=1), Column(title="loss", unit="%")),
    rows=(("east|<b>", 12.345, 0.015), ("west", None, 0.0)),
    caption="medians",
)
CURVE = Chart(
    title="hit rate",
    kind="line",
    x=Axis(title="entries", log=True),
    y=Axis(title="hit rate", unit="%"),
    series=(
        Series(name="safe", points=(Point(x=10, y=0.1), Point(x=1000, y=0.5), Point(x=float("inf"), y=0.6))),
        Series(name="loose", points=(Point(x=10, y=None), Point(x=1000, y=0.7))),
    ),
)
_SPREAD = Chart(
    title="ttft",
    kind="intervals",
    y=Axis(title="ttft", unit="ms"),
    series=(Series(name="warm", points=(Point(x="east", y=20, low=10, high=40), Point(x="west", y=None))),),
)
_BARS = Chart(
    title="errors",
    kind="bars",
    series=(
        Series(name="a", points=(Point(x="stall", y=3),)),
        Series(name="b", points=(Point(x="stall", y=6),)),
    ),
)
REPORT = Section(
    title="probe & more",
    parts=(
        Text(text="all <fine>", tone="good"),
        Section(title="figures", parts=(_TABLE, CURVE, _SPREAD, _BARS)),
    ),
)
