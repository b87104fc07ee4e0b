"""Relay what no dialect claims, untouched and as a stream: files, audio, jobs, whatever comes next.

It goes to the regions of its family in the config's order; :mod:`edgeinf.serve.steps.holder` says to which, and when
another region may take over.
"""

from __future__ import annotations

import asyncio
import time

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import Headers, end_to_end
from edgeinf.serve.exchange import ClientGone, Exchange
from edgeinf.serve.origin.client import OriginFailure, Response
from edgeinf.serve.origin.outgoing import opaque_headers, outgoing
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.replay import send_error
from edgeinf.serve.responses import SPOKEN_FOR, cache_headers
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps import pinned
from edgeinf.serve.steps.account import permit_path
from edgeinf.serve.steps.authenticate import authenticate
from edgeinf.serve.steps.failing import AttemptFailed, lost, timed_out
from edgeinf.serve.steps.holder import Issued, Way, way
from edgeinf.serve.steps.kept_get import KeptGet
from edgeinf.serve.steps.leg import Leg
from edgeinf.serve.steps.limit import limit_call, limit_fetch
from edgeinf.serve.steps.meet import meet
from edgeinf.serve.steps.opaque_guard import checked, checks, media_of
from edgeinf.serve.steps.record import record
from edgeinf.serve.steps.route import Journey
from edgeinf.serve.steps.upload import Pieces, Upload, held

__all__ = ["relay_opaque"]

_RESPONSES = "/v1/responses/"
# So much of an error's body is held while another region is asked.
_ERROR = 256 * 1024
# What a region answers that does not have the path at all.
_ABSENT = frozenset({404, 405, 501})


async def relay_opaque(x: Exchange, runtime: Runtime) -> None:
    """Relay one request and record it."""
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
        ways = await way(x, runtime, family, origins)
        kept = KeptGet(x, runtime, ways.targets[0].origin)
        if await kept.answer():
            return
        if x.controls.only_if_cached:
            raise CallError("no answer is cached", status=504, code="not_cached")
        await limit_fetch(x, runtime)
        upload = Upload(x, runtime.generation.config.listen.max_upload)
        body = await _body(x, runtime, upload, holds=ways.harmless)
        if body and isinstance(body, bytes):
            ways = await way(x, runtime, family, origins, body)
        await _Relay(x, runtime, family, ways, upload, body, kept).run()
    except CallError as error:
        await send_error(x, error, runtime)
    except ClientGone:
        x.error = "client_gone"
        x.status = x.status or 499
    finally:
        x.end()
        record(x, runtime)


async def _body(x: Exchange, runtime: Runtime, upload: Upload, *, holds: bool) -> bytes | Pieces:
    """Return the client's body: whole where it is small and wanted for asking twice or choosing, else as it comes."""
    rules = runtime.generation.guard
    looks = checks(x, rules)
    if not upload.expected and not looks:
        return b""
    pieces, media = upload.pieces(), media_of(x)
    if looks:
        pieces = checked(x, pieces, rules, runtime.generation.config.listen.max_body)
        if not media.startswith(b"multipart/"):  # forms are looked through as they pass
            return await held(pieces)
    names = media.endswith(b"json")  # it may name what an account holds
    return await held(pieces) if upload.small and (holds or names) else Pieces([], pieces)


