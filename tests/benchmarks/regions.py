"""Three client places, three regions, one edge between: what becomes of the calls when regions fail?

    python -m tests.benchmarks.regions [--seconds 300] [--json F]

Everything runs for real in network namespaces with real delays: regions are killed, slowed, made to err, frozen, and
come back, while clients send mixed traffic and hold each answer against the right one. The report says what failed,
how long each region took to be used again, and which region had which share of the traffic over time. Needs root, ip
and /dev/net/tun.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.benchmarks.traffic import Outcome, read_log
from tests.wan import HUB, Wan, wan

__all__ = ["CLIENTS", "REGIONS", "Report", "experiment"]

# One-way milliseconds to the edge.
CLIENTS = {"lisbon": 2.0, "oslo": 15.0, "lima": 40.0}
REGIONS = {"near": 5.0, "mid": 25.0, "far": 60.0}
PORT = 8000
SCRIPT = {"ttft": "20ms", "tpot": "2ms", "answer": {"tokens": 16}}


@dataclass
class Report:
    """What happened. Times are seconds since the start of the traffic."""

    seconds: float
    cooldown_s: float
    calls: list[Outcome]
    started_at: float
    returned: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # region -> (came back, used again)
    log: list[tuple[float, str]] = field(default_factory=list)

    def results(self) -> Counter[str]:
        return Counter(call.result for call in self.calls)

    def shares(self, width_s: float) -> list[dict[str, Any]]:
        """Return, per span of time, which share of the answered misses each region gave, and their median TTFT."""
        rows = []
        for number in range(int(self.seconds / width_s)):
            low = self.started_at + number * width_s
            within = [c for c in self.calls if low <= c.at < low + width_s and c.cache != "hit"]
            counts = Counter(c.region for c in within if c.result == "right")
            total = sum(counts.values()) or 1
            times = [c.ttft_ms for c in within if c.ttft_ms is not None]
            rows.append(
                {
                    "from_s": number * width_s,
                    "calls": len(within),
                    **{name: round(counts[name] / total, 3) for name in REGIONS},
                    "ttft_p50_ms": round(statistics.median(times), 1) if times else None,
                    "not_right": sum(c.result != "right" for c in within),
                }
            )
        return rows

    def show(self, width_s: float) -> str:
        lines = [f"{'from s':>7} {'calls':>6} {'near':>6} {'mid':>6} {'far':>6} {'ttft':>7} {'not right':>9}  what"]
        for row in self.shares(width_s):
            low = row["from_s"]
            what = "; ".join(text for at, text in self.log if low <= at < low + width_s)
            lines.append(
                f"{low:7g} {row['calls']:6} {row['near']:6.0%} {row['mid']:6.0%} {row['far']:6.0%} "
                f"{row['ttft_p50_ms'] or 0:7.1f} {row['not_right']:9}  {what}"
            )
        for name, pairs in self.returned.items():
            for back, used in pairs:
                lines.append(f"{name} came back at {back:.1f} s and was used again after {used - back:.2f} s")
        lines.append(", ".join(f"{count} {result}" for result, count in sorted(self.results().items())))
        return "\n".join(lines)


class _Origins:
    """The regions' processes and their levers."""

    def __init__(self, net: Wan, folder: Path) -> None:
        self._net = net
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def start(self, name: str) -> None:
        script = self._folder / f"{name}.json"
        script.write_text(json.dumps({**SCRIPT, "name": name}))
        command = [sys.executable, "-m", "edgeinf", "mock", "--host", "0.0.0.0", "--port", str(PORT), "--json"]
        process = self._net.start(name, [*command, "--script", str(script)])
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError(f"region {name} did not start: {process.stderr.read() if process.stderr else ''}")
        self._processes[name] = process

    def kill(self, name: str) -> None:
        pid = self._processes[name].pid
        subprocess.run(["kill", "-9", str(pid)], check=False)
        self._processes[name].wait(10)

    def use(self, name: str, **more: Any) -> None:
        self._post(name, "script", json.dumps({**SCRIPT, "name": name, **more}))

    def freeze(self, name: str, seconds: float) -> None:
        self._post(name, f"freeze?for={seconds:g}s", "")

    def _post(self, name: str, path: str, body: str) -> None:
        url = f"http://{self._net.address(name)}:{PORT}/_mock/{path}"
        with self._net.inside(HUB), httpx.Client(timeout=10) as client:  # a socket stays where it was opened
            client.post(url, content=body).raise_for_status()


