"""Instants in every form that logs use."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.times import instant, seconds_between

AT = 1793527200.0


@pytest.mark.parametrize(
    ("written", "at"),
    [
        (AT, AT), (int(AT * 1000), AT), (int(AT * 1e6), AT), (int(AT * 1e9), AT), (str(AT), AT),
        ("2026-11-01T10:00:00Z", AT), ("2026-11-01T10:00:00.000Z", AT), ("2026-11-01 10:00:00", AT),
        ("2026-11-01 11:00:00+01:00", AT), ("2026-11-01 10:00:00.0000000", AT), ("2026-11-01T10:00:00.5", AT + 0.5),
        (0, 0.0), ("soon", None), (None, None), (True, None), ([], None),
        ("nan", None), ("inf", None), (1e300, None),
    ],
)  # fmt: skip
def test_seconds_since_the_epoch(written: Any, at: float | None) -> None:
    assert instant(written) == at


def test_a_span_that_runs_back_is_none() -> None:
    assert (seconds_between(1, 3.5), seconds_between(3, 1), seconds_between(None, 1)) == (2.5, None, None)
