"""The relay client as the rest of the proxy sees it; how it works is :mod:`edgeinf.serve.origin.pool`.

A client sends one request to one origin and hands back the answer as it arrives. It follows no redirect, keeps no
cookie, decompresses nothing, uses no proxy from the environment, and closes the connection at once when the task
that waits is cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Protocol

import msgspec

from edgeinf.core.wire.headers import Headers

__all__ = [
    "Client",
    "ConnectFailed",
    "ConnectionLost",
    "Malformed",
    "OriginFailure",
    "Request",
    "Response",
]


class OriginFailure(Exception):
    """An attempt at an origin failed before or while it answered; the message names no credential."""


class ConnectFailed(OriginFailure):
    """No connection: the name does not resolve, nothing listens, or TLS failed."""


class ConnectionLost(OriginFailure):
    """The connection ended before the answer did."""


class Malformed(OriginFailure):
    """What arrived is not HTTP."""


class Request(msgspec.Struct, kw_only=True):
    """One request; ``url`` is absolute, headers are lower-case and end-to-end, without host and framing."""

    method: str
    url: str
    headers: Headers
    body: bytes | AsyncIterable[bytes] = b""
    connect_timeout_s: float = 3.0
    http2: bool = False  # offer it; an origin that does not speak it is asked over HTTP/1.1


class Response(Protocol):
    """An answer whose head has arrived."""

    status: int
    headers: Headers

    async def read(self) -> bytes | None:
        """Return what has arrived since the last call, waiting for more if nothing has; None at the end.

        Raise ConnectionLost or Malformed where the answer is not whole.
        """
        ...

    def close(self) -> None:
        """Give the connection back where the answer was read to its end, else close it. Idempotent."""
        ...


class Client(Protocol):
    """Sends requests to origins over connections that are kept open."""

    async def send(self, request: Request) -> Response:
        """Return the answer's head. Raise OriginFailure; on cancellation the connection is closed."""
        ...

    async def warm(self, url: str, count: int, *, http2: bool = False) -> int:
        """Open connections until ``count`` are ready and return how many are. Raise OriginFailure.

        With HTTP/2 one suffices.
        """
        ...

    def tidy(self) -> None:
        """Close idle connections that will not be used again."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
