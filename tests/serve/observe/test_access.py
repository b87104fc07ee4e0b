"""Who is at this machine, whatever an address looks like."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.observe.access import at_this_machine


async def _never(*_: Any) -> Any:
    raise AssertionError


def exchange(client: str, headers: dict[bytes, bytes] | None = None) -> Exchange:
    return Exchange("GET", "/metrics", "", headers or {}, client, _never, _never)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_here(address: str) -> None:
    assert at_this_machine(exchange(address))


@pytest.mark.parametrize("address", ["", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "not an address", "203.0.113.9"])
def test_all_else_is_not(address: str) -> None:
    assert not at_this_machine(exchange(address))


@pytest.mark.parametrize("header", [b"x-forwarded-for", b"forwarded", b"via", b"x-real-ip", b"cf-connecting-ip"])
def test_a_proxy_at_this_machine_speaks_for_somebody_else(header: bytes) -> None:
    assert not at_this_machine(exchange("127.0.0.1", {header: b""}))
