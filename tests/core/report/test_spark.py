from edgeinf.core.report.scale import scale_for
from edgeinf.core.report.spark import bar, interval, sparkline


def test_a_sparkline_spans_its_values_and_marks_what_is_missing():
    assert sparkline([1, None, 8]) == "▁×█"


def test_a_flat_sparkline_is_flat():
    assert sparkline([5, 5]) == "▄▄"


def test_only_the_last_values_are_shown():
    assert sparkline([9, 1, 2], width=2) == "▁█"


def test_a_bar_fills_its_share():
    assert bar(0.5, 4) == "██"
    assert bar(2, 4) == "████"
    assert bar(0, 4) == ""


def test_an_interval_shows_ends_and_middle():
    assert interval(0, 5, 10, scale_for([0, 10]), 11) == "├────●────┤"
