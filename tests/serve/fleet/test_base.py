"""Alone there is nobody to ask."""

from __future__ import annotations

from edgeinf.serve.fleet.base import Alone
from edgeinf.serve.fleet.purge import Purge


async def test_alone_there_is_nobody_to_ask_or_to_tell() -> None:
    assert await Alone().snapshots(rows=True, slots=True) == []
    assert await Alone().purge(Purge()) == 0
    Alone().issued([b"digest"], "region", "account")
