"""Levels, scopes, failures, limits of a cache and parts of one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.cacheable import CachePolicy
from tests.analyze.making import ask, run, write


def _hits(path: Path, rows: list[dict[str, Any]], **options: Any) -> int:
    found = run(write(path, rows), **options).default
    assert found is not None
    return found.hits


@pytest.mark.parametrize(("scope", "hits"), [(None, 2), ("key", 2), ("team", 3), ("user", 1), ("shared", 5)])
def test_the_scope_decides_who_shares(tmp_path: Path, scope: str | None, hits: int) -> None:
    who = [("a", "t", "u"), ("a", "t", "u"), ("a", "t", "v"), ("b", "t", "u"), ("c", "s", "u"), ("d", "r", None)]
    rows = [ask(at=n, key_id=key, team=team, user=user) for n, (key, team, user) in enumerate(who)]
    assert _hits(tmp_path / "log", rows, scope=scope) == hits


def test_a_failed_answer_is_not_stored(tmp_path: Path) -> None:
    rows = [ask(at=0, status=500), ask(at=1, status=200), ask(at=2, status=429), ask(at=3, status=200)]
    assert _hits(tmp_path / "log", rows) == 2


@pytest.mark.parametrize(("entries", "hits"), [(1, 0), (2, 0), (3, 6), (None, 6)])
def test_a_memory_of_few_entries_forgets(tmp_path: Path, entries: int | None, hits: int) -> None:
    rows = [ask(f"q {n % 3}", at=n) for n in range(9)]
    assert _hits(tmp_path / "log", rows, max_entries=entries) == hits


def test_jitter_ends_entries_between_the_shortened_life_and_the_whole(tmp_path: Path) -> None:
    rows = [ask(f"q {n}", at=0.001 * n) for n in range(200)] + [ask(f"q {n}", at=95) for n in range(200)]
    policy = CachePolicy(ttl_s=100, ttl_jitter=0.1)
    hits = _hits(tmp_path / "log", rows, policy=policy)
    assert 60 < hits < 140  # lives are spread evenly over 90 to 100 s


def test_a_request_of_several_parts_hits_when_all_of_them_do(tmp_path: Path) -> None:
    def embed(at: float, *inputs: str) -> dict[str, Any]:
        return {"ts": at, "path": "/v1/embeddings", "request": {"model": "e", "input": list(inputs)}}

    rows = [embed(1, "a", "b"), embed(2, "a"), embed(3, "b", "c"), embed(4, "c", "a", "b"), embed(5, "d", "d")]
    analysis = run(write(tmp_path / "log", rows))
    assert analysis.default is not None
    if analysis.eligible == 0:
        pytest.skip("this build has no embeddings dialect")
    assert (analysis.default.hits, analysis.default.unique) == (2, 4)


def test_rates_of_tokens_cost_and_time_are_of_all_requests(tmp_path: Path) -> None:
    rows = [
        ask("q", at=0, input_tokens=90, output_tokens=10, cost_usd=0.3, latency_ms=900),
        ask("q", at=5, input_tokens=90, output_tokens=10, cost_usd=0.3, latency_ms=300),
        ask("r", at=9, input_tokens=150, output_tokens=50, cost_usd=0.4, latency_ms=800),
    ]
    found = run(write(tmp_path / "log", rows)).default
    assert found is not None
    worth = found.worth
    assert (worth.request_rate, worth.token_rate) == (1 / 3, 0.25)
    assert (worth.usd_rate, worth.second_rate) == (pytest.approx(0.3), pytest.approx(0.15))
    assert (worth.input_tokens, worth.output_tokens, worth.seconds) == (90, 10, pytest.approx(0.3))
