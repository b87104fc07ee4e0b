"""A name with several addresses, some of which do not answer."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import cast

import pytest

from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.dialling import dial, resolve

SILENT = "192.0.2.1"  # a documentation address: packets to it go nowhere


class Open(asyncio.Protocol):
    transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)


def answering(*addresses: str):
    async def resolver(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolver


@pytest.mark.parametrize("dead", ["127.0.0.9", SILENT], ids=["refuses", "silent"])
async def test_a_dead_first_address_costs_a_moment_only(origin: MockOrigin, dead: str):
    started = time.perf_counter()
    protocol = await dial(Open, "name", origin.port, None, resolve=answering(dead, "127.0.0.1"))
    assert time.perf_counter() - started < 2.5
    assert protocol.transport is not None
    assert protocol.transport.get_extra_info("peername")[0] == "127.0.0.1"
    protocol.transport.abort()


async def test_if_none_answers_the_reason_is_raised():
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await dial(Open, "name", 9, None, resolve=answering("127.0.0.1", "127.0.0.2"))


async def test_giving_up_closes_every_attempt():
    task = asyncio.create_task(dial(Open, "name", 9, None, resolve=answering(SILENT, "192.0.2.2")))
    await asyncio.sleep(0.4)
    task.cancel()
    outcome = (await asyncio.gather(task, return_exceptions=True))[0]
    assert isinstance(outcome, asyncio.CancelledError | OSError)


async def test_an_address_is_itself_and_a_name_has_its_addresses():
    assert await resolve("127.0.0.1", 80) == ["127.0.0.1"]
    assert await resolve("::1", 80) == ["::1"]
    assert "127.0.0.1" in await resolve("localhost", 80)
    with pytest.raises(socket.gaierror):
        await resolve("no.such.name.invalid", 80)
