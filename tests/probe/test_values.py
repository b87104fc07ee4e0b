import pytest

from edgeinf.probe.values import FAILURES, Failure, Instants, milliseconds
from tests.probe.made import attempt_of, target_of


def test_instants_are_told_relative_to_the_start_and_absent_ones_are_absent():
    told = Instants(start=1_000_000, tcp=3_500_000, tokens=[4_000_000]).relative_ms()
    assert told == {"start": 0.0, "tcp": 2.5, "tokens": [3.0]}
    assert milliseconds(0, 1) == 1e-06


def test_a_failure_is_one_of_the_known_classes():
    assert Failure("stall", "x").kind in FAILURES
    with pytest.raises(AssertionError):
        Failure("misc", "x")


def test_an_attempt_is_good_without_an_error():
    assert attempt_of().ok
    assert not attempt_of(error="stall").ok


def test_a_target_shows_no_key():
    assert "sk-" not in repr(target_of("http://h", key="sk-abcdefgh1234"))
