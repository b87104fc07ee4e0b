"""The dashboard's document, from what processes say."""

from __future__ import annotations

from edgeinf.core.events import Event
from edgeinf.serve.cache.base import TierStats
from edgeinf.serve.observe.cells import Book
from edgeinf.serve.observe.gather import View
from edgeinf.serve.observe.history import History
from edgeinf.serve.observe.observer import Gauges, RegionState
from edgeinf.serve.observe.stats import stats_document

NOW = 100_000.0


def view(*events: Event, workers: list[Gauges] | None = None) -> View:
    book, history = Book(), History()
    for event in events:
        book.fold(event, None)
        history.fold(event)
    held = workers or [Gauges(started_at=NOW - 1000)]
    return View(cells=book.cells, slots=list(history.slots), rows=[], workers=held)


def test_without_requests_nothing_is_guessed() -> None:
    said = stats_document(view(), NOW)
    assert said["totals"]["hit_rate"] is None
    assert said["window"]["ttft_ms"] == {"p50": None, "p95": None, "p99": None}
    assert said["series"]["requests"] == [0]


def test_the_series_has_no_gaps_and_ends_now() -> None:
    said = stats_document(view(Event(at=NOW - 100, cache="hit"), Event(at=NOW - 35, cache="miss")), NOW)["series"]
    assert said["at"] == list(range(99_900, 100_001, 10))
    assert said["requests"] == [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert said["hits"] == [1, *([0] * 10)]


def test_the_window_is_of_the_last_minutes_only() -> None:
    said = stats_document(view(Event(at=NOW - 2000, cache="hit"), Event(at=NOW - 5, cache="miss", status=503)), NOW)
    assert said["totals"]["requests"] == 2
    assert (said["window"]["requests"], said["window"]["errors"]) == (1, 1)


def test_memory_is_added_up_and_what_all_processes_see_is_counted_once() -> None:
    def worker(memory: int) -> Gauges:
        tiers = [
            TierStats(name="memory", entries=memory, size_bytes=10 * memory, max_size_bytes=100),
            TierStats(name="disk", entries=7, size_bytes=70, max_size_bytes=700),
        ]
        return Gauges(started_at=NOW - 10, tiers=tiers, limits={"l": 2})

    said = stats_document(view(workers=[worker(1), worker(2)]), NOW)
    memory, disk = said["tiers"]
    assert (memory["entries"], memory["bytes"], memory["max_bytes"]) == (3, 30, 200)
    assert (disk["entries"], disk["bytes"], disk["max_bytes"]) == (7, 70, 700)
    assert said["limits"] == {"l": 4}


def test_a_tier_that_failed_is_named_with_its_reason() -> None:
    said = stats_document(view(workers=[Gauges(started_at=NOW, failures={"shared": "gone"})]), NOW)
    assert [(tier["name"], tier["failure"]) for tier in said["tiers"]] == [("shared", "gone")]


def test_a_region_is_up_where_every_process_says_so() -> None:
    states = [[RegionState(name="r", in_flight=1)], [RegionState(name="r", healthy=False, in_flight=2, note="ill")]]
    workers = [Gauges(started_at=NOW, regions=regions) for regions in states]
    (region,) = stats_document(view(workers=workers), NOW)["regions"]
    assert (region["healthy"], region["in_flight"], region["note"]) == (False, 3, "ill")
