"""What dialects share."""

from __future__ import annotations

import json

from edgeinf.mock.dialects.base import Memory, event, merged, openai_error, round_robin, whole_plan
from edgeinf.mock.values import Kind, Piece


def test_lanes_alternate_and_only_the_first_of_a_round_carries_its_delay() -> None:
    lanes = [[Piece(Kind.TOKEN, data) for data in lane] for lane in ((b"a1", b"a2", b"a3"), (b"b1",), (b"c1", b"c2"))]

    got = [(piece.data, piece.joint) for piece in round_robin(lanes)]

    assert [data for data, _ in got] == [b"a1", b"b1", b"c1", b"a2", b"c2", b"a3"]
    assert [joint for _, joint in got] == [False, True, True, False, True, False]


def test_an_error_in_a_stream_is_one_data_event() -> None:
    inside = openai_error(500, "broken", "server_error", in_stream=True)

    assert inside.startswith(b"data: ")
    assert inside.endswith(b"\n\n")
    assert json.loads(inside[6:]) == json.loads(openai_error(500, "broken", "server_error"))


def test_events_bodies_and_vendor_fields() -> None:
    assert event("ping", {"type": "ping"}) == b'event: ping\ndata: {"type":"ping"}\n\n'
    assert merged({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}
    assert [piece.data for piece in whole_plan({"a": 1}, status=201).pieces] == [b'{"a":1}']


def test_memory_starts_empty() -> None:
    memory = Memory()

    assert (memory.responses, memory.files, memory.adapters, memory.batches, memory.running()) == ({}, {}, {}, {}, 0)
