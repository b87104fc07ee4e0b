from xml.etree import ElementTree

import pytest

from edgeinf.core.report.svg import to_svg
from edgeinf.core.report.tree import Chart, Series
from tests.core.report.sample import REPORT

_CHARTS = REPORT.parts[1].parts[1:]


@pytest.mark.parametrize("chart", _CHARTS, ids=lambda c: c.kind)
def test_a_chart_is_well_formed_and_named(chart):
    root = ElementTree.fromstring(to_svg(chart))
    assert root.attrib["aria-label"] == chart.title
    assert "nan" not in to_svg(chart)
    assert "inf" not in to_svg(chart)


@pytest.mark.parametrize("kind", ["line", "bars", "intervals"])
def test_a_chart_without_points_is_drawn_empty(kind):
    ElementTree.fromstring(to_svg(Chart(title="t", kind=kind, series=(Series(name="s", points=()),))))


def test_each_point_tells_its_value():
    assert "<title>warm: east, 20 ms (10 ms to 40 ms)</title>" in to_svg(_CHARTS[1])
