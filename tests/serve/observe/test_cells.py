"""Counters add up, over requests and over processes, and nobody can fill the memory with names."""

from __future__ import annotations

import pytest

from edgeinf.core.events import Event
from edgeinf.serve.observe.cells import DURATIONS_S, MAX_NAMES, Book, merge_cells


def event(**fields: object) -> Event:
    base = {"dialect": "openai-chat", "model": "m", "region": "r", "cache": "miss", "status": 200, "total_ms": 100.0}
    return Event(**{**base, **fields})  # type: ignore[arg-type]


def test_processes_add_up() -> None:
    books = [Book(), Book()]
    for number, book in enumerate(books):
        for _ in range(number + 1):
            book.fold(event(input_tokens=3, usd=0.5), None)
    (cell,) = merge_cells(list(book.cells.items()) for book in books).values()
    assert (cell.requests, cell.input_tokens, cell.usd) == (3, 9, 1.5)
    assert sum(cell.duration.counts) == 3
    assert cell.duration.sum == pytest.approx(0.3)


def test_adding_up_changes_no_process() -> None:
    book = Book()
    book.fold(event(), None)
    merge_cells([list(book.cells.items()), list(book.cells.items())])
    assert [cell.requests for cell in book.cells.values()] == [1]


@pytest.mark.parametrize("label", ["model", "client_place"])
def test_names_that_clients_choose_are_bounded(label: str) -> None:
    book = Book()
    for number in range(20 * MAX_NAMES):
        book.fold(event(**{label: f"invented-{number}"}), None)
    assert len(book.cells) == MAX_NAMES + 1
    assert sum(cell.requests for cell in book.cells.values()) == 20 * MAX_NAMES
    assert len(book._by_raw) <= 50 * MAX_NAMES + 1


def test_a_value_on_a_bound_counts_below_it() -> None:
    book = Book()
    book.fold(event(total_ms=DURATIONS_S[3] * 1000), None)
    (cell,) = book.cells.values()
    assert cell.duration.counts.index(1) == 3


def test_the_rate_of_a_stream_is_the_tokens_after_the_first_over_the_time_after_it() -> None:
    book = Book()
    book.fold(event(stream=True, output_tokens=11, ttft_ms=100.0, total_ms=1100.0), None)
    (cell,) = book.cells.values()
    assert cell.rate.sum == pytest.approx(10.0)


@pytest.mark.parametrize(("first_took_ms", "saved_s"), [(2100.0, 2.0), (50.0, 0.0)], ids=["slower", "faster"])
def test_a_hit_saves_what_its_answer_first_took(first_took_ms: float, saved_s: float) -> None:
    book = Book()
    book.fold(event(cache="hit", total_ms=100.0), first_took_ms)
    (cell,) = book.cells.values()
    assert cell.seconds_saved == pytest.approx(saved_s)
