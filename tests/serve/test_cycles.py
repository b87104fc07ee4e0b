"""Requests leave nothing behind that only a collector would find, so that it need not run while they are answered."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from edgeinf.core.config.schema import Limit
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import chat
from tests.serve.short import Way, one_way
from tests.serve.wire import post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS = ("Turn", "Exchange", "Flight", "Reader", "Attempt", "Journey", "Leg", "Call", "Entry", "Patience")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def way() -> AsyncIterator[Way]:
    limit = Limit(name="each", requests=(1e6, 60.0), tokens=(1e9, 60.0), concurrency=100)
    async with MockOrigin() as own, one_way(own, auth=auth_for("anna"), limits=(limit,)) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("seed", [None, 7], ids=["misses", "hits"])
async def test_an_answered_request_is_let_go_at_once(way: Way, stream: bool, seed: int | None) -> None:
    async def ask(count: int, first: int) -> None:
        async with wired(way.url) as wire:
            for number in range(first, first + count):
                body: dict[str, Any] = chat(stream=stream, seed=number if seed is None else seed)
                await wire.send(post(body, headers=bearer("anna").items()))
                assert (await wire.answer()).status == 200

    start = 1000 if stream else 0
    await ask(20, start)
    gc.collect()
    gc.disable()
    try:
        await ask(50, start + 20)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = Counter(type(found).__name__ for found in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert {name: left[name] for name in OURS if left[name] > 5} == {}
