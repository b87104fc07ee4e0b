"""Put load on a server and read what it did: wrk for requests, a small asyncio client for streams."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.servers import TOKEN, Server

__all__ = ["MEASURES", "body"]

_WRK = re.compile(r"Requests/sec:\s+([\d.]+)")
_P50 = re.compile(r"50%\s+([\d.]+)(us|ms|s)")
_PROMPT = ("You are a careful assistant of the shop. Answer in two sentences and name the source. " * 20)[:1250]


def body(mark: str, *, stream: bool = False, paced: bool = False) -> bytes:
    """Return a chat body of about 1.5 KB that differs by ``mark``; ``paced`` asks the scripted origin for a pace."""
    messages = [{"role": "system", "content": _PROMPT}, {"role": "user", "content": f"What is question {mark}?"}]
    asked: dict[str, object] = {"model": "m", "messages": messages, "temperature": 0, "stream": stream}
    if paced:
        asked["mock"] = {"ttft": "50ms", "tpot": "10ms"}
    return json.dumps(asked).encode()


def _wrk(server: Server, connections: int, seconds: float, *, distinct: bool, named: str = "") -> tuple[float, float]:
    """Return (requests per second, p50 in ms). ``named`` is a header whose value is each request's own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        head, tail = body("@@").decode().split("@@")
        mark = f"{os.getpid()}-{time.time_ns()}"
        joined = f"head .. '{mark}-' .. n .. tail"
        each = f"return wrk.format(nil, nil, nil, {joined})" if distinct else ""
        if named:
            each = f'wrk.headers["{named}"] = n; return wrk.format()'
        asking = f"request = function() n = n + 1; {each} end" if each else ""
        script.write_text(
            f"""wrk.method = "POST"
            wrk.headers["Content-Type"] = "application/json"
            wrk.headers["Authorization"] = "Bearer {TOKEN}"
            local head, tail, n = [=[{head}]=], [=[{tail}]=], 0
            wrk.body = head .. "fixed" .. tail
            {asking}
            """
        )
        url = f"{server.url}/v1/chat/completions"
        command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency"]
        out = subprocess.run([*command, "-s", str(script), url], capture_output=True, text=True, timeout=60, check=True)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out.stdout)
    if bad:
        raise RuntimeError(f"{bad.group(1)} bad answers from {server.url}")
    number, unit = _P50.search(out.stdout).groups()  # type: ignore[union-attr]
    rate = float(_WRK.search(out.stdout).group(1))  # type: ignore[union-attr]
    return rate, float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


def cached(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Answers per second from the cache at 64 connections."""
    _wrk(server, 1, 1, distinct=False)
    into.setdefault("cached", []).append(_wrk(server, 64, seconds, distinct=False)[0])


def cached_named(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Answers per second from the cache at 64 connections, where each request has an id of its own."""
    into.setdefault("cached_named", []).append(_wrk(server, 64, seconds, distinct=False, named="X-Request-Id")[0])


def cached_apart(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Answers per second from the cache at 64 connections, where requests differ in a header that nothing knows of."""
    into.setdefault("cached_apart", []).append(_wrk(server, 64, seconds, distinct=False, named="X-Benchmark")[0])


def cached_p50(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """The median time of a cached answer at one connection."""
    into.setdefault("cached_p50_ms", []).append(_wrk(server, 1, seconds, distinct=False)[1])


def miss_p50(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """The median time of a miss at one connection."""
    into.setdefault("miss_p50_ms", []).append(_wrk(server, 1, seconds, distinct=True)[1])


def misses(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Misses per second at 16 connections."""
    into.setdefault("misses", []).append(_wrk(server, 16, seconds, distinct=True)[0])


def events(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Events per second over 64 fast streams, each a miss."""
    into.setdefault("events", []).append(_alone("events", server, seconds))


def paced(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Time to the first token beyond the origin's own, for one paced stream and for 64."""
    for count in (1, 64):
        into.setdefault(f"paced_{count}_ms", []).append(_alone(f"paced{count}", server, seconds))


def _alone(what: str, server: Server, seconds: float) -> float:
    """Run a stream client as a process of its own on core 1 and return its figure."""
    command = ["taskset", "-c", "1", sys.executable, "-m", "tests.benchmarks.streaming", what, server.url, str(seconds)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if out.returncode:
        raise RuntimeError(out.stderr)
    return float(out.stdout)


MEASURES: dict[str, Callable[[Server, float, dict[str, list[float]]], None]] = {
    "cached": cached,
    "cached_named": cached_named,
    "cached_apart": cached_apart,
    "cached_p50": cached_p50,
    "miss_p50": miss_p50,
    "misses": misses,
    "events": events,
    "paced": paced,
}
