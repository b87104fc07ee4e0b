"""A client for streams that costs little: ``python -m tests.benchmarks.streaming events|pacedN URL SECONDS``.

``events`` prints events per second over 64 fast streams, each a different question; ``pacedN`` prints the median time
to the first token, in ms, over N streams at once.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import sys
import time
from typing import cast
from urllib.parse import urlsplit

from tests.benchmarks.loading import body
from tests.benchmarks.servers import TOKEN

_marks = itertools.count()
_FIRST_TOKEN = b'"content":'


def _request(host: str, *, paced: bool) -> bytes:
    payload = body(f"s{os.getpid()}-{time.time_ns()}-{next(_marks)}", stream=True, paced=paced)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Accept: text/event-stream\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


class _Stream(asyncio.Protocol):
    """Asks again and again on one connection; counts events, stamps first tokens."""

    def __init__(self, host: str, times: int | None) -> None:
        self.host = host
        self.left = times
        self._paced = times is not None
        self.events = 0
        self.ttft_ms: list[float] = []
        self.closed = asyncio.get_running_loop().create_future()
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class is no subclass
        self._ask()

    def _ask(self) -> None:
        if self.left == 0:
            self.transport.close()
            return
        if self.left is not None:
            self.left -= 1
        self._first = False
        self._asked = time.perf_counter()
        self.transport.write(_request(self.host, paced=self._paced))

    def data_received(self, data: bytes) -> None:
        self.events += data.count(b"data: ")
        joined = self._tail + data
        if not self._first and self._brings_token(joined):
            self._first = True
            self.ttft_ms.append((time.perf_counter() - self._asked) * 1000)
        if b"[DONE]" in joined:
            self._tail = b""
            self._ask()
        else:
            self._tail = joined[-200:] if self._first else joined

    @staticmethod
    def _brings_token(data: bytes) -> bool:
        at = data.find(_FIRST_TOKEN)
        while at >= 0:
            rest = data[at + len(_FIRST_TOKEN) :].lstrip()
            if rest[:1] == b'"' and rest[1:2] not in (b'"', b""):
                return True
            at = data.find(_FIRST_TOKEN, at + 1)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def _open(url: str, count: int, times: int | None) -> list[_Stream]:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(lambda: _Stream(parts.netloc, times), parts.hostname, parts.port)
        for _ in range(count)
    ]
    return [stream for _, stream in opened]


async def events(url: str, seconds: float) -> float:
    """Return events per second over 64 streams."""
    streams = await _open(url, 64, None)
    await asyncio.sleep(0.3)
    before, started = sum(s.events for s in streams), time.perf_counter()
    await asyncio.sleep(seconds)
    rate = (sum(s.events for s in streams) - before) / (time.perf_counter() - started)
    for stream in streams:
        stream.transport.abort()
    if not rate:
        raise RuntimeError("no events came")
    return rate


async def paced(url: str, count: int) -> float:
    """Return the median time to the first token over ``count`` streams at once, in ms."""
    streams = await _open(url, count, 4 if count > 1 else 8)
    await asyncio.wait_for(asyncio.gather(*(s.closed for s in streams)), 60)
    return statistics.median(ms for stream in streams for ms in stream.ttft_ms)


def main() -> None:
    what, url, seconds = sys.argv[1:4]
    with asyncio.Runner(loop_factory=__import__("uvloop").new_event_loop) as runner:
        figure = runner.run(events(url, float(seconds)) if what == "events" else paced(url, int(what[5:])))
    print(figure)


if __name__ == "__main__":
    main()
