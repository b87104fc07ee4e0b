"""A cache with a limit keeps the process within it, whatever comes (P82)."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path

import pytest

from edgeinf.mock import ThreadedOrigin
from tests.serve.spawning import config_file, spawned

MISSES = 50_000
LIMIT_MB = 50
CONNECTIONS = 32


def _rss_mb(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def _ask(port: int, numbers: itertools.count[int]) -> None:
    """Ask different questions on one connection until all are asked."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (number := next(numbers)) < MISSES:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"question {number}"}]}).encode()
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%b" % (len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        assert b"x-edgeinf-cache: miss" in head, head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()
    await writer.wait_closed()


@pytest.mark.timeout(600)
async def test_fifty_thousand_misses_stay_within_two_and_a_half_times_the_limit(tmp_path: Path) -> None:
    with ThreadedOrigin({"answer": {"tokens": 300}}) as origin:
        cache = {
            "memory": {"max_size": f"{LIMIT_MB}MiB"},
            "disk": {"path": str(tmp_path / "cache"), "max_size": "64MiB"},
        }
        with spawned(config_file(tmp_path, origin.url, cache=cache)) as server:
            idle = _rss_mb(server.process.pid)
            port, numbers = int(server.url.rsplit(":", 1)[1]), itertools.count()
            await asyncio.gather(*(_ask(port, numbers) for _ in range(CONNECTIONS)))
            after = _rss_mb(server.process.pid)
    assert idle <= 70
    assert after <= idle + 2.5 * LIMIT_MB
