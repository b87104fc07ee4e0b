"""A path that names what an origin holds goes to the region that issued it; what an answer issues is remembered."""

from __future__ import annotations

from collections.abc import Sequence

from edgeinf.core.dialects.origin_state import issued
from edgeinf.core.wire.headers import Headers, get
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.health import CLOSED
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.runtime import Runtime

__all__ = ["Issued", "holder"]

_READ = 256 * 1024


def holder(x: Exchange, runtime: Runtime, origins: Sequence[Origin]) -> Origin:
    """Return the region whose account issued an id in the path, else the first of ``origins`` that is not left out."""
    if len(origins) > 1:
        for region, account in runtime.accounts.issuers(x.path.split("/")[3:]):
            for origin in origins:
                if origin.name == region and origin.account(x.credential) == account:
                    return origin
    now = runtime.clock.monotonic()
    usable = (origin for origin in origins if runtime.regions.state(origin).health.state(now) == CLOSED)
    return next(usable, origins[0])


class Issued:
    """Reads along an answer, up to a bound, for the ids in it."""

    def __init__(self, x: Exchange, runtime: Runtime, origin: Origin, headers: Headers) -> None:
        self._x, self._runtime, self._origin = x, runtime, origin
        json = b"json" in (get(headers, b"content-type") or b"") and get(headers, b"content-encoding") is None
        self._reads = json and len(runtime.generation.origins) > 1
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take note of a part of the answer."""
        if self._reads:
            self._parts.append(chunk)
            self._size += len(chunk)
            self._reads = self._size <= _READ

    def end(self) -> None:
        """Remember whose the ids are."""
        names = issued(b"".join(self._parts), every_id=True)
        self._runtime.accounts.remember(names, self._origin.name, self._origin.account(self._x.credential))
