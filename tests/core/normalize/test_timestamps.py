from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.timestamps import MASK, RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01",
        "2024-05-01T10:00:00Z",
        "2024-05-01 10:00:00.123456+00:00",
        "2024/05/01 10:00:00,123",
        "20240501T101112Z",
        "01.05.2024",
        "5/1/2024",
        "5/1/24 at 3:05 pm",
        "Monday, May 5, 2025",
        "May 5th, 2025 at 10:00",
        "5 May 2025, 10:00 AM",
        "5th of may 2025",
        "March 2025",
        "Tue, 15 Nov 1994 08:12:31 GMT",
        "Tue Nov 15 08:12:31 1994",
        "10:32 AM UTC+2",
        "10:32\u202fPM",
        "23:59:59",
    ],
)
def test_a_time_is_masked_whole(text: str) -> None:
    assert RULE.apply(f"It is {text}, friend.") == f"It is {MASK}, friend."


@pytest.mark.parametrize(
    "label", ["ts=", "timestamp: ", "epoch ", "now is ", '"created_at": ', "Current time (unix): "]
)
@pytest.mark.parametrize("epoch", ["1718000000", "1718000000.25", "1718000000123"])
def test_a_number_that_is_called_a_time_is_masked(label: str, epoch: str) -> None:
    assert RULE.apply(f"{label}{epoch}") == f"{label}{MASK}"


@pytest.mark.parametrize(
    "text",
    [
        "order 1718000000",
        "call 14155550100",
        "Python 3.11.12",
        "10.12.20.24",
        "ratio 16:9",
        "https://example.com/2024/05/01/a.html",
        "/var/log/2024-05-01/x",
        "C:\\2024-05-01\\x",
        "in 1984",
        "2024",
        "may the force be with you",
        "1,234.56",
        "-5",
        "build 2024-05-01a",
    ],
)
def test_what_is_no_time_stays(text: str) -> None:
    assert RULE.apply(text) == text


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)


def test_many_times_take_time_in_proportion() -> None:
    line = "2024-05-01 10:00:00 and May 5, 2024 at 10:00; "
    assert RULE.apply(line * 5000) == f"{MASK} and {MASK}; " * 5000


@pytest.mark.parametrize("date", ["2024-05-01", "May 5, 2025", "ts=1718000000", "9:05"])
def test_a_time_is_found_among_numbers_that_are_none(date: str) -> None:
    numbers = "In 14 days, 1,000 of 2,500 for $3.99 each (section 12.). " * 3
    masked = date.removeprefix("ts=")
    assert RULE.apply(f"{numbers}{date}; {numbers}") == f"{numbers}{date.replace(masked, MASK)}; {numbers}"
