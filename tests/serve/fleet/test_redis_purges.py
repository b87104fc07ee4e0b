"""The word that something is to be forgotten: read in either form of the protocol, and from where one left off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.serve.fleet.base import Alone
from edgeinf.serve.fleet.redis_link import RedisLink
from edgeinf.serve.fleet.redis_purges import RedisPurges, _messages
from edgeinf.serve.runtime import make_runtime
from tests.serve.running import config_for

MESSAGE = (b"1-0", {b"from": b"a"})


@pytest.mark.parametrize(
    ("read", "messages"),
    [
        (None, []),
        ([], []),
        ({}, []),
        ([[b"s", [MESSAGE]]], [MESSAGE]),
        ({b"s": [[MESSAGE]]}, [MESSAGE]),
        ({b"s": [MESSAGE]}, [MESSAGE]),
    ],
    ids=["none", "empty list", "empty map", "resp2", "resp3 nested", "resp3"],
)
def test_messages_are_read_in_either_form(read: Any, messages: Any) -> None:
    assert _messages(read) == messages


@pytest.mark.parametrize(("held", "since"), [(None, b"0"), (b"", b"0"), (b"5-1", b"5-1")], ids=["new", "empty", "held"])
async def test_with_a_disk_a_node_reads_on_from_where_it_was(tmp_path: Path, held: bytes | None, since: bytes) -> None:
    seen = tmp_path / "seen"
    if held is not None:
        seen.write_bytes(held)
    runtime = make_runtime(config_for(tmp_path, "http://127.0.0.1:9"))
    link = RedisLink("redis://127.0.0.1:1/0", timeout_s=0.1, clock=FakeClock())
    purges = RedisPurges(runtime, link, Alone(), seen)
    assert purges._load() == since
    purges._save(b"9-9")
    assert purges._load() == b"9-9"
    assert RedisPurges(runtime, link, Alone(), None)._load() is None
    await link.aclose()
    await runtime.aclose()
