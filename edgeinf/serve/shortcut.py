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
from edgeinf.serve import http1, replay
from edgeinf.serve.admission import admit
from edgeinf.serve.exchange import Exchange, Message
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.pipeline import recall
from edgeinf.serve.repeats import Repeats
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
        self._repeats = Repeats(runtime)
        self._bodies = runtime.generation.config.events.bodies  # what is captured is captured on the whole way
        self._paths: dict[bytes, tuple[str, Dialect]] = {
            path.encode(): (path, dialect) for dialect in dialects.dialects().values() for path in dialect.paths
        }

    def claims(self, url: bytes) -> bool:
        """Return whether a request's target may have a short way."""
        return url in self._paths

    def again(self, data: bytes, client: str) -> bytes | None:
        """Return the answer to a whole request whose very bytes are known, or None where it must be read."""
        return self._repeats.answer(data, client)

    def answer(
        self, url: bytes, headers: Headers, body: bytes, client: str, data: bytes | None = None
    ) -> bytes | Exchange | None:
        """Return a whole HTTP/1.1 answer; else the request must go the whole way, from as far as it came here.

        ``data`` is the whole request as it came, where it came in one piece.
        """
        runtime = self._runtime
        path, dialect = self._paths[url]
        named = dict(headers)
        if len(named) != len(headers) or b"content-encoding" in named or runtime.draining or self._bodies:
            return None
        if len(body) > runtime.generation.config.listen.max_body:
            return None
        x = Exchange("POST", path, "", named, client, _nothing, _nowhere)
        x.raw, x.dialect = body, dialect
        try:
            generation = runtime.generation
            admit(x, generation.config)
            if x.web_origin is not None:
                return None  # a browser is told more
            meet(x, generation)
            now = runtime.clock.now()
            authenticate(x, generation, now)
            x.recalled = recall(x, runtime)
        except CallError:
            return None  # the whole way says it in full
        if not x.recalled:
            return x
        terms = generation.terms
        limited = terms is not None and bool(terms.early)
        if limited and not (isinstance(runtime.limiter, LocalLimiter) and terms is not None and terms.at_once):
            return x
        if (
            x.bypass is not None
            or x.controls.no_cache
            or len(x.keys) != 1
            or generation.config.cache.replay != "instant"
        ):
            return x
        found = runtime.tiers.near(x.keys[0], now)
        if found is None or not usable(x, found.entry, now):
            return x
        shown = replay.shown_already(x, found, runtime)
        if shown is None:
            return x
        try:
            if limited:
                _at_once(limit_call(x, runtime))
            note_hit(x, found.entry, runtime)
            x.cache, x.tier, x.hits = "hit", "memory", 1
            status, head = 200, x.with_limits(replay.hit_head(x, found.entry, now))
        except CallError as error:
            x.error = error.code
            status, head, shown = error_answer(x, error)
            head = x.with_limits(head)
        framed = http1.framed(shown, stream=x.call_streams and status == 200)
        answer = b"".join((http1.status_line(status), http1.lines(head), *framed))
        x.answered_now(status)
        price(x, generation.prices, now)
        charges = x.charges
        x.end()
        event = record(x, runtime)
        if data is not None and status == 200:
            self._repeats.learn(data, client, x, found, head, charges, event)
        return answer


def _at_once(step: Coroutine[Any, Any, None]) -> None:
    """Run a step that does not wait for anything."""
    try:
        step.send(None)
    except StopIteration:
        return
    step.close()
    raise AssertionError  # terms.at_once promised otherwise
