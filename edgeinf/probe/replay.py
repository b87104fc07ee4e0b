"""A log against a running server: every request in order, each scope with a credential of its own.

The credentials are invented from the scope's name, so a server without auth keeps the scopes apart as it did when the
log was written, and no real credential is needed or sent. The client library is named only here.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

import msgspec

from edgeinf.core.errors import RemoteError, UsageError
from edgeinf.core.stats import quantile

__all__ = ["Outcome", "ReplayRequest", "credential", "document", "replay"]

_CACHE_HEADER = "x-edgeinf-cache"
_PERCENTILES = (("median", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))


class ReplayRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to send. ``at`` paces the replay; ``scope`` names who asks; headers are labels for events."""

    path: str
    body: bytes
    at: float | None = None
    scope: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class Outcome(msgspec.Struct, kw_only=True):
    """What came back, counted."""

    requests: int = 0
    cache: Counter[str] = msgspec.field(default_factory=Counter)  # what x-edgeinf-cache said
    errors: Counter[str] = msgspec.field(default_factory=Counter)  # transport failures by class, statuses from 400
    elapsed_s: float = 0.0
    latencies_ms: array[float] = msgspec.field(default_factory=lambda: array("f"))
    hit_latencies_ms: array[float] = msgspec.field(default_factory=lambda: array("f"))

    @property
    def hits(self) -> int:
        """Return how many requests the cache answered whole."""
        return self.cache["hit"]


def credential(scope: str) -> str:
    """Return the invented credential of a scope, the same in every replay."""
    return "replay-" + hashlib.blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


async def replay(
    requests: Iterable[ReplayRequest],
    url: str,
    *,
    concurrency: int = 1,
    speed: float | None = None,
    timeout_s: float = 600.0,
    progress: Callable[[int], None] | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Outcome:
    """Send requests in order, at most ``concurrency`` at once, and count what came back.

    ``speed`` 1 keeps the log's own pace, 10 is ten times faster, None as fast as it goes. Raise RemoteError where
    nothing answers at all.
    """
    base = _base(url)
    outcome = Outcome()
    source = iter(requests)
    first_at: list[float] = []
    started = monotonic()
    async with _client(concurrency, timeout_s) as client:

        async def work() -> None:
            for request in source:  # shared: each worker takes the next
                await _pace(request, speed, first_at, started, monotonic, sleep)
                await _send(client, base, request, outcome, monotonic)
                outcome.requests += 1
                if progress is not None:
                    progress(outcome.requests)

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, concurrency)):
                group.create_task(work())
    outcome.elapsed_s = monotonic() - started
    if outcome.requests and outcome.errors["connect"] == outcome.requests:
        raise RemoteError(f"nothing answers at {base}", hint="start it with: edgeinf serve")
    return outcome


def _base(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"--to: {url!r} is not a URL", hint="as http://127.0.0.1:8787")
    return url.rstrip("/").removesuffix("/v1")


def _client(concurrency: int, timeout_s: float) -> Any:
    from pyreqwest.client import ClientBuilder

    return (
        ClientBuilder()
        .http1_only()
        .tcp_nodelay(True)
        .no_proxy()
        .error_for_status(False)
        .max_connections(max(1, concurrency))
        .timeout(timedelta(seconds=timeout_s))
        .build()
    )


async def _pace(
    request: ReplayRequest,
    speed: float | None,
    first_at: list[float],
    started: float,
    monotonic: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> None:
    if speed is None or request.at is None:
        return
    if not first_at:
        first_at.append(request.at)
    wait = started + (request.at - first_at[0]) / speed - monotonic()
    if wait > 0:
        await sleep(wait)


async def _send(
    client: Any, base: str, request: ReplayRequest, outcome: Outcome, monotonic: Callable[[], float]
) -> None:
    from pyreqwest.exceptions import PyreqwestError

    path, _, query = request.path.partition("?")
    builder = client.post(base + path + (f"?{query}" if query else ""))
    builder = builder.header("content-type", "application/json")
    secret = credential(request.scope)
    if path == "/v1/messages":
        builder = builder.header("x-api-key", secret).header("anthropic-version", "2023-06-01")
    else:
        builder = builder.header("authorization", f"Bearer {secret}")
    for name, value in request.headers:
        builder = builder.header(name, value)
    started = monotonic()
    try:
        response = await builder.body_bytes(request.body).build().send()
        await response.bytes()
    except PyreqwestError as error:
        outcome.errors[_kind(error)] += 1
        return
    took = (monotonic() - started) * 1000
    said = response.get_header(_CACHE_HEADER) or "none"
    outcome.cache[said] += 1
    if response.status >= 400:
        outcome.errors[str(response.status)] += 1
        return
    outcome.latencies_ms.append(took)
    if said == "hit":
        outcome.hit_latencies_ms.append(took)


def _kind(error: Exception) -> str:
    name = type(error).__name__.lower()
    for kind in ("connect", "timeout", "read", "write", "decode"):
        if kind in name:
            return kind
    return "transport"


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the counts as the JSON document that scripts rely on."""
    return {
        "requests": outcome.requests,
        "hits": outcome.hits,
        "hit_rate": outcome.hits / outcome.requests if outcome.requests else None,
        "errors": dict(sorted(outcome.errors.items())),
        "cache": dict(sorted(outcome.cache.items())),
        "elapsed_s": round(outcome.elapsed_s, 3),
        "requests_per_s": round(outcome.requests / outcome.elapsed_s, 1) if outcome.elapsed_s else None,
        "latency": {"all": _figures(outcome.latencies_ms), "hit": _figures(outcome.hit_latencies_ms)},
    }


def _figures(values: array[float]) -> dict[str, float | int | None]:
    held = sorted(values)
    found: dict[str, float | int | None] = {"n": len(held)}
    found.update(_quantiles(held))
    return found


def _quantiles(held: list[float]) -> Iterator[tuple[str, float | None]]:
    for name, p in _PERCENTILES:
        yield f"{name}_ms", round(quantile(held, p), 3) if held else None
