"""How much time the prober itself adds, measured on this machine before anything else is."""

from __future__ import annotations

import random
import socket
import threading
from time import perf_counter_ns

from edgeinf.core.stats import quantile
from edgeinf.probe.request import Asked, make_request
from edgeinf.probe.sample import Client
from edgeinf.probe.transport import Route
from edgeinf.probe.values import Target

__all__ = ["own_overhead_ms"]

_EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
_ANSWER = (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(_EVENTS)) + _EVENTS
# However busy the machine is, its own loopback is heard within this time.
_PATIENCE_S = 10.0


def own_overhead_ms(times: int = 15) -> float | None:
    """Return the median time from an origin's send to our stamp of it, over loopback; None where that fails.

    It holds the kernel's two copies and a thread switch, so it is the most that the prober adds to a figure.
    """
    sent: list[int] = []
    seen: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = threading.Thread(target=_serve, args=(server, sent, times), daemon=True)
        thread.start()
        target = Target(name="self", url=f"http://127.0.0.1:{port}", model="none")
        client = Client(target, Route(family=4))
        for number in range(times):
            request = make_request(target, Asked(), random.Random(number))
            attempt = client.attempt(request, round=number, phase="warm")
            if attempt.instants.first_token is None:
                break
            seen.append(attempt.instants.first_token)
        client.close()
        thread.join(1)
    gaps = [b - a for a, b in zip(sent, seen, strict=False)]
    return round(quantile(gaps, 0.5) / 1e6, 4) if gaps else None


def _serve(server: socket.socket, sent: list[int], times: int) -> None:
    server.settimeout(_PATIENCE_S)
    try:
        with server:  # closed with the thread, so that nobody waits for an answer that will not come
            peer, _ = server.accept()
        with peer:
            peer.settimeout(_PATIENCE_S)
            for _ in range(times):
                received = b""
                while not received.endswith(b"}"):
                    data = peer.recv(65536)
                    if not data:
                        return
                    received += data
                sent.append(perf_counter_ns())
                peer.sendall(_ANSWER)
    except OSError:
        return  # the client gave up; what was measured so far stands
