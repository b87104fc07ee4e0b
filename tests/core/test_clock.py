from __future__ import annotations

from edgeinf.core.clock import FakeClock, SystemClock


def test_a_fake_clock_moves_only_when_told_to() -> None:
    clock = FakeClock(10.0)
    assert (clock.now(), clock.monotonic()) == (10.0, 10.0)
    clock.advance(2.5)
    assert (clock.now(), clock.monotonic()) == (12.5, 12.5)


def test_the_systems_clock_goes_on() -> None:
    clock = SystemClock()
    assert clock.now() > 1_700_000_000
    assert clock.monotonic() <= clock.monotonic()
