"""The text format, read back by the parser of Prometheus's own client."""

from __future__ import annotations

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from edgeinf.core.events import Event
from edgeinf.serve.cache.base import TierStats
from edgeinf.serve.observe.cells import Book
from edgeinf.serve.observe.metrics import FAMILIES, render
from edgeinf.serve.observe.observer import Gauges, RegionState


def everything() -> bytes:
    book = Book()
    base = {"dialect": "openai-chat", "model": "m", "region": "r", "status": 200, "total_ms": 150.0, "ttft_ms": 50.0}
    more = {"stream": True, "output_tokens": 11, "input_tokens": 5, "cached_tokens": 1, "cache_write_tokens": 1}
    book.fold(Event(cache="miss", attempts=1, stored=True, usd=0.25, **base, **more), None)  # type: ignore[arg-type]
    book.fold(Event(cache="hit", tier="memory", usd_saved=0.25, **base, **more), 400.0)  # type: ignore[arg-type]
    book.fold(Event(cache="bypass", status=429, error="rate_limit_exceeded"), None)
    gauges = Gauges(
        tiers=[TierStats(name="memory", entries=1, size_bytes=2, max_size_bytes=3, evicted=4)],
        failures={"disk": "it is full"},
        regions=[RegionState(name="r", healthy=False, in_flight=2, saturation=0.5)],
        limits={"per-key": 3},
    )
    return render(book.cells, [gauges])


def test_every_metric_of_the_table_can_be_said_and_parses() -> None:
    families = {family.name: family for family in text_string_to_metric_families(everything().decode())}
    said = {f"{name}_total" if family.type == "counter" else name for name, family in families.items()}
    assert said == set(FAMILIES)
    assert {family.documentation for family in families.values()} == {family.help for family in FAMILIES.values()}


def test_buckets_grow_and_end_with_the_count() -> None:
    (family,) = [
        f for f in text_string_to_metric_families(everything().decode()) if f.name == "edgeinf_request_duration_seconds"
    ]
    by_cache: dict[str, list[float]] = {}
    for sample in family.samples:
        if sample.name.endswith("_bucket"):
            by_cache.setdefault(sample.labels["cache"], []).append(sample.value)
    counts = {s.labels["cache"]: s.value for s in family.samples if s.name.endswith("_count")}
    assert all(values == sorted(values) for values in by_cache.values())
    assert {cache: values[-1] for cache, values in by_cache.items()} == counts


def test_the_same_figures_are_the_same_bytes_whatever_came_first() -> None:
    assert everything() == everything()


@pytest.mark.parametrize("name", FAMILIES)
def test_names_follow_the_conventions_of_prometheus(name: str) -> None:
    family = FAMILIES[name]
    assert re.fullmatch(r"edgeinf_[a-z_]+", name)
    assert name.endswith("_total") == (family.kind == "counter")
    assert family.help.endswith(".")
    assert "_ms" not in name
