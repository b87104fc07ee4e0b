import pytest

from edgeinf.core.report.cells import format_cell, format_number, header, is_numeric
from edgeinf.core.report.tree import Column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567.0, "1,234,567"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.0123, "0.0123"),
        (3.0, "3"),
    ],
)
def test_a_number_keeps_about_three_digits(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(None, "ms", "–"), (True, "", "yes"), ("x", "%", "x"), (0.125, "%", "12.5"), (7, "", "7")],
)
def test_a_cell_is_written_by_its_kind(value, unit, text):
    assert format_cell(value, Column(title="t", unit=unit)) == text


def test_the_unit_stands_in_the_header():
    assert header(Column(title="ttft", unit="ms")) == "ttft (ms)"


def test_a_column_of_flags_or_of_nothing_is_not_numeric():
    assert is_numeric(((1, True, None), (None, False, None)), 0)
    assert not is_numeric(((1, True, None),), 1)
    assert not is_numeric(((1, True, None),), 2)
