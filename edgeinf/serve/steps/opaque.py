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
from edgeinf.serve.steps.account import permit_path
from edgeinf.serve.steps.authenticate import authenticate
from edgeinf.serve.steps.holder import Issued, holder
from edgeinf.serve.steps.limit import limit_call, limit_fetch
from edgeinf.serve.steps.meet import meet
from edgeinf.serve.steps.opaque_model import permitted
from edgeinf.serve.steps.record import record

__all__ = ["relay_opaque"]


async def relay_opaque(x: Exchange, runtime: Runtime) -> None:
    """Relay one request to the first region of its family and record it."""
    x.reason = "opaque"
    try:
        family = "anthropic" if b"anthropic-version" in x.headers or b"x-api-key" in x.headers else "openai"
        meet(x, runtime.generation)
        authenticate(x, runtime.generation, runtime.clock.now())
        permit_path(x)
        await limit_call(x, runtime)
        await limit_fetch(x, runtime)
        origins = runtime.generation.origins_for(family, "") or list(runtime.generation.origins)
        if not origins:
            raise CallError(f"no region serves {family!r}", status=404, code="no_region")
        await _relay(x, runtime, holder(x, runtime, origins), family)
    except CallError as error:
        await send_error(x, error, runtime)
    except ClientGone:
        x.error = "client_gone"
        x.status = x.status or 499
    finally:
        x.end()
        record(x, runtime)


async def _relay(x: Exchange, runtime: Runtime, origin: Origin, family: str) -> None:
    x.region, x.attempts = origin.name, 1
    listen = runtime.generation.config.listen
    upload = _Upload(x, listen.max_upload)
    body: bytes | AsyncIterator[bytes] = b""
    chooses = x.virtual_key is not None and x.virtual_key.models is not None and x.method not in ("GET", "HEAD")
    if upload.expected or chooses:
        body = permitted(x, upload.pieces(), listen.max_body)
    request = outgoing(origin, x.method, x.path, x.query, opaque_headers(origin, family, x.headers), body)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(origin.timeouts.total):
            response = await runtime.client.send(request)
    except TimeoutError:
        raise CallError(f"region {origin.name!r} did not answer", status=504, code="origin_timeout") from None
    except OriginFailure as error:
        if upload.failure is not None:
            raise upload.failure from None
        code = "origin_unreachable" if isinstance(error, ConnectFailed) else "origin_cut"
        raise CallError(f"region {origin.name!r}: {error}", status=502, code=code) from None
    try:
        if 300 <= response.status < 400 and x.method not in ("GET", "HEAD"):
            raise CallError(
                f"region {origin.name!r} answered {response.status}, a redirect, which is never followed",
                status=502,
                code="origin_redirect",
            )
        headers = [pair for pair in end_to_end(response.headers) if pair[0] != b"set-cookie"]
        await x.start(response.status, [*headers, *cache_headers(x, why_not="this path is relayed as it is")])
        issued = Issued(x, runtime, origin, headers)
        while True:
            chunk = await response.read()
            if chunk is None:
                break
            issued.feed(chunk)
            await x.write(chunk, more=True)
        issued.end()
    except OriginFailure as error:
        x.error = "origin_cut"
        if not x.status:
            raise CallError(f"region {origin.name!r}: {error}", status=502, code="origin_cut") from None
        return  # the head is out: ending without an end tells the client
    finally:
        response.close()
        x.origin_ms = (time.perf_counter() - started) * 1000
    await x.write(b"", more=False)


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
            message = await self._x.receive()
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
