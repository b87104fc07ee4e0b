"""Finished requests are counted late, and none is missed."""

from __future__ import annotations

import msgspec

from edgeinf.core.events import Event
from edgeinf.serve.observe.observer import Gauges, Observer, Snapshot


def test_a_snapshot_holds_all_that_was_noted_and_travels_whole() -> None:
    observer = Observer(b"s" * 32)
    for number in range(130):
        observer.note(Event(id=str(number), at=1000.0 + number, cache="miss", dialect="openai-chat"), None, 0, None)
    raw = msgspec.msgpack.encode(observer.snapshot(Gauges(in_progress=3)))
    back = msgspec.msgpack.decode(raw, type=Snapshot)
    assert sum(cell.requests for _, cell in back.cells) == 130
    assert sum(slot.requests for slot in back.slots) == 130
    assert len(back.rows) == 130
    assert back.gauges.in_progress == 3
    assert back.gauges.pid > 0


def test_what_is_not_asked_for_does_not_travel() -> None:
    observer = Observer(b"s" * 32)
    observer.note(Event(id="1", cache="hit"), None, 0, 10.0)
    snapshot = observer.snapshot(Gauges(), rows=False, slots=False)
    assert (snapshot.rows, snapshot.slots) == ([], [])
    assert len(snapshot.cells) == 1


def test_the_request_path_only_appends_until_a_batch_is_full() -> None:
    observer = Observer(b"s" * 32)
    for number in range(63):
        observer.note(Event(id=str(number)), None, 0, None)
    assert observer.book.cells == {}
    observer.note(Event(id="64"), None, 0, None)
    assert sum(cell.requests for cell in observer.book.cells.values()) == 64
