"""What failed is left alone, longer each time."""

from __future__ import annotations

import logging

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.serve.context.patience import Patience


def test_it_rests_longer_each_time_up_to_a_bound_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    patience = Patience("it fails", "it works again", first_s=10, most_s=35, now=clock.monotonic)
    caplog.set_level(logging.WARNING)
    patience.worked()
    assert not patience.resting()
    for rest_s in (10, 20, 35, 35):
        patience.failed("no")
        clock.advance(rest_s - 0.1)
        assert patience.resting()
        clock.advance(0.2)
        assert not patience.resting()
    assert caplog.messages == ["it fails: no"]
    patience.worked()
    patience.failed("again no")
    assert caplog.messages[1:] == ["it works again", "it fails: again no"]
    clock.advance(10.1)
    assert not patience.resting()
