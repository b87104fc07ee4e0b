"""Half a minute of mixed traffic over real distances, while regions are killed, slowed, made to err, and return."""

from __future__ import annotations

import pytest

from tests.benchmarks.regions import CLIENTS, REGIONS, experiment
from tests.programs import need


@pytest.mark.timeout(180)
def test_no_call_fails_and_every_region_is_used_again_within_two_cooldowns():
    need("ip")
    report = experiment(30.0, cooldown_s=2.0)
    print(report.show(1.0))
    not_right = [call for call in report.calls if call.result not in ("right", "cut")]
    assert not_right == []
    assert {call.place for call in report.calls} == set(CLIENTS)
    assert {call.region for call in report.calls if call.cache == "miss"} == set(REGIONS)
    assert any(call.cache == "hit" for call in report.calls)
    assert all(call.kind.endswith("stream") and call.error for call in report.calls if call.result == "cut")
    for pairs in report.returned.values():
        for back, used in pairs:
            assert used - back <= 2 * report.cooldown_s + 1.0  # a second for the call itself, on a busy machine
    # Where the nearest region answers, it has most of the traffic.
    undisturbed = report.shares(1.0)[1:3]
    assert sum(row["near"] for row in undisturbed) / len(undisturbed) > 0.5
