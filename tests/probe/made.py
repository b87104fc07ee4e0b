"""Attempts made up by the tests, and attempts at a real origin."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from edgeinf.mock import Kind, ThreadedOrigin
from edgeinf.probe.request import Asked, make_request
from edgeinf.probe.sample import Client
from edgeinf.probe.transport import Route
from edgeinf.probe.values import Attempt, Instants, Target, Timeouts

__all__ = ["QUICK", "ask", "attempt_of", "raw_origin", "run_of", "sent_ms", "target_of"]

QUICK = Timeouts(connect_s=5, first_s=5, idle_s=0.3, total_s=20)
_MS = 1_000_000


def attempt_of(target: str = "a", round: int = 0, phase: str = "warm", **given: Any) -> Attempt:
    """Return an attempt with instants given in milliseconds after its start."""
    at = {"request_start": 0.0, "headers": 5.0, "first_token": 10.0, "last_token": 20.0, **given.pop("at", {})}
    instants = Instants(start=_MS)
    for name, value in at.items():
        if isinstance(value, list):
            instants.tokens = [_MS + int(v * _MS) for v in value]
        elif value is not None:
            setattr(instants, name, _MS + int(value * _MS))
    fields = {"status": 200, "streamed": True, "reused": phase == "warm", "chunks": len(instants.tokens), **given}
    return Attempt(target=target, round=round, phase=phase, instants=instants, **fields)


def run_of(values: Sequence[float | None], target: str = "a", phase: str = "warm") -> list[Attempt]:
    """Return one attempt per round with this time to first token; None is a failure."""
    return [
        attempt_of(target, number, phase, at={"first_token": value, "last_token": value})
        if value is not None
        else attempt_of(target, number, phase, error="stall", detail="output stopped")
        for number, value in enumerate(values)
    ]


def target_of(url: str, dialect: str = "openai-chat", **given: Any) -> Target:
    """Return a target with a model."""
    return Target(**{"name": "origin", "model": "mock-1", "url": url, "dialect": dialect, **given})


def ask(
    url: str, dialect: str = "openai-chat", *, timeouts: Timeouts = QUICK, ca: str | None = None, **asked: Any
) -> Attempt:
    """Make one attempt on a new connection."""
    target = target_of(url, dialect)
    client = Client(target, Route(timeouts=timeouts, ca=ca))
    try:
        request = make_request(target, Asked(**asked), random.Random(time.time_ns()))
        return client.attempt(request, round=0, phase="cold")
    finally:
        client.close()


def sent_ms(origin: ThreadedOrigin, attempt: Attempt, kind: Kind = Kind.TOKEN) -> list[float]:
    """Return when the origin sent its events of a kind, in milliseconds after the attempt's request start."""
    call = origin.calls[-1]
    start = attempt.instants.request_start
    assert start is not None
    return [(ns - start) / _MS for ns, k in zip(call.event_ns, call.event_kinds, strict=True) if k is kind]


@contextlib.contextmanager
def raw_origin(*pieces: bytes, close: bool = True) -> Iterator[str]:
    """Serve one connection: read a request, send the pieces one by one, close unless told to wait."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        done = threading.Event()

        def serve() -> None:
            with contextlib.suppress(OSError):
                peer, _ = server.accept()
                with peer:
                    peer.settimeout(10)
                    peer.recv(1 << 20)
                    for piece in pieces:
                        peer.sendall(piece)
                        time.sleep(0.005)
                    if not close:
                        done.wait(10)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            done.set()
            thread.join(10)
