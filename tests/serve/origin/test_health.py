"""When a region is left out, and how it comes back."""

from __future__ import annotations

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import ActiveHealth
from edgeinf.core.config.schema import Health as Policy
from edgeinf.serve.origin.health import CLOSED, DUE, OPEN, Health, is_fault


def fail(health: Health, clock: FakeClock, times: int) -> None:
    for _ in range(times):
        health.fail(clock.monotonic())


def opened(clock: FakeClock, **policy: object) -> Health:
    health = Health(Policy(cooldown=5.0, **policy))  # type: ignore[arg-type]
    fail(health, clock, 5)
    return health


def test_failures_in_a_row_open_a_region_before_the_minimum_count():
    clock, health = FakeClock(), Health(Policy(min_requests=20))
    fail(health, clock, 4)
    assert health.state(clock.monotonic()) == CLOSED
    fail(health, clock, 1)
    assert health.state(clock.monotonic()) == OPEN


@pytest.mark.parametrize(("answered", "failed", "state"), [(16, 3, CLOSED), (17, 3, OPEN), (18, 2, CLOSED)])
def test_the_ratio_counts_only_from_the_minimum_on(answered: int, failed: int, state: str):
    clock, health = FakeClock(), Health(Policy(min_requests=20, max_error_ratio=0.1))
    for number in range(answered):
        health.succeed(clock.monotonic(), started=clock.monotonic())
        if number < failed - 1:
            fail(health, clock, 1)
    fail(health, clock, 1)
    assert health.state(clock.monotonic()) == state


def test_failures_older_than_the_window_are_forgotten():
    clock, health = FakeClock(), Health(Policy(window=60.0, min_requests=4, max_error_ratio=0.5))
    fail(health, clock, 3)
    clock.advance(61)
    health.heard(clock.monotonic())
    fail(health, clock, 1)
    assert health.state(clock.monotonic()) == CLOSED
    assert health.counts(clock.monotonic()) == (0, 1)


def test_what_the_client_did_wrong_counts_for_nothing():
    clock, health = FakeClock(), Health()
    for _ in range(100):
        health.heard(clock.monotonic())
    assert health.counts(clock.monotonic()) == (0, 0)
    assert health.state(clock.monotonic()) == CLOSED


@pytest.mark.parametrize(
    ("cause", "fault"),
    [
        ("400", False),
        ("404", False),
        ("429", False),
        ("500", True),
        ("529", True),
        ("timeout", True),
        ("connect", True),
    ],
)
def test_whose_fault_a_cause_is(cause: str, fault: bool):
    assert is_fault(cause) is fault


def test_after_the_cooldown_there_is_one_trial_until_its_lease_ends():
    clock = FakeClock()
    health = opened(clock)
    clock.advance(5)
    assert health.state(clock.monotonic()) == DUE
    health.begin_trial(clock.monotonic())
    assert health.state(clock.monotonic()) == OPEN
    clock.advance(19.9)
    assert health.state(clock.monotonic()) == OPEN
    clock.advance(0.2)
    assert health.state(clock.monotonic()) == DUE


def test_a_trial_that_came_to_nothing_is_free_again():
    clock = FakeClock()
    health = opened(clock)
    clock.advance(5)
    health.begin_trial(clock.monotonic())
    health.end_trial()
    assert health.state(clock.monotonic()) == DUE


def test_a_failed_trial_sets_a_fresh_deadline_and_a_good_one_closes():
    clock = FakeClock()
    health = opened(clock)
    for _ in range(3):  # it never stays half open
        clock.advance(5)
        health.begin_trial(clock.monotonic())
        clock.advance(1)
        health.fail(clock.monotonic(), trial=True)
        clock.advance(4.9)
        assert health.state(clock.monotonic()) == OPEN
        clock.advance(0.1)
        assert health.state(clock.monotonic()) == DUE
    health.begin_trial(clock.monotonic())
    health.succeed(clock.monotonic(), started=clock.monotonic(), trial=True)
    assert health.state(clock.monotonic()) == CLOSED
    fail(health, clock, 1)
    assert health.state(clock.monotonic()) == CLOSED  # what opened it is over


def test_an_answer_to_a_call_from_before_does_not_close():
    clock, health = FakeClock(), Health(Policy(cooldown=5.0))
    early = clock.monotonic()
    clock.advance(1)
    fail(health, clock, 5)
    health.succeed(clock.monotonic(), started=early)
    assert health.state(clock.monotonic()) == OPEN
    health.succeed(clock.monotonic(), started=clock.monotonic())
    assert health.state(clock.monotonic()) == CLOSED


def test_a_region_that_came_back_gets_a_growing_share():
    clock = FakeClock()
    health = opened(clock)
    health.succeed(clock.monotonic(), started=clock.monotonic())
    shares = []
    for _ in range(5):
        shares.append(health.share(clock.monotonic()))
        clock.advance(2.5)
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.1)
    assert shares[-1] == 1.0


def test_rests_are_for_the_model_and_the_credential_they_were_said_to():
    clock, health = FakeClock(), Health()
    health.rest(clock.monotonic(), "big", "alice", 429, 30.0)
    assert health.resting(clock.monotonic(), "big", "alice") is not None
    assert health.resting(clock.monotonic(), "big", "bob") is None
    assert health.resting(clock.monotonic(), "small", "alice") is None
    health.rest(clock.monotonic(), "big", "", 503, 30.0)  # the server's own trouble is everybody's
    assert health.resting(clock.monotonic(), "big", "bob") is not None


def test_deadlines_only_ever_move_away():
    clock, health = FakeClock(), Health()
    health.rest(clock.monotonic(), "m", "", 429, 30.0)
    health.rest(clock.monotonic(), "m", "", 429, 5.0)
    health.rest(clock.monotonic(), "m", "", 429, None)
    clock.advance(20)
    rest = health.resting(clock.monotonic(), "m", "")
    assert rest is not None
    assert rest.firm
    health.rest(clock.monotonic(), "m", "", 429, 30.0)
    clock.advance(20)
    assert health.resting(clock.monotonic(), "m", "") is not None
    clock.advance(10)
    assert health.resting(clock.monotonic(), "m", "") is None


def test_the_memory_of_rests_is_bounded():
    clock, health = FakeClock(), Health()
    for number in range(5000):
        health.rest(clock.monotonic(), "m", f"client {number}", 429, 60.0)
    assert len(health._rests) <= 1024


def test_with_active_checks_no_call_is_the_trial_before_one_passed():
    clock = FakeClock()
    health = opened(clock, active=ActiveHealth())
    clock.advance(60)
    assert health.state(clock.monotonic()) == OPEN
    health.check(clock.monotonic(), passed=False)
    assert health.state(clock.monotonic()) == OPEN
    health.check(clock.monotonic(), passed=True)
    assert health.state(clock.monotonic()) == DUE
