"""Run the server for minutes under mixed load and see that memory, descriptors and tasks stay flat.

    python -m tests.benchmarks.soak --seconds 600 --connections 64

Each connection asks without pause: half hits, a quarter misses, the rest streams, of which some are left half way.
After a warm-up the figures must not grow: compared are the medians of the second and of the last quarter.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from edgeinf.mock import MockOrigin
from tests.serve.spawning import Spawned, config_file, spawned

__all__ = ["Soak", "run"]

_KNOWN = 200


@dataclass
class Soak:
    """What was seen. Samples are (seconds, value)."""

    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory_mib: list[tuple[float, float]] = field(default_factory=list)
    files: list[tuple[float, float]] = field(default_factory=list)
    tasks: list[tuple[float, float]] = field(default_factory=list)
    left_over: tuple[float, float] = (0.0, 0.0)  # files and tasks when all clients are gone
    dropped_events: float = 0.0

    def growth(self, samples: list[tuple[float, float]]) -> float:
        """Return how much larger the median of the last quarter is than that of the second."""
        end = samples[-1][0]
        second = [value for at, value in samples if end / 4 <= at < end / 2]
        last = [value for at, value in samples if at >= 3 * end / 4]
        return statistics.median(last) - statistics.median(second)


async def _ask(soak: Soak, port: int, number: int, until: float) -> None:
    rng = random.Random(number)
    count = 0
    connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    while time.monotonic() < until:
        count += 1
        kind = rng.choices(["hit", "miss", "stream", "left"], [50, 25, 15, 10])[0]
        content = f"known {rng.randrange(_KNOWN)}" if kind in ("hit", "stream") else f"new {number} {count}"
        body = {
            "model": "m",
            "messages": [{"role": "user", "content": f"{content} {'word ' * 200}"}],
            "stream": kind in ("stream", "left"),
        }
        if connection is None:
            connection = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = connection
        try:
            async with asyncio.timeout(30):
                alive = await _exchange(reader, writer, json.dumps(body).encode(), leave=kind == "left")
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            soak.wrong.append(f"{kind}: {error!r}")
            alive = False
        soak.answers[kind] += 1
        if not alive:
            writer.close()
            connection = None
    if connection is not None:
        connection[1].close()


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, *, leave: bool) -> bool:
    """Send a request and read the answer, or go away in the middle of it; return whether the connection lives."""
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-soak-0123456789\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    )
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 200"):
        raise ValueError(head[:60])
    if leave:
        await reader.read(200)
        return False
    if b"transfer-encoding: chunked" in head:
        while True:
            size = int(await reader.readline(), 16)
            await reader.readexactly(size + 2)
            if size == 0:
                return True
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return True


async def _watch(soak: Soak, server: Spawned, until: float, every_s: float) -> None:
    started = time.monotonic()
    while time.monotonic() < until:
        await asyncio.sleep(every_s)
        memory, files, tasks = await asyncio.to_thread(_figures, server)
        at = time.monotonic() - started
        soak.memory_mib.append((at, memory / 2**20))
        soak.files.append((at, files))
        soak.tasks.append((at, tasks))


def _figures(server: Spawned) -> tuple[float, float, float]:
    found = _metrics(server)
    names = ("memory_bytes", "open_files", "tasks")
    return tuple(found[f"edgeinf_worker_{name}"] for name in names)  # type: ignore[return-value]


def _metrics(server: Spawned) -> dict[str, float]:
    text = server.get("/metrics").text
    return {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}


async def run(folder: Path, *, seconds: float, connections: int) -> Soak:
    """Soak a server and return what was seen."""
    soak = Soak()
    script = {"ttft": "10ms", "answer": {"tokens": 30}, "tpot": "2ms"}
    # Small stores fill up during the warm-up, so that what grows afterwards is a leak.
    cache = {"memory": {"max_size": "8MiB"}, "disk": {"path": str(folder / "cache"), "max_size": "64MiB"}}
    async with MockOrigin(script) as origin:
        with spawned(config_file(folder, origin.url, cache=cache)) as server:
            port = int(server.url.rpartition(":")[2])
            before = await asyncio.to_thread(_figures, server)
            until = time.monotonic() + seconds
            async with asyncio.TaskGroup() as group:
                group.create_task(_watch(soak, server, until, max(1.0, seconds / 120)))
                for number in range(connections):
                    group.create_task(_ask(soak, port, number, until))
            await asyncio.sleep(2.0)
            after = await asyncio.to_thread(_figures, server)
            soak.left_over = (after[1] - before[1], after[2] - before[2])
            soak.dropped_events = (await asyncio.to_thread(_metrics, server))["edgeinf_events_dropped_total"]
            soak.wrong += [line for line in server.errors.splitlines() if "Traceback" in line or "ERROR" in line]
    return soak


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = asyncio.run(run(Path(folder), seconds=given.seconds, connections=given.connections))
    total = sum(soak.answers.values())
    sys.stdout.write(f"{total} requests ({dict(soak.answers)}), {len(soak.wrong)} wrong {soak.wrong[:3]}\n")
    for name in ("memory_mib", "files", "tasks"):
        samples = getattr(soak, name)
        shown = " ".join(f"{value:.0f}" for _, value in samples[:: max(1, len(samples) // 20)])
        sys.stdout.write(f"{name}: grew by {soak.growth(samples):+.1f}; {shown}\n")
    sys.stdout.write(f"left over: {soak.left_over[0]:+.0f} files, {soak.left_over[1]:+.0f} tasks\n")
    sys.stdout.write(f"events dropped: {soak.dropped_events:.0f}\n")
    return bool(soak.wrong)


if __name__ == "__main__":
    sys.exit(main())
