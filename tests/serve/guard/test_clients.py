"""Where a client is, as far as anybody trusted says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import Clients, Guard, Limit, Listen
from edgeinf.mock import MockOrigin
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.guard.clients import Networks, address_of, subject_of
from tests.serve.running import config_for, running


def seen(peer: str, forwarded: str | None, trusted: tuple[str, ...]) -> str:
    """Return the address that a request is taken to come from."""
    nothing: Any = None
    headers = {} if forwarded is None else {b"x-forwarded-for": forwarded.encode()}
    return address_of(Exchange("GET", "/", "", headers, peer, nothing, nothing), Networks(trusted))


ADDRESSES = [
    pytest.param("10.0.0.1", "203.0.113.9", (), "10.0.0.1", id="nobody-trusted"),
    pytest.param("10.0.0.1", "203.0.113.9", ("10.0.0.0/8",), "203.0.113.9", id="one-proxy"),
    pytest.param("192.0.2.1", "203.0.113.9", ("10.0.0.0/8",), "192.0.2.1", id="peer-not-trusted"),
    pytest.param("10.0.0.1", "1.1.1.1, 203.0.113.9", ("10.0.0.0/8",), "203.0.113.9", id="forged-left"),
    pytest.param("10.0.0.1", "203.0.113.9, 10.0.0.2", ("10.0.0.0/8",), "203.0.113.9", id="two-proxies"),
    pytest.param("10.0.0.1", "203.0.113.9:4711", ("10.0.0.0/8",), "203.0.113.9", id="with-port"),
    pytest.param("10.0.0.1", "[2001:db8::1]:443", ("10.0.0.0/8",), "2001:db8::1", id="v6-with-port"),
    pytest.param("10.0.0.1", "unknown", ("10.0.0.0/8",), "10.0.0.1", id="no-address"),
    pytest.param("10.0.0.1", None, ("10.0.0.0/8",), "10.0.0.1", id="no-header"),
    pytest.param("::ffff:10.0.0.1", "203.0.113.9", ("10.0.0.0/8",), "203.0.113.9", id="mapped-peer"),
]


@pytest.mark.parametrize(("peer", "forwarded", "trusted", "address"), ADDRESSES)
def test_the_address_is_what_the_last_trusted_proxy_saw(
    peer: str, forwarded: str | None, trusted: tuple[str, ...], address: str
) -> None:
    assert seen(peer, forwarded, trusted) == address


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_an_ipv6_client_is_its_network(one: str, other: str, same: bool) -> None:
    assert (subject_of(one) == subject_of(other)) is same


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize(
    ("clients", "headers", "status"),
    [
        pytest.param(Clients(deny_cidr=("127.0.0.0/8",)), {}, 403, id="network"),
        pytest.param(
            Clients(deny_cidr=("10.0.0.0/8",)), {"x-forwarded-for": "10.1.2.3"}, 200, id="forwarding-untrusted"
        ),
        pytest.param(Clients(deny_user_agent=("(?i)badbot",)), {"user-agent": "BadBot/1"}, 403, id="agent"),
        pytest.param(Clients(deny_user_agent=("(?i)badbot",)), {"user-agent": "good/1"}, 200, id="other-agent"),
        pytest.param(Clients(deny_user_agent=(r"^(a|aa)+$",)), {"user-agent": "a" * 60 + "?"}, 403, id="bomb"),
    ],
)
async def test_clients_are_turned_away_on_every_path(
    tmp_path: Path, origin: MockOrigin, clients: Clients, headers: dict[str, str], status: int, path: str
) -> None:
    async with running(config_for(tmp_path, origin.url, guard=Guard(clients=clients))) as proxy:
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        answer = await proxy.client.post(path, json=body, headers=headers)
    assert (answer.status_code == 403) is (status == 403)
    assert (origin.count == 0) is (status == 403)


async def test_limits_by_address_count_what_a_trusted_proxy_says(tmp_path: Path, origin: MockOrigin) -> None:
    config = config_for(
        tmp_path,
        origin.url,
        listen=Listen(trusted_proxies=("127.0.0.1",)),
        limits=(Limit(name="ip", per="ip", requests=(1, 3600)),),
    )
    async with running(config) as proxy:
        statuses = [
            (await proxy.ask(headers={"x-forwarded-for": f"6.6.6.{n}, {address}"})).status_code
            for n, address in enumerate(["203.0.113.1", "203.0.113.1", "203.0.113.2"])
        ]
    assert statuses == [200, 429, 200]
