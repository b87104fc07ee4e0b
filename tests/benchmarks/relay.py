"""Which HTTP client relays best? Ours beside others that are installed, against one bare server, in one run.

    python -m tests.benchmarks.relay [--seconds 2] [--rounds 3]

Per client: requests per second and CPU microseconds per request with 1 and 16 at once, and how long after a cancelled
wait for the answer's head the origin's connection is closed. Rounds are interleaved; medians are shown.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import uvloop

from edgeinf.serve.origin.client import Request
from edgeinf.serve.origin.pool import Connections

_BODY = b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 1400 + b'"}]}'
_SERVER = """
import asyncio, sys, uvloop
ANSWER = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: 1024\\r\\n\\r\\n" + b"y" * 1024
closed = []
class Bare(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.rest = transport, b""
    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\\r\\n\\r\\n")) >= 0:
            head = self.rest[:end].lower()
            length = int(head.split(b"content-length: ")[1].split(b"\\r")[0]) if b"content-length: " in head else 0
            if len(self.rest) < end + 4 + length:
                return
            self.rest = self.rest[end + 4 + length:]
            if b"/silent" not in head.split(b"\\r")[0]:
                self.transport.write(ANSWER)
    def connection_lost(self, error):
        print("closed", flush=True)
async def main():
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
uvloop.run(main())
"""

Ask = Callable[[str], Awaitable[bytes]]


@contextlib.asynccontextmanager
async def ours() -> AsyncIterator[Ask]:
    client = Connections()

    async def ask(url: str) -> bytes:
        response = await client.send(Request(method="POST", url=url, headers=[(b"x", b"1")], body=_BODY))
        parts = []
        while (part := await response.read()) is not None:
            parts.append(part)
        return b"".join(parts)

    yield ask
    await client.aclose()


@contextlib.asynccontextmanager
async def aiohttp_client() -> AsyncIterator[Ask]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(url: str) -> bytes:
            async with session.post(url, data=_BODY) as response:
                return await response.read()

        yield ask


@contextlib.asynccontextmanager
async def pyreqwest_client() -> AsyncIterator[Ask]:
    from pyreqwest.client import ClientBuilder

    async with ClientBuilder().build() as client:

        async def ask(url: str) -> bytes:
            response = await client.post(url).body_bytes(_BODY).build().send()
            return bytes(await response.bytes())

        yield ask


@contextlib.asynccontextmanager
async def httpx_client() -> AsyncIterator[Ask]:
    import httpx

    async with httpx.AsyncClient() as client:

        async def ask(url: str) -> bytes:
            return (await client.post(url, content=_BODY)).content

        yield ask


CLIENTS = {"edgeinf": ours, "pyreqwest": pyreqwest_client, "aiohttp": aiohttp_client, "httpx": httpx_client}


async def _load(ask: Ask, url: str, at_once: int, seconds: float) -> tuple[float, float]:
    """Return (requests per second, CPU microseconds per request)."""
    count, end = 0, time.perf_counter() + seconds

    async def work() -> None:
        nonlocal count
        while time.perf_counter() < end:
            assert len(await ask(url)) == 1024
            count += 1

    await ask(url)
    cpu, started = time.process_time(), time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    return count / (time.perf_counter() - started), (time.process_time() - cpu) / count * 1e6


async def _cancel_s(ask: Ask, url: str, server: subprocess.Popen[str]) -> float:
    """Return the seconds from a cancel to the origin's closed connection; infinite if that takes over five."""
    assert server.stdout is not None
    os.set_blocking(server.stdout.fileno(), False)
    while server.stdout.read(4096):
        pass
    task = asyncio.ensure_future(ask(url + "/silent"))
    await asyncio.sleep(0.2)
    started = time.perf_counter()
    task.cancel()
    while time.perf_counter() - started < 5:
        await asyncio.sleep(0.002)
        if server.stdout.read(4096):
            return time.perf_counter() - started
    return float("inf")


async def _measure(server: subprocess.Popen[str], seconds: float, rounds: int) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    assert server.stdout is not None
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    for _ in range(rounds):
        for name, make in CLIENTS.items():
            figures = found.setdefault(name, {})
            try:
                async with make() as ask:
                    for at_once in (1, 16):
                        rate, cpu = await _load(ask, url, at_once, seconds)
                        figures.setdefault(f"/s c={at_once}", []).append(rate)
                        figures.setdefault(f"us c={at_once}", []).append(cpu)
                    figures.setdefault("cancel ms", []).append(await _cancel_s(ask, url, server) * 1000)
            except ImportError:
                found.pop(name, None)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with (
        subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as server,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        found = runner.run(_measure(server, options.seconds, options.rounds))
        server.kill()
    for name, figures in found.items():
        print(f"{name:12}" + "  ".join(f"{what} {statistics.median(values):.0f}" for what, values in figures.items()))


if __name__ == "__main__":
    main()
