from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("10s", 10),
        ("5m", 300),
        ("2min", 120),
        ("24h", 86400),
        ("30d", 2592000),
        ("0", 0),
        ("1.5h", 5400),
        ("inf", math.inf),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize(("text", "size"), [("64KiB", 65536), ("1MB", 10**6), ("2GiB", 2**31), ("0", 0), ("7B", 7)])
def test_sizes_are_read(text: str, size: int) -> None:
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "rate"), [("60/min", (60, 60)), ("100k/h", (100_000, 3600)), ("1M / d", (10**6, 86400))]
)
def test_rates_are_read(text: str, rate: tuple[float, float]) -> None:
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize(("text", "share"), [("20%", 0.2), ("0%", 0), ("100 %", 1), ("0.5%", 0.005)])
def test_percentages_are_read(text: str, share: float) -> None:
    assert units.parse_percentage(text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_duration, "10"),
        (units.parse_duration, "-1s"),
        (units.parse_duration, "1 week"),
        (units.parse_size, "10"),
        (units.parse_size, "1kb"),
        (units.parse_rate, "60"),
        (units.parse_rate, "60/fortnight"),
        (units.parse_percentage, "20"),
        (units.parse_percentage, "101%"),
    ],
)
def test_what_has_no_unit_or_a_wrong_one_is_refused_with_what_is_right(parse: object, text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        parse(text)  # type: ignore[operator]


@given(st.integers(0, 10**7))
def test_whole_durations_survive_being_written(seconds: int) -> None:
    assert units.parse_duration(units.format_duration(float(seconds))) == pytest.approx(seconds, rel=1e-3)


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**31, "2 GiB")])
def test_sizes_are_written(size: int, text: str) -> None:
    assert units.format_size(size) == text
