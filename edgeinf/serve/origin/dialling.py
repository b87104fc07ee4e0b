"""Open a connection to a name: every address it has, the next one soon after one that does not answer.

Happy Eyeballs (RFC 8305) in its plainest form: families alternate, attempts start a quarter of a second apart or as
soon as one fails, the first that stands wins and the others are closed. uvloop's own dialling tries one after the
other and spends the whole time on a dead first address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TypeVar

from edgeinf.serve.origin.client import ConnectFailed

__all__ = ["Resolve", "TlsContexts", "dial", "reach", "resolve", "tls_contexts"]

_STAGGER_S = 0.25

P = TypeVar("P", bound=asyncio.BaseProtocol)
Resolve = Callable[[str, int], Awaitable[list[str]]]
TlsContexts = Callable[..., ssl.SSLContext]


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, families alternating. Raise OSError."""
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    by_family: dict[int, list[str]] = {}
    for family, _, _, _, address in found:
        known = by_family.setdefault(family, [])
        if address[0] not in known:
            known.append(str(address[0]))
    rounds = itertools.zip_longest(*by_family.values())
    return [address for turn in rounds for address in turn if address is not None]


async def dial(
    make: Callable[[], P], host: str, port: int, context: ssl.SSLContext | None, *, resolve: Resolve = resolve
) -> P:
    """Return the protocol of an open connection. Raise OSError or ssl.SSLError; cancelling closes everything."""
    addresses = await resolve(host, port)
    if len(addresses) == 1:
        return await _connect(make, addresses[0], port, host, context)
    running: set[asyncio.Task[P]] = set()
    failure: BaseException | None = None
    try:
        for address in addresses:
            running.add(asyncio.ensure_future(_connect(make, address, port, host, context)))
            last = address == addresses[-1]
            while running:
                timeout = None if last else _STAGGER_S
                done, running = await asyncio.wait(running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if task.exception() is None:
                        running |= done - {task}
                        return task.result()
                    failure = task.exception()
                if not last:
                    break  # it failed, or it is slow: in either case the next address begins
        raise failure or OSError(f"no address of {host} answered")
    finally:
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            transport = getattr(outcome, "transport", None)
            if transport is not None:
                transport.abort()  # it stood in the same turn as the winner


async def reach(
    make: Callable[[], P],
    host: str,
    port: int,
    context: ssl.SSLContext | None,
    timeout_s: float,
    *,
    resolve: Resolve = resolve,
) -> P:
    """Return the protocol of an open connection. Raise ConnectFailed, which says what stood in the way."""
    where = f"{host}:{port}"
    try:
        async with asyncio.timeout(timeout_s):
            return await dial(make, host, port, context, resolve=resolve)
    except TimeoutError:
        raise ConnectFailed(f"no connection to {where} within {timeout_s:g} s") from None
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", None) or error.reason or str(error)
        raise ConnectFailed(f"TLS with {where} failed: {reason}") from None
    except (OSError, UnicodeError) as error:
        raise ConnectFailed(f"cannot connect to {where}: {getattr(error, 'strerror', None) or error}") from None


def tls_contexts(ca_file: str | None) -> TlsContexts:
    """Return what makes a client's side of TLS, once for each list of protocols offered by ALPN."""

    @cache
    def context(*protocols: str) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=ca_file)
        made.set_alpn_protocols(list(protocols))
        return made

    return context


async def _connect(make: Callable[[], P], address: str, port: int, host: str, context: ssl.SSLContext | None) -> P:
    _, protocol = await asyncio.get_running_loop().create_connection(
        make, address, port, ssl=context, server_hostname=host if context else None
    )
    return protocol
