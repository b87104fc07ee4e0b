"""What an origin remembers of its calls."""

from __future__ import annotations

from edgeinf.mock.record import Call, Record
from edgeinf.mock.values import Ask, Kind


def call(path: str = "/a") -> Call:
    return Call(Ask("POST", path, "", [(b"a", b"1"), (b"a", b"2")], b"x"), started_ns=1, connection=1, connection_use=1)


def test_concurrency_peaks_and_paths_are_counted() -> None:
    record = Record()
    calls = [call("/a"), call("/a"), call("/b")]
    record.begin(calls[0])
    record.begin(calls[1])
    record.end(calls[0], "done")
    record.begin(calls[2])

    assert (record.total, record.peak, len(record.active)) == (3, 2, 2)
    assert record.paths == {"/a": 2, "/b": 1}


def test_only_the_first_ending_counts() -> None:
    record = Record()
    one = call()
    record.begin(one)
    record.end(one, "cut")
    record.end(one, "disconnected")

    assert (one.outcome, one.disconnected_ns) == ("cut", 0)
    assert one.ended_ns > 0


def test_the_latest_calls_are_kept_and_all_are_counted() -> None:
    record = Record(keep=2)
    for path in ("/a", "/b", "/c"):
        record.begin(call(path))

    assert [kept.path for kept in record.calls] == ["/b", "/c"]
    assert record.total == 3
    record.clear()
    assert (record.total, list(record.calls), record.peak) == (0, [], 0)


def test_token_instants_are_those_of_token_events() -> None:
    one = call()
    one.event_kinds = [Kind.OPEN, Kind.TOKEN, Kind.SIDE, Kind.TOKEN, Kind.END]
    one.event_ns = [1, 2, 3, 4, 5]

    assert one.token_ns == [2, 4]
    assert one.headers == {"a": "2"}
    assert len(one.raw_headers) == 2