class _Relay(msgspec.Struct, eq=False):
    """One request on its way through the regions that may be asked."""

    x: Exchange
    runtime: Runtime
    family: str
    way: Way
    upload: Upload
    body: bytes | Pieces
    kept: KeptGet

    async def run(self) -> None:
        """Ask region after region until one answers. Raise CallError, ClientGone."""
        x, watch = self.x, _Watch(self.x)
        journey = Journey(x, self.runtime, [self.way.targets], in_order=True)
        failure: AttemptFailed | None = None  # the last one
        told: AttemptFailed | None = None  # the one that the client is told
        started = time.perf_counter()
        try:
            if isinstance(self.body, bytes):
                watch.begin()
            while True:
                try:
                    leg = await journey.next(failure)
                except AttemptFailed as last:
                    await self._give_up(told or last, journey)
                    return
                x.region, x.attempts = leg.target.origin.name, journey.attempts
                try:
                    await self._attempt(leg, watch, first=told is None)
                    return
                except AttemptFailed as error:
                    failure = error
                    told = error if told is None or not error.elsewhere else told
                    if not self._may_move(error):
                        await self._give_up(told, journey)
                        return
                finally:
                    leg.end()
                    x.origin_ms = (time.perf_counter() - started) * 1000
        except asyncio.CancelledError:
            watch.raise_if_gone()
            raise
        finally:
            watch.end()

    def _may_move(self, failure: AttemptFailed) -> bool:
        """Return whether another region may be asked: nothing was sent, or nothing happens by asking twice."""
        if isinstance(self.body, Pieces) and self.body.begun:
            return False
        return failure.cause == "connect" or self.way.harmless

    async def _attempt(self, leg: Leg, watch: _Watch, *, first: bool) -> None:
        """Ask one region and pass its answer on. Raise AttemptFailed while nothing was passed on."""
        x, origin = self.x, leg.target.origin
        body = aiter(self.body) if isinstance(self.body, Pieces) else self.body
        request = outgoing(origin, x.method, x.path, x.query, opaque_headers(origin, self.family, x.headers), body)
        response: Response | None = None
        try:
            try:
                async with asyncio.timeout(origin.timeouts.total):
                    response = await self.runtime.client.send(request)
                    watch.begin()
                    gathered = await self._judge(response, leg, first=first)
            except TimeoutError:
                raise self._failed(leg, timed_out(origin, "it did not answer in time")) from None
            await self._pass_on(response, origin, gathered)
        except OriginFailure as error:
            if self.upload.failure is not None:
                raise self.upload.failure from None
            failure = self._failed(leg, lost(origin, error))
            if not x.status:
                raise failure from None
            x.error = "origin_cut"  # the head is out: ending without an end tells the client
        finally:
            if response is not None:
                response.close()

    def _failed(self, leg: Leg, failure: AttemptFailed) -> AttemptFailed:
        leg.failed(failure)
        return failure

    async def _judge(self, response: Response, leg: Leg, *, first: bool) -> list[bytes]:
        """Return what of the body was read to see whether another region shall be asked. Raise AttemptFailed if so."""
        status, origin = response.status, leg.target.origin
        if 300 <= status < 400 and self.x.method not in ("GET", "HEAD"):
            raise CallError(
                f"region {origin.name!r} answered {status}, a redirect, which is never followed",
                status=502,
                code="origin_redirect",
            )
        error = CallError(f"region {origin.name!r} answered {status}", status=status, code="origin_error")
        absent = status in _ABSENT and not first
        failure = AttemptFailed(str(status), error, headers=response.headers, elsewhere=absent)
        # What single paths answer says little of a region, so a 5xx or a 429 on one is not held against it.
        if status < 400:
            leg.answered()
        elif status < 500 and status != 429:
            leg.failed(AttemptFailed(str(status), error))
        if not absent and not ((status == 429 or status >= 500) and self._may_move(failure)):
            return []
        gathered: list[bytes] = []
        size = 0
        while size <= _ERROR:
            chunk = await response.read()
            if chunk is None:
                failure.body = b"".join(gathered)
                raise failure
            gathered.append(chunk)
            size += len(chunk)
        return gathered

    async def _pass_on(self, response: Response, origin: Origin, gathered: list[bytes]) -> None:
        x, runtime, kept = self.x, self.runtime, self.kept
        if origin.name != self.way.targets[0].origin.name:
            kept = KeptGet(x, runtime, origin)
        headers = _passed(response.headers)
        kept.begin(response.status, headers)
        await _forget_deleted(x, response.status, origin, runtime)
        await x.start(response.status, [*headers, *self._own_headers()])
        issued = Issued(x, runtime, origin, headers)
        while True:
            chunk = gathered.pop(0) if gathered else await response.read()
            if chunk is None:
                break
            issued.feed(chunk)
            kept.feed(chunk)
            await x.write(chunk, more=True)
        issued.end()
        kept.end(proven=any(name in (b"content-length", b"transfer-encoding") for name, _ in response.headers))
        await x.write(b"", more=False)

    async def _give_up(self, failure: AttemptFailed, journey: Journey) -> None:
        """Pass on what the last region answered. Raise CallError where it did not answer."""
        if not failure.cause.isdigit():
            raise failure.error
        headers = _passed(failure.headers)
        if journey.attempts > 1 and failure.cause[0] == "5":
            # Every region was tried: a client that tries again by itself would only triple that.
            headers = [*(pair for pair in headers if pair[0] != b"x-should-retry"), (b"x-should-retry", b"false")]
        await self.x.start(int(failure.cause), [*headers, *self._own_headers()])
        await self.x.write(failure.body, more=False)

    def _own_headers(self) -> Headers:
        return cache_headers(self.x, why_not="this path is relayed as it is" if self.x.cache == "bypass" else None)


def _passed(headers: Headers) -> Headers:
    return [pair for pair in end_to_end(headers) if pair[0] != b"set-cookie" and pair[0] not in SPOKEN_FOR]


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
