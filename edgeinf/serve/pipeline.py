"""A request, from its bytes to its answer: the ordered steps.

``answer_call`` is the table of contents. What may be shared runs in a flight of its own, which its readers follow: the
client that caused it, clients that ask the same meanwhile, and the store.
"""

from __future__ import annotations

import asyncio
import logging

from edgeinf.core.errors import CallError, again
from edgeinf.core.key import event_key
from edgeinf.serve import replay
from edgeinf.serve.exchange import ClientGone, Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.memo import Remembered
from edgeinf.serve.rendering import variant_of
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.answer import view_of
from edgeinf.serve.steps.assemble import assemble
from edgeinf.serve.steps.authenticate import authenticate, narrow_to_user, permit_model
from edgeinf.serve.steps.coalesce import follow, join_or_launch, lead
from edgeinf.serve.steps.guard import guard_call
from edgeinf.serve.steps.limit import limit_call, limit_fetch
from edgeinf.serve.steps.lookup import lookup, make_keys
from edgeinf.serve.steps.meet import meet
from edgeinf.serve.steps.parts import widen
from edgeinf.serve.steps.pinned import note_hit
from edgeinf.serve.steps.price import price
from edgeinf.serve.steps.read import read_call
from edgeinf.serve.steps.record import record
from edgeinf.serve.steps.refresh import may_serve_stale, serve_stale

__all__ = ["answer_call", "internal", "recall"]

_log = logging.getLogger("edgeinf.serve")


async def answer_call(x: Exchange, runtime: Runtime) -> None:
    """Answer one call of a dialect, whatever happens, and record it."""
    try:
        try:
            if x.recalled is None:  # else the short way has been so far
                meet(x, runtime.generation)
                authenticate(x, runtime.generation, runtime.clock.now())
            await understand(x, runtime)
            x.view = view_of(x, runtime.generation.answer)
            await limit_call(x, runtime)
            looking = lookup(x, runtime.tiers, runtime.clock.now())
            hits = await (looking if runtime.tracer is None else runtime.tracer.looking(x, looking))
            if hits is not None:
                note_hit(x, hits[0].entry, runtime)
            if hits is not None and await replay.send_hit(x, hits, runtime):
                pass
            elif x.controls.only_if_cached:
                x.cache = "miss"
                raise CallError("no answer is cached", status=504, code="not_cached")
            elif x.stale is not None and may_serve_stale(x, runtime):
                await serve_stale(x, runtime)
            else:
                await limit_fetch(x, runtime)
                await fetch(x, runtime)
        except CallError as error:
            await replay.send_error(x, error, runtime)
        except (ClientGone, asyncio.CancelledError):
            x.error = x.error or "client_gone"
            x.status = x.status or 499
            raise
        except Exception as bug:
            x.error = "internal"
            if x.status:
                raise  # what has begun is cut, so that nobody takes it for whole
            _log.exception("a bug while answering %s", x.path)
            await replay.send_error(x, internal(bug), runtime)
    except ClientGone:
        pass
    finally:
        price(x, runtime.generation.prices, runtime.clock.now())
        x.end()
        record(x, runtime)


def internal(bug: Exception) -> CallError:
    """Return what a client is told of a bug."""
    return CallError(f"a bug in edgeinf: {type(bug).__name__}", status=500, code="internal")


def recall(x: Exchange, runtime: Runtime) -> bool:
    """Take over what is remembered of an identical request, or note under which name to remember this one.

    Raise CallError as that request had it raised.
    """
    generation = runtime.generation
    assembler = generation.assembler
    state = () if assembler is None else assembler.refresh()
    read = () if assembler is None else assembler.reads(x)
    x.memo_name = runtime.memo.name(x, (generation.number, state), generation.read_headers, read)
    known = None if x.memo_name is None else runtime.memo.get(x.memo_name)
    if known is None:
        return False
    x.call, x.controls, x.level = known.call, known.controls, known.level
    x.forms, x.keys, x.bypass, x.scope = known.forms, known.keys, known.bypass, known.scope
    x.rewritten, x.prompt, x.added = known.rewritten, known.prompt, known.added
    x.names, x.variant = known.names, known.variant
    permit_model(x, known.call.model)
    if known.guard:
        x.guard = [*(x.guard or ()), *known.guard]
    if known.refused is not None:
        raise again(known.refused)
    return True


async def understand(x: Exchange, runtime: Runtime) -> None:
    """Read the call, guard and complete it and make its keys, or remember all of that from an identical request."""
    generation = runtime.generation
    assembler = generation.assembler
    if x.recalled is None:
        x.recalled = recall(x, runtime)
    if x.recalled:
        return
    read_call(x)
    assert x.call is not None
    permit_model(x, x.call.model)
    nameless = narrow_to_user(x)
    try:
        if generation.guard:
            await guard_call(x, generation.guard, runtime.estimator)
        if assembler is not None:
            await assemble(x, assembler, runtime.client)
    except CallError as refusal:
        remember(x, runtime, refusal)
        raise
    except RecursionError:
        raise CallError("the body is nested too deeply", code="invalid_json") from None
    make_keys(x, generation, runtime.seed)
    x.bypass = x.bypass or nameless
    remember(x, runtime)


def remember(x: Exchange, runtime: Runtime, refused: CallError | None = None) -> None:
    """Remember what became of a request's bytes, a refusal of the guard included."""
    if x.call is None or x.dialect is None:
        return
    x.names = tuple(event_key(form, runtime.secret) for form in x.forms)
    if x.memo_name is None:
        return
    x.variant = variant_of(x.dialect, x.call)
    known = Remembered(
        x.call,
        x.controls,
        x.level,
        x.forms,
        x.keys,
        x.bypass,
        x.scope,
        x.rewritten,
        x.prompt,
        x.added,
        tuple(x.guard or ()),
        refused,
        x.names,
        x.variant,
    )
    runtime.memo.put(x.memo_name, len(x.raw), known)


async def fetch(x: Exchange, runtime: Runtime) -> None:
    """Have the origin answer: follow a flight that is under way, or launch one."""
    shared: Flight | None = None
    flight, leads = join_or_launch(x, runtime)
    x.flight = flight if leads else None
    if not await (lead(x, flight, runtime) if leads else follow(x, flight, runtime, leads=False)):
        # The answer that was under way turned out to be nobody else's; this call is on its own now.
        shared = flight
    if shared is not None:
        widen(x)
        flight, _ = join_or_launch(x, runtime, alone=True)
        x.flight = flight
        await lead(x, flight, runtime)
