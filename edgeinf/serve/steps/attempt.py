"""One attempt at one region, or two that race where the first is slow to begin."""

from __future__ import annotations

import asyncio

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.observe.tracing import Span, traced
from edgeinf.serve.origin import adapters
from edgeinf.serve.origin.outgoing import client_account, dialect_headers, outgoing
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.failing import AttemptFailed, Beaten
from edgeinf.serve.steps.leg import Leg
from edgeinf.serve.steps.relay import Attempt, Recording, relay
from edgeinf.serve.steps.route import Journey
from edgeinf.serve.steps.store import storable

__all__ = ["Try", "run"]


class Try(msgspec.Struct, kw_only=True):
    """What all attempts at one call share. The first to claim it wins; the others are cancelled."""

    x: Exchange
    flight: Flight
    runtime: Runtime
    journey: Journey
    winner: Leg | None = None
    running: dict[asyncio.Task[Recording | None], Leg] = {}

    def claim(self, leg: Leg) -> bool:
        """Let a leg have the flight, unless another has it."""
        if self.winner is not None:
            return self.winner is leg
        self.winner = leg
        self.flight.fallback = leg.target.model if leg.target.fallback else None
        for task, other in self.running.items():
            if other is not leg:
                task.cancel()
        return True


async def run(this: Try, leg: Leg) -> tuple[Recording | None, Leg]:
    """Return what was recorded and which leg brought it. Raise AttemptFailed where none brought an answer."""
    after_s = this.journey.hedge_after_s(leg)
    if after_s is None:
        return await _run(this, leg), leg
    failure: AttemptFailed | None = None
    legs = [leg]
    try:
        _start(this, leg)
        while this.running:
            done, _ = await asyncio.wait(this.running, timeout=after_s, return_when=asyncio.FIRST_COMPLETED)
            after_s = None
            if not done:
                second = None if this.winner is not None else this.journey.hedge()
                if second is not None:
                    legs.append(second)
                    _start(this, second)
                continue
            for task in done:
                ended = this.running.pop(task)
                try:
                    return task.result(), ended
                except AttemptFailed as error:
                    failure = error
                except (Beaten, asyncio.CancelledError):
                    pass
        assert failure is not None
        raise failure
    finally:
        left = list(this.running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for one in legs:  # a task that is cancelled before its first step runs nothing, not even what cleans up
            one.end()


def _start(this: Try, leg: Leg) -> None:
    this.running[asyncio.get_running_loop().create_task(_run(this, leg))] = leg


async def _run(this: Try, leg: Leg) -> Recording | None:
    flight, tracer = this.flight, this.runtime.tracer
    origin = leg.target.origin
    span = None if tracer is None else tracer.attempt(this.x, origin.name, origin.base)
    cause: str | None = "cancelled"
    try:
        await _prepare(this, leg)
        recording = await relay(this.runtime.client, _attempt(this, leg, span), flight)
        cause = None if flight.failure is None else flight.failure.code
        # What broke after its first token is the region's failure, though the client has part of an answer.
        if flight.failure is not None:
            leg.failed(AttemptFailed("bad-answer", flight.failure))
        elif recording is not None and recording.verdict.error is not None:
            error = CallError("an error inside the stream", status=502, code="origin_soft_error")
            leg.failed(AttemptFailed("bad-answer", error))
        return recording
    except AttemptFailed as error:
        cause = error.cause
        leg.failed(error)
        if error.cause == "404":
            adapters.forget(leg.target, leg.state)
        raise
    finally:
        leg.end()
        if tracer is not None and span is not None:
            tracer.end(span, cause)


async def _prepare(this: Try, leg: Leg) -> None:
    """See that the model's adapter is in the region. Raise AttemptFailed where it cannot be used there."""
    if leg.target.adapter is None:
        return
    origin, clock = leg.target.origin, this.runtime.clock
    account = client_account(origin, this.x.headers)
    why = await adapters.ensure(this.runtime.client, leg.target, leg.state, account, clock.monotonic())
    if why is not None:
        error = CallError(f"region {origin.name!r}: {why}", status=503, code="adapter_missing")
        raise AttemptFailed("adapter", error, elsewhere=True)


def _attempt(this: Try, leg: Leg, span: Span | None) -> Attempt:
    x, target = this.x, leg.target
    assert x.call is not None
    assert x.dialect is not None
    body = x.dialect.upstream_body(x.call)
    if body is None and x.rewritten:
        body = x.call.body
    if target.sent != x.call.model:
        body = {**(x.call.body if body is None else body), "model": target.sent}
    headers = dialect_headers(target.origin, x.dialect.family, x.headers, this.runtime.generation.forward_headers)
    if span is not None:
        headers = traced(headers, span)
    raw = x.raw if body is None else msgspec.json.encode(body)
    return Attempt(
        origin=target.origin,
        request=outgoing(target.origin, "POST", x.path, x.query, headers, raw),
        call=x.call,
        dialect=x.dialect,
        hold=this.journey.more() or len(this.running) > 1,
        record=storable(x),
        claim=lambda: this.claim(leg),
        answered=leg.answered,
        upcoming=this.journey.upcoming,
    )
