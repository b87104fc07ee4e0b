from __future__ import annotations

import json

import msgspec
import pytest

from edgeinf.core.events import Event, EventKeys, EventScope, decode, encode

# Scripts outside this project read these names: they may only grow.
_FIELDS = {
    "v", "id", "at", "dialect", "model", "region", "tenant", "team", "key_id", "user", "session", "step", "route",
    "client_place", "stream", "cache", "tier", "reason", "age_s", "stored", "level", "keys", "hits", "key_space",
    "scope", "guard", "status", "error", "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
    "usd", "usd_saved", "edgeinf_ms", "ttft_ms", "total_ms", "attempts", "trace_id",
}  # fmt: skip


def test_the_line_has_every_name_of_the_contract() -> None:
    assert set(json.loads(encode(Event()))) >= _FIELDS


def test_an_event_survives_its_line() -> None:
    event = Event(id="x", keys=EventKeys(safe=["a", "b"]), scope=EventScope(kind="team", id="t"), guard=["email"])
    line = encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == event


def test_a_line_of_a_later_version_is_read_without_what_is_new() -> None:
    assert decode(b'{"v":2,"id":"x","brand_new":1}') == Event(v=2, id="x")


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"id":1}'])
def test_what_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(line)
