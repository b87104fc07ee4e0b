"""The last hour: percentiles are near the true ones, and processes add up."""

from __future__ import annotations

import random

import pytest

from edgeinf.core.events import Event
from edgeinf.serve.observe.history import SLOT_S, SLOTS, History, bucket_of, merge_slots, quantile


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_a_percentile_is_within_four_percent_of_the_true_one(share: float) -> None:
    rng = random.Random(7)
    values = sorted(rng.lognormvariate(4, 1.5) for _ in range(5000))
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    true = values[max(0, round(share * 5000) - 1)]
    assert quantile(counts, share) == pytest.approx(true, rel=0.04)


def test_of_nothing_there_is_no_percentile() -> None:
    assert quantile({}, 0.5) is None


def test_the_slots_are_bounded_and_the_oldest_go() -> None:
    history = History()
    for number in range(SLOTS + 50):
        history.fold(Event(at=float(number * SLOT_S), cache="hit"))
    assert len(history.slots) == SLOTS
    assert history.slots[0].at == 50 * SLOT_S


def test_processes_add_up_and_stay_as_they_are() -> None:
    histories = [History(), History()]
    for history in histories:
        history.fold(Event(at=100.0, cache="miss", region="r", status=503, total_ms=5.0, ttft_ms=1.0))
    (slot,) = merge_slots(history.slots for history in histories)
    assert (slot.requests, slot.errors, slot.failed) == (2, 2, {"r": 2})
    assert sum(slot.duration["r"].values()) == sum(slot.ttft.values()) == 2
    assert [h.slots[0].requests for h in histories] == [1, 1]


def test_a_request_counts_when_it_ends() -> None:
    history = History()
    history.fold(Event(at=100.0, total_ms=25_000.0))
    assert history.slots[0].at == 120
