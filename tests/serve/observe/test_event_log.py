"""Events reach the disk, all of them, or are counted."""

from __future__ import annotations

import errno
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeinf.core.events import Event, decode
from edgeinf.serve.observe.event_log import EventLog


def read(path: Path) -> list[str]:
    return [decode(line).id for line in path.read_bytes().splitlines()]


def read_all(path: Path) -> list[str]:
    return [id for file in path.parent.glob("events.jsonl*") for id in read(file)]


def wait_until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.005)


def test_closing_writes_all_that_waits_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "events.jsonl"
    log = EventLog(path, rotate_bytes=2**30, keep=3)
    for number in range(5000):
        log.put(Event(id=str(number)))
    log.close()
    assert read(path) == [str(n) for n in range(5000)]
    assert (log.written, log.dropped, log.waiting) == (5000, 0, 0)


def test_the_file_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "state" / "events.jsonl"
    log = EventLog(path, rotate_bytes=2**30, keep=3)
    log.put(Event())
    log.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_rotation_keeps_so_many_files_and_loses_no_line_of_those(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, rotate_bytes=40_000, keep=100)
    for number in range(3000):
        log.put(Event(id=str(number)))
    log.close()
    assert sorted(map(int, read_all(path))) == list(range(3000))
    assert len(list(tmp_path.glob("events.jsonl.*"))) > 3


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_rotation_keeps_no_more_files_than_asked(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, rotate_bytes=10_000, keep=keep)
    for number in range(3000):
        log.put(Event(id=str(number)))
    log.close()
    assert len(list(tmp_path.glob("events.jsonl.*"))) == keep


def _write_many(path: Path, name: str) -> None:
    log = EventLog(path, rotate_bytes=60_000, keep=1000)
    for number in range(1500):
        log.put(Event(id=f"{name}-{number}"))
        if number % 300 == 0:
            time.sleep(0.01)
    log.close()


def test_several_processes_share_a_file_and_its_rotation(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_many, args=(path, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert sorted(read_all(path)) == sorted(f"{name}-{n}" for name in "abc" for n in range(1500))


def test_a_line_cut_by_a_crash_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"v":1,"id":"cut')
    log = EventLog(path, rotate_bytes=2**30, keep=3)
    log.put(Event(id="next"))
    log.close()
    assert decode(path.read_bytes().splitlines()[1]).id == "next"


def test_events_wait_while_the_file_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.write_text("a file where a folder should be")
    log = EventLog(blocked / "events.jsonl", rotate_bytes=2**30, keep=3)
    log.put(Event(id="first"))
    wait_until(lambda: log.failed is not None)
    blocked.unlink()
    log.put(Event(id="second"))
    wait_until(lambda: log.written == 2)
    log.close()
    assert read(blocked / "events.jsonl") == ["first", "second"]
    assert log.dropped == 0


def test_beyond_the_bound_events_are_counted_as_dropped(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.write_text("a file where a folder should be")
    log = EventLog(blocked / "events.jsonl", rotate_bytes=2**30, keep=3, queue_limit=10)
    log.put(Event())
    wait_until(lambda: log.failed is not None and log.waiting == 1)
    for number in range(30):
        log.put(Event(id=str(number)))
    assert log.waiting + log.dropped == 31
    assert 20 <= log.dropped <= 31
    blocked.unlink()
    log.close()
    assert log.written + log.dropped == 31


def test_a_disk_that_fills_up_mid_batch_costs_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, full = os.write, [True]

    def scarce(descriptor: int, data: bytes) -> int:
        if len(data) > 100 and full[0]:
            return real(descriptor, data[: len(data) // 2])
        if full[0]:
            raise OSError(errno.ENOSPC, "no space left on device")
        return real(descriptor, data)

    monkeypatch.setattr("edgeinf.serve.observe.event_log.os.write", scarce)
    path = tmp_path / "events.jsonl"
    log = EventLog(path, rotate_bytes=2**30, keep=3)
    for number in range(50):
        log.put(Event(id=str(number)))
    wait_until(lambda: log.failed is not None)
    full[0] = False
    log.close()
    whole = []
    for line in path.read_bytes().splitlines():
        try:
            whole.append(decode(line).id)
        except Exception:
            assert not line.endswith(b"}")
    assert whole == [str(n) for n in range(50)]


def test_what_is_put_is_prepared_on_the_writing_thread(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, rotate_bytes=2**30, keep=3, prepare=lambda event: Event(id=event.id.upper()))
    log.put(Event(id="abc"))
    log.close()
    assert read(path) == ["ABC"]


def test_without_a_path_nothing_is_kept_and_no_thread_runs() -> None:
    log = EventLog(None, rotate_bytes=2**30, keep=3)
    log.put(Event())
    assert (log.waiting, log._thread) == (0, None)
    log.close()