def experiment(seconds: float, *, rate: float = 6.0, cooldown_s: float = 2.0, strategy: str = "latency") -> Report:
    """Run the experiment and return what happened; ``rate`` is calls per second and place."""
    os.environ["WAN_LIFE_S"] = f"{seconds + 180:g}"
    with wan({**CLIENTS, **REGIONS}) as net, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        origins = _Origins(net, folder)
        for region in REGIONS:
            origins.start(region)
        _start_edge(net, folder, cooldown_s, strategy)
        report = Report(seconds=seconds, cooldown_s=cooldown_s, calls=[], started_at=time.time())
        clients = [_start_client(net, folder, place, seconds, rate) for place in CLIENTS]
        returns = _play(report, _schedule(origins, seconds))
        for client in clients:
            _, said = client.communicate(timeout=seconds + 90)
            if client.returncode:
                raise RuntimeError(f"a client broke: {said[-2000:]}")
        for place in CLIENTS:
            report.calls += read_log(folder / f"{place}.jsonl")
    report.calls.sort(key=lambda call: call.at)
    for region, back in returns:
        uses = (c.at + c.total_ms / 1000 - report.started_at for c in report.calls if _answered_by(c, region))
        report.returned.setdefault(region, []).append((back, next((u for u in uses if u > back), float("inf"))))
    return report


def _answered_by(call: Outcome, region: str) -> bool:
    return call.region == region and call.cache != "hit" and call.result == "right"


def _start_edge(net: Wan, folder: Path, cooldown_s: float, strategy: str) -> None:
    timeouts = {"connect": "1s", "ttft": "1s", "idle": "3s", "total": "10s"}
    regions = [
        {"name": n, "url": f"http://{net.address(n)}:{PORT}", "serves": ["openai", "anthropic"], "timeouts": timeouts}
        for n in REGIONS
    ]
    config = {
        "version": 1,
        "listen": {"host": "0.0.0.0", "port": 8787, "allowed_hosts": [net.hub_address(place) for place in CLIENTS]},
        "regions": regions,
        "routing": {
            "strategy": strategy,
            "health": {"cooldown": f"{cooldown_s:g}s"},
            "prewarm": 2,
        },
        "cache": {"disk": None},
        "events": {"file": str(folder / "events.jsonl")},
    }
    path = folder / "edgeinf.json"
    path.write_text(json.dumps(config))
    edge = net.start(HUB, [sys.executable, "-m", "edgeinf", "serve", "--config", str(path), "--insecure", "--json"])
    assert edge.stdout is not None
    if not edge.stdout.readline():
        raise RuntimeError(f"the edge did not start: {edge.stderr.read() if edge.stderr else ''}")


def _start_client(net: Wan, folder: Path, place: str, seconds: float, rate: float) -> subprocess.Popen[str]:
    url = f"http://{net.hub_address(place)}:8787"
    options = ["--place", place, "--rate", f"{rate}", "--seconds", f"{seconds}", "--repeats", "0.2"]
    out = ["--out", str(folder / f"{place}.jsonl")]
    return net.start(place, [sys.executable, "-m", "tests.benchmarks.traffic", url, *options, *out])


Step = tuple[float, str, Callable[[], None], str | None]


def _schedule(origins: _Origins, seconds: float) -> list[Step]:
    """Return (share of the time, what, do it, the region that thereby comes back)."""
    err = [{"when": {"rate": "30%"}, "fault": f} for f in ("503", "soft-error", "reset;at=headers")]
    cut = [{"when": {"rate": "40%", "stream": True}, "fault": "cut;tokens=3"}]
    return [
        (0.10, "near killed", lambda: origins.kill("near"), None),
        (0.27, "near is back", lambda: origins.start("near"), "near"),
        (0.38, "near slow: 1.5 s", lambda: origins.use("near", ttft="1500ms"), None),
        (0.47, "near quick again", lambda: origins.use("near"), None),
        (0.55, "near errs in two of three", lambda: origins.use("near", rules=err), None),
        (0.63, "near answers again", lambda: origins.use("near"), "near"),
        (0.72, "mid and far killed", lambda: (origins.kill("mid"), origins.kill("far")), None),
        (0.78, "mid and far are back", lambda: (origins.start("mid"), origins.start("far")), None),
        (0.82, "near frozen", lambda: origins.freeze("near", 0.06 * seconds), None),
        (0.93, "near cuts streams", lambda: origins.use("near", rules=cut), None),
        (0.97, "near whole again", lambda: origins.use("near"), None),
    ]  # type: ignore[list-item]


def _play(report: Report, schedule: list[Step]) -> list[tuple[str, float]]:
    returns = []
    for share, what, act, back in schedule:
        time.sleep(max(0.0, report.started_at + share * report.seconds - time.time()))
        act()
        at = time.time() - report.started_at
        report.log.append((at, what))
        if back is not None:
            returns.append((back, at))
    return returns


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--rate", type=float, default=6.0)
    parser.add_argument("--strategy", default="latency")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cooldown_s = 5.0 if options.seconds >= 120 else 2.0
    report = experiment(options.seconds, rate=options.rate, cooldown_s=cooldown_s, strategy=options.strategy)
    width_s = max(1.0, options.seconds / 30)
    print(report.show(width_s))
    for call in report.calls:
        if call.result in ("failed", "wrong"):
            print(f"{call.at - report.started_at:.2f} s: {msgspec.json.encode(call).decode()}")
    if options.json is not None:
        found = {"results": report.results(), "shares": report.shares(width_s), "returned": report.returned}
        options.json.write_text(json.dumps({"schema_version": 1, **found}, indent=1))


if __name__ == "__main__":
    main()
