"""Other tools' hits follow the same clock and failures."""

from __future__ import annotations

from pathlib import Path

from edgeinf.core.cacheable import CachePolicy
from tests.analyze.making import ask, run, write


def test_expiry_and_failures_count_for_them_too(tmp_path: Path) -> None:
    rows = [ask(at=0, status=500), ask(at=10), ask(at=20), ask(at=200)]
    found = run(write(tmp_path / "log", rows), gateways=("portkey",), policy=CachePolicy(ttl_s=60, ttl_jitter=0))
    assert [(g.gateway.name, g.hits, g.hit_rate) for g in found.gateways] == [("portkey", 1, 0.25)]


def test_calls_that_a_tool_does_not_cache_are_misses(tmp_path: Path) -> None:
    rows = [ask(at=n, body={"stream": True}) for n in range(3)]
    assert run(write(tmp_path / "log", rows), gateways=("portkey",)).gateways[0].hits == 0
