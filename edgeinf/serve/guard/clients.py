"""Where a client is, and whether clients from there are served."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

import regex

from edgeinf.core.config.schema import Clients
from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange

__all__ = ["ClientRules", "Networks", "address_of", "subject_of"]

_REMEMBERED = 4096
_PATIENCE_S = 0.005


class Networks:
    """A set of networks that remembers where recent addresses were."""

    def __init__(self, cidrs: Sequence[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(cidr, strict=False) for cidr in cidrs)
        self._known: dict[str, bool] = {}

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, address: str) -> bool:
        known = self._known.get(address)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[address] = self._look(address)
        return known

    def _look(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None)
        return any((mapped or parsed) in network or parsed in network for network in self._networks)


def address_of(x: Exchange, trusted: Networks) -> str:
    """Return the client's address: the peer's, or what the last trusted proxy in a row says of its own peer.

    ``X-Forwarded-For`` is read from the right and only past proxies that are trusted; the rest anybody may have
    written.
    """
    address = x.client
    if not trusted:
        return address
    hops = x.headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
    while hops and address in trusted:
        hop = _bare(hops.pop().strip())
        if hop is None:
            break
        address = hop
    return address


@lru_cache(maxsize=8192)
def subject_of(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 that an IPv6 client chooses from at will."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)


class ClientRules:
    """Which clients are turned away."""

    def __init__(self, clients: Clients) -> None:
        self._networks = Networks(clients.deny_cidr)
        self._agents = [regex.compile(pattern) for pattern in clients.deny_user_agent]
        self._known: dict[bytes, int | None] = {}  # which pattern an agent matches; clients come again

    def __bool__(self) -> bool:
        return bool(self._networks or self._agents)

    def admit(self, x: Exchange) -> None:
        """Raise CallError 403 for a client that is not served."""
        if x.address in self._networks:
            x.guard = [*(x.guard or ()), "blocked deny_cidr"]
            raise CallError("clients from this network are not served", status=403, code="client_denied")
        if not self._agents:
            return
        agent = x.headers.get(b"user-agent", b"")
        if agent not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[agent] = self._match(agent.decode("latin-1"))
        number = self._known[agent]
        if number is not None:
            x.guard = [*(x.guard or ()), f"blocked deny_user_agent[{number}]"]
            raise CallError("this client is not served", status=403, code="client_denied")

    def _match(self, agent: str) -> int | None:
        """Return the first pattern that an agent matches; one that comes to no end counts."""
        for number, pattern in enumerate(self._agents):
            try:
                if pattern.search(agent, timeout=_PATIENCE_S) is not None:
                    return number
            except TimeoutError:
                return number
        return None


def _bare(hop: str) -> str | None:
    """Return the address of a hop, which some proxies write with a port; None where it is none."""
    if hop.startswith("["):
        hop = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        hop = hop.partition(":")[0]
    try:
        return str(ipaddress.ip_address(hop))
    except ValueError:
        return None
