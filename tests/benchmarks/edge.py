"""What is an edge node near its clients worth to them? Measured, and split into what gave it.

    python -m tests.benchmarks.edge [--calls 80] [--json F]

A client 156 ms of round trip away from its inference origin sends a seeded workload of streamed chats over TLS, first
straight to the origin, then through an edge 6 ms away from it; with a fresh connection per call, as short-lived
programs have, and with a warm one. Then the edge is allowed one thing after the other: its kept connections, a region
nearer than the home one (36 ms), the cache at 20, 40 and 60 % repeats. The network is real (namespaces, packets held
for their delay); the origins are scripted, with 80 ms to the first token and 2 ms per further one.
Needs root, ip, openssl and /dev/net/tun.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from edgeinf.mock.tls import make_certificate
from tests.benchmarks.traffic import Outcome, read_log
from tests.wan import HUB, Wan, wan

# One-way milliseconds to the edge, which stands in the hub.
PLACES = {"client": 3.0, "home": 75.0, "nearer": 15.0}
PORT, EDGE_PORT = 8443, 9443
SCRIPT = {"ttft": "80ms", "tpot": "2ms", "answer": {"tokens": 32}}
REPEATS = (0.2, 0.4, 0.6)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way for the client to reach an answer."""

    name: str
    fresh: bool
    edge: bool = False
    routing: bool = False
    cache: bool = False
    repeats: float = 0.4


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one arm measured, in milliseconds and calls."""

    calls: int
    right: int
    ttft_p50: float
    ttft_p95: float
    ttft_mean: float
    total_p50: float
    total_p95: float
    origin_calls: int
    hits: int


def arms() -> list[Arm]:
    found = []
    for fresh in (True, False):
        found += [
            Arm(name="direct", fresh=fresh),
            Arm(name="edge, connections kept", fresh=fresh, edge=True),
            Arm(name="edge, and routing", fresh=fresh, edge=True, routing=True),
        ]
        found += [
            Arm(name=f"edge, and cache, {r:.0%} repeats", fresh=fresh, edge=True, routing=True, cache=True, repeats=r)
            for r in REPEATS
        ]
    return found


class Lab:
    """The network, the origins in it, and an edge when one is wanted."""

    def __init__(self, net: Wan, folder: Path) -> None:
        self.net, self.folder = net, folder
        names = [net.address(place) for place in PLACES] + [net.hub_address("client")]
        self.certificate, self.key = make_certificate(folder, names)
        self._join()
        for place in ("home", "nearer"):
            script = folder / f"{place}.json"
            script.write_text(json.dumps({**SCRIPT, "name": place}))
            tls = ["--tls-cert", str(self.certificate), "--tls-key", str(self.key)]
            command = ["mock", "--host", "0.0.0.0", "--port", str(PORT), "--script", str(script), "--json", *tls]
            _ready(net.start(place, [sys.executable, "-m", "edgeinf", *command]))

    def _join(self) -> None:
        """Let the hub forward, so that the client reaches an origin without the edge, by the same path."""
        self.net.run(HUB, ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
        for place in PLACES:
            self.net.run(place, ["ip", "route", "add", "default", "via", self.net.hub_address(place)])

    def origin_url(self, place: str) -> str:
        return f"https://{self.net.address(place)}:{PORT}"

    def counted(self) -> int:
        """Return how many calls the origins have had."""
        with self.net.inside(HUB), httpx.Client(verify=False, timeout=10) as client:
            pages = [client.get(f"{self.origin_url(p)}/_mock/calls?details=0").json() for p in ("home", "nearer")]
        return sum(page["paths"].get("/v1/chat/completions", 0) for page in pages)

    @contextlib.contextmanager
    def edge(self, *, routing: bool, cache: bool, prewarm: int = 2) -> Iterator[str]:
        places = ("home", "nearer") if routing else ("home",)
        config: dict[str, Any] = {
            "version": 1,
            "listen": {
                "host": "0.0.0.0",
                "port": EDGE_PORT,
                "allowed_hosts": [self.net.hub_address("client")],
                "tls": {"cert": str(self.certificate), "key": str(self.key)},
            },
            "regions": [{"name": place, "url": self.origin_url(place), "passthrough": True} for place in places],
            "routing": {"prewarm": prewarm},
            "cache": {"disk": None, **({} if cache else {"memory": None})},
            "events": {"file": None},
        }
        path = self.folder / "edgeinf.json"
        path.write_text(json.dumps(config))
        trust = ["env", f"SSL_CERT_FILE={self.certificate}"]
        command = [*trust, sys.executable, "-m", "edgeinf", "serve", "--config", str(path), "--insecure", "--json"]
        process = self.net.start(HUB, command)
        _ready(process)
        try:
            yield f"https://{self.net.hub_address('client')}:{EDGE_PORT}"
        finally:
            process.terminate()
            process.wait(20)

    def settle(self) -> None:
        """Let the connections that the edge opens before any call stand."""
        self.net.run(HUB, ["sleep", "1.5"])

    def traffic(self, url: str, arm: Arm, calls: int, *, seed: int = 7) -> list[Outcome]:
        log = self.folder / "calls.jsonl"
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.benchmarks.traffic", url, "--one-by-one", "--calls", str(calls)]
        command += ["--kinds", "chat-stream", "--tokens", "32", "--seconds", "600", "--place", "client"]
        command += ["--repeats", str(arm.repeats), "--seed", str(seed), "--ca", str(self.certificate)]
        command += ["--out", str(log), *(["--fresh"] if arm.fresh else [])]
        done = self.net.run("client", command, timeout_s=600)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        return read_log(log)


def _ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(process.stderr.read() if process.stderr is not None else "it did not start")


def measure(lab: Lab, arm: Arm, calls: int) -> Figures:
    before = lab.counted()
    if arm.edge:
        with lab.edge(routing=arm.routing, cache=arm.cache) as url:
            lab.settle()
            found = lab.traffic(url, arm, calls)
    else:
        found = lab.traffic(lab.origin_url("home"), arm, calls)
    ttft = sorted(c.ttft_ms for c in found if c.ttft_ms is not None)
    total = sorted(c.total_ms for c in found)
    return Figures(
        calls=len(found),
        right=sum(c.result == "right" for c in found),
        ttft_p50=_quantile(ttft, 0.5),
        ttft_p95=_quantile(ttft, 0.95),
        ttft_mean=round(statistics.fmean(ttft), 1),
        total_p50=_quantile(total, 0.5),
        total_p95=_quantile(total, 0.95),
        origin_calls=lab.counted() - before,
        hits=sum(c.cache == "hit" for c in found),
    )


def first_calls(lab: Lab) -> dict[str, float]:
    """Return the first token of the first call after a start, with and without connections opened before it."""
    found = {}
    for prewarm in (0, 2):
        times = []
        for seed in range(5):
            with lab.edge(routing=False, cache=False, prewarm=prewarm) as url:
                lab.settle()
                calls = lab.traffic(url, Arm(name="", fresh=True), 1, seed=seed)
            times += [c.ttft_ms for c in calls if c.ttft_ms is not None]
        found[f"prewarm {prewarm}"] = round(statistics.median(times), 1)
    return found


def _quantile(ordered: list[float], q: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 1)


def _show(results: dict[tuple[str, bool], Figures], first: dict[str, float]) -> None:
    for fresh in (True, False):
        print(f"\n{'a fresh connection per call' if fresh else 'one warm connection'}")
        print(f"{'':34}{'TTFT p50':>9} {'p95':>7} {'whole p50':>10} {'p95':>7} {'origin':>7} {'hits':>5} {'right':>9}")
        for (name, kind), f in results.items():
            if kind == fresh:
                print(
                    f"{name:34}{f.ttft_p50:9.1f} {f.ttft_p95:7.1f} {f.total_p50:10.1f} {f.total_p95:7.1f} "
                    f"{f.origin_calls:7} {f.hits:5} {f.right:4}/{f.calls}"
                )
        print("mean TTFT, ms saved by: " + ", ".join(f"{k} {v:.0f}" for k, v in _split(results, fresh).items()))
    print(f"\nfirst call after a start, TTFT p50 ms: {first}")


def _split(results: dict[tuple[str, bool], Figures], fresh: bool) -> dict[str, float]:
    """Return what each step took off the mean time to the first token; the cache's is for 40 % repeats."""
    steps = ["direct", "edge, connections kept", "edge, and routing", "edge, and cache, 40% repeats"]
    means = [results[(name, fresh)].ttft_mean for name in steps]
    saved = [round(a - b, 1) for a, b in itertools.pairwise(means)]
    return dict(zip(("kept connections", "routing", "cache at 40% repeats"), saved, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=80)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ["WAN_LIFE_S"] = "1800"
    results: dict[tuple[str, bool], Figures] = {}
    with wan(PLACES) as net, tempfile.TemporaryDirectory() as name:
        lab = Lab(net, Path(name))
        for arm in arms():
            results[(arm.name, arm.fresh)] = measure(lab, arm, options.calls)
            print(f"{arm.name}, {'fresh' if arm.fresh else 'warm'}: done", file=sys.stderr)
        first = first_calls(lab)
    _show(results, first)
    if options.json is not None:
        rows = [{"arm": name, "fresh": fresh, **asdict(f)} for (name, fresh), f in results.items()]
        split = {"fresh": _split(results, True), "warm": _split(results, False)}
        document = {"schema_version": 1, "arms": rows, "saved_ms": split, "first_call_ttft_ms": first}
        options.json.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
