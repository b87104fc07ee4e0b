"""Relay what no dialect claims, untouched and as a stream: files, audio, jobs, whatever comes next."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import end_to_end
from edgeinf.serve.exchange import ClientGone, Exchange
from edgeinf.serve.origin.client import ConnectFailed, OriginFailure
from edgeinf.serve.origin.outgoing import opaque_headers, outgoing
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.replay import send_error
from edgeinf.serve.responses import cache_headers
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps import pinned
from edgeinf.serve.steps.account import permit_path
from edgeinf.serve.steps.authenticate import authenticate
from edgeinf.serve.steps.holder import Issued, holder
from edgeinf.serve.steps.kept_get import KeptGet
from edgeinf.serve.steps.limit import limit_call, limit_fetch
from edgeinf.serve.steps.meet import meet
from edgeinf.serve.steps.opaque_model import permitted
from edgeinf.serve.steps.record import record

__all__ = ["relay_opaque"]

_RESPONSES = "/v1/responses/"


async def relay_opaque(x: Exchange, runtime: Runtime) -> None:
    """Relay one request to the first region of its family and record it."""
    x.reason = "opaque"
    try:
        family = "anthropic" if b"anthropic-version" in x.headers or b"x-api-key" in x.headers else "openai"
        meet(x, runtime.generation)
        authenticate(x, runtime.generation, runtime.clock.now())
        permit_path(x)
        await limit_call(x, runtime)
        origins = runtime.generation.origins_for(family, "") or list(runtime.generation.origins)
        if not origins:
            raise CallError(f"no region serves {family!r}", status=404, code="no_region")
        origin = holder(x, runtime, origins)
        kept = KeptGet(x, runtime, origin)
        if await kept.answer():
            return
        if x.controls.only_if_cached:
            raise CallError("no answer is cached", status=504, code="not_cached")
        await limit_fetch(x, runtime)
        await _relay(x, runtime, origin, family, kept)
    except CallError as error:
        await send_error(x, error, runtime)
    except ClientGone:
        x.error = "client_gone"
        x.status = x.status or 499
    finally:
        x.end()
        record(x, runtime)


async def _relay(x: Exchange, runtime: Runtime, origin: Origin, family: str, kept: KeptGet) -> None:
    x.region, x.attempts = origin.name, 1
    listen = runtime.generation.config.listen
    upload = _Upload(x, listen.max_upload)
    body: bytes | AsyncIterator[bytes] = b""
    chooses = x.virtual_key is not None and x.virtual_key.models is not None and x.method not in ("GET", "HEAD")
    if upload.expected or chooses:
        body = permitted(x, upload.pieces(), listen.max_body)
    request = outgoing(origin, x.method, x.path, x.query, opaque_headers(origin, family, x.headers), body)
    started = time.perf_counter()
    watch = _Watch(x)
    try:
        async with asyncio.timeout(origin.timeouts.total):
            if body == b"":
                watch.begin()
            response = await runtime.client.send(request)
    except asyncio.CancelledError:
        watch.raise_if_gone()
        raise
    except TimeoutError:
        watch.end()
        raise CallError(f"region {origin.name!r} did not answer", status=504, code="origin_timeout") from None
    except OriginFailure as error:
        watch.end()
        if upload.failure is not None:
            raise upload.failure from None
        code = "origin_unreachable" if isinstance(error, ConnectFailed) else "origin_cut"
        raise CallError(f"region {origin.name!r}: {error}", status=502, code=code) from None
    try:
        watch.begin()
        if 300 <= response.status < 400 and x.method not in ("GET", "HEAD"):
            raise CallError(
                f"region {origin.name!r} answered {response.status}, a redirect, which is never followed",
                status=502,
                code="origin_redirect",
            )
        headers = [pair for pair in end_to_end(response.headers) if pair[0] != b"set-cookie"]
        kept.begin(response.status, headers)
        await _forget_deleted(x, response.status, origin, runtime)
        detail = "this path is relayed as it is" if x.cache == "bypass" else None
        await x.start(response.status, [*headers, *cache_headers(x, why_not=detail)])
        issued = Issued(x, runtime, origin, headers)
        while True:
            chunk = await response.read()
            if chunk is None:
                break
            issued.feed(chunk)
            kept.feed(chunk)
            await x.write(chunk, more=True)
        issued.end()
        kept.end(proven=any(name in (b"content-length", b"transfer-encoding") for name, _ in response.headers))
    except OriginFailure as error:
        x.error = "origin_cut"
        if not x.status:
            raise CallError(f"region {origin.name!r}: {error}", status=502, code="origin_cut") from None
        return  # the head is out: ending without an end tells the client
    except asyncio.CancelledError:
        watch.raise_if_gone()
        raise
    finally:
        watch.end()
        response.close()
        x.origin_ms = (time.perf_counter() - started) * 1000
    await x.write(b"", more=False)


async def _forget_deleted(x: Exchange, status: int, origin: Origin, runtime: Runtime) -> None:
    """Let go of the stored answer that the origin has just deleted."""
    if x.method == "DELETE" and 200 <= status < 300 and x.path.startswith(_RESPONSES):
        await pinned.forget(x.path.removeprefix(_RESPONSES), origin.account(x.credential), runtime)


class _Watch:
    """Cancels the task that began it when the client leaves. The client's body must have been read by then."""

    def __init__(self, x: Exchange) -> None:
        self._x = x
        self._task: asyncio.Task[None] | None = None
        self._main = asyncio.current_task()

    def begin(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._x.gone())
            self._task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and self._main is not None:
            self._main.cancel()

    def raise_if_gone(self) -> None:
        """Raise ClientGone where that is why this task was cancelled."""
        if self._task is not None and self._task.done() and not self._task.cancelled():
            if self._main is not None:
                self._main.uncancel()
            raise ClientGone from None

    def end(self) -> None:
        if self._task is not None:
            self._task.remove_done_callback(self._left)
            self._task.cancel()


# How long an upload may pause.
_PATIENCE_S = 60.0


class _Upload:
    """The client's body as it arrives, bounded."""

    def __init__(self, x: Exchange, limit: int) -> None:
        self._x = x
        self._limit = limit
        self.failure: CallError | None = None
        length = int(x.headers.get(b"content-length", b"0") or b"0")
        self.expected = length > 0 or b"transfer-encoding" in x.headers
        if length > limit:
            raise self._too_large()

    async def pieces(self) -> AsyncIterator[bytes]:
        size = 0
        while True:
            message = await self._x.within(_PATIENCE_S)
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece: bytes = message.get("body", b"")
            size += len(piece)
            if size > self._limit:
                self.failure = self._too_large()
                raise self.failure
            yield piece
            if not message.get("more_body"):
                return

    def _too_large(self) -> CallError:
        hint = "listen.max_upload raises the limit"
        return CallError(f"the upload is larger than {self._limit} bytes", status=413, code="too_large", hint=hint)
