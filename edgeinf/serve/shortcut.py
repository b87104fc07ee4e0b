"""The short way to a hit: a request seen before, whose answer is in memory, is answered without a task.

It takes the very steps of the pipeline, in their order, as far as they can be taken without waiting; wherever one
cannot, or says no, nothing has been charged or sent and the request goes the whole way.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from edgeinf.core import dialects
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import Headers
from edgeinf.serve import replay
from edgeinf.serve.admission import admit
from edgeinf.serve.exchange import Exchange, Message
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.pipeline import recall
from edgeinf.serve.responses import error_answer
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.authenticate import authenticate
from edgeinf.serve.steps.limit import limit_call
from edgeinf.serve.steps.lookup import usable
from edgeinf.serve.steps.meet import meet
from edgeinf.serve.steps.pinned import note_hit
from edgeinf.serve.steps.price import price
from edgeinf.serve.steps.record import record

__all__ = ["Shortcut"]


async def _nothing() -> Message:
    raise AssertionError  # the request is complete, and nobody waits for its client


async def _nowhere(message: Message) -> None:
    raise AssertionError  # the answer goes out as one piece of bytes


class Shortcut:
    """Answers what needs no waiting."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._bodies = runtime.generation.config.events.bodies  # what is captured is captured on the whole way
        self._paths: dict[bytes, tuple[str, Dialect]] = {
            path.encode(): (path, dialect) for dialect in dialects.dialects().values() for path in dialect.paths
        }

    def claims(self, url: bytes) -> bool:
        """Return whether a request's target may have a short way."""
        return url in self._paths

    def answer(self, url: bytes, headers: Headers, body: bytes, client: str) -> bytes | None:
        """Return a whole HTTP/1.1 answer, or None where the request must go the whole way."""
        runtime = self._runtime
        path, dialect = self._paths[url]
        named = dict(headers)
        if len(named) != len(headers) or b"content-encoding" in named or runtime.draining or self._bodies:
            return None
        x = Exchange("POST", path, "", named, client, _nothing, _nowhere)
        x.raw, x.dialect = body, dialect
        try:
            generation = runtime.generation
            admit(x, generation.config)
            meet(x, generation)
            now = runtime.clock.now()
            authenticate(x, generation, now)
            if not recall(x, runtime):
                return None
        except CallError:
            return None  # the whole way says it in full
        terms = generation.terms
        limited = terms is not None and terms.early
        if limited and not (isinstance(runtime.limiter, LocalLimiter) and terms is not None and terms.at_once):
            return None
        if (
            x.bypass is not None
            or x.controls.no_cache
            or len(x.keys) != 1
            or generation.config.cache.replay != "instant"
        ):
            return None
        found = runtime.tiers.near(x.keys[0], now)
        if found is None or not usable(x, found.entry, now):
            return None
        shown = replay.shown_already(x, found, runtime)
        if shown is None:
            return None
        try:
            if limited:
                _at_once(limit_call(x, runtime))
            note_hit(x, found.entry, runtime)
            x.cache, x.tier, x.hits = "hit", "memory", 1
            head = x.with_limits(replay.hit_head(x, found.entry, now))
            answer = _http(200, head, shown, framed=not x.call_streams)
            x.answered_now(200)
        except CallError as error:
            x.error = error.code
            status, head, text = error_answer(x, error)
            answer = _http(status, x.with_limits(head), text, framed=True)
            x.answered_now(status)
        price(x, generation.prices, now)
        x.end()
        record(x, runtime)
        return answer


def _at_once(step: Coroutine[Any, Any, None]) -> None:
    """Run a step that does not wait for anything."""
    try:
        step.send(None)
    except StopIteration:
        return
    step.close()
    raise AssertionError  # terms.at_once promised otherwise


_STATUS = {
    200: b"HTTP/1.1 200 OK\r\n",
    429: b"HTTP/1.1 429 Too Many Requests\r\n",
}


def _http(status: int, headers: Headers, body: bytes, *, framed: bool) -> bytes:
    """Return an answer's bytes: with its length, or, for a stream, as one chunk and the end."""
    lines = [_STATUS.get(status) or b"HTTP/1.1 %d \r\n" % status]
    lines += [b"%b: %b\r\n" % pair for pair in headers]
    if framed:
        lines.append(b"content-length: %d\r\n\r\n" % len(body))
        lines.append(body)
    else:
        lines.append(b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(body))
        lines += (body, b"\r\n0\r\n\r\n")
    return b"".join(lines)
