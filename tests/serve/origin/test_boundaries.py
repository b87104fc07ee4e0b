"""Cutting a stream between its events, wherever the reads fall."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.wire import sse
from edgeinf.serve.origin.boundaries import EventCutter

STREAMS = {
    "lf": b"data: a\n\nevent: x\ndata: b\n\n: note\n\ndata: c\n\n",
    "crlf": b"data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n",
    "cr": b"data: a\r\rdata: b\r\r",
    "mixed": b"data: a\n\ndata: b\r\n\r\ndata: c\n\n",
    "odd characters": "data: \u2028\x0b世界😀\n\ndata: z\n\n".encode(),
}


@pytest.mark.parametrize("name", STREAMS)
def test_every_split_gives_the_same_bytes_cut_between_events(name: str):
    stream = STREAMS[name]
    for size in range(1, len(stream) + 1):
        cutter = EventCutter()
        pieces = [cutter.feed(stream[i : i + size]) for i in range(0, len(stream), size)]
        assert b"".join(pieces) + cutter.tail == stream
        for number in range(len(pieces)):
            decoder = sse.Decoder()
            decoder.feed(b"".join(pieces[: number + 1]))
            assert decoder.between_events


def test_an_event_that_has_not_ended_waits():
    cutter = EventCutter()
    assert cutter.feed(b"data: a\n\ndata: b") == b"data: a\n\n"
    assert cutter.tail == b"data: b"
    assert cutter.feed(b"\n") == b""
    assert cutter.feed(b"\ndata") == b"data: b\n\n"


@given(st.binary(max_size=60), st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_no_byte_is_lost_or_changed_whatever_arrives(data: bytes, sizes: list[int]):
    cutter, out, at = EventCutter(), b"", 0
    for size in sizes:
        out += cutter.feed(data[at : at + size])
        at += size
    assert out + cutter.tail == data[: sum(sizes)]
