"""How true the probe's figures are. Run as root: ``python -m tests.benchmarks.probe [ROUNDS]``.

Hosts in network namespaces, a known delay between them, a scripted origin. Two columns say how far a median is off:
from the nominal value, which holds how late the link and the origin woke on this machine, and from the instants that
the origin stamped itself, which leaves the probe and one way of the link. Exits 1 where a median is beyond 1 ms or
1 % of the nominal value; run it on a quiet machine.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from edgeinf.probe.calibrate import own_overhead_ms
from tests.wan import HUB, wan

# The usual selector waits in whole milliseconds, rounded up, which is what is to be measured; select() does not.
_ORIGIN = """
import asyncio, json, selectors, sys
from edgeinf.mock import MockOrigin

async def main():
    script = {"ttft": "%(ttft)dms", "tpot": "5ms", "headers_delay": "%(headers)dms"}
    async with MockOrigin(script, host="0.0.0.0", port=8000) as origin:
        print("up", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        stamps = [[c.received_ns, c.headers_ns, c.token_ns[0], c.token_ns[-1]] for c in origin.calls]
        print(json.dumps(stamps), flush=True)

with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
    runner.run(main())
"""
_TTFT_MS, _HEADERS_MS, _TPOT_MS, _TOKENS = 80, 30, 5, 16
_ONE_WAY_MS = {"1ms": 1.0, "10ms": 10.0, "40ms": 40.0, "120ms": 120.0}
_STAMPED = {"ttfb_ms": ("headers", 1), "ttft_ms": ("first_token", 2), "e2e_ms": ("last_token", 3)}


def nominal(one_way_ms: float) -> dict[tuple[str, str], float]:
    """Return what each figure must be: so many round trips and what the script waits."""
    trip = 2 * one_way_ms
    return {
        ("cold", "tcp_ms"): trip,
        ("cold", "ttft_ms"): 2 * trip + _TTFT_MS,
        ("warm", "ttfb_ms"): trip + _HEADERS_MS,
        ("warm", "ttft_ms"): trip + _TTFT_MS,
        ("warm", "tpot_ms"): _TPOT_MS,
        ("warm", "e2e_ms"): trip + _TTFT_MS + _TPOT_MS * (_TOKENS - 1),
    }


def measure(rounds: int, file: Path) -> tuple[dict[str, Any], dict[str, list[list[int]]]]:
    """Return the saved run of a probe on the hub, and what each origin stamped."""
    with wan(_ONE_WAY_MS) as net:
        script = _ORIGIN % {"ttft": _TTFT_MS, "headers": _HEADERS_MS}
        origins = {host: net.start(host, [sys.executable, "-c", script]) for host in _ONE_WAY_MS}
        for origin in origins.values():
            assert origin.stdout is not None
            assert origin.stdout.readline() == "up\n"
        targets = [f"{host}=http://{net.address(host)}:8000/v1" for host in _ONE_WAY_MS]
        command = [sys.executable, "-m", "edgeinf", "probe", *targets, "--model", "m", "--rounds", str(rounds)]
        net.run(HUB, [*command, "--save", str(file)], timeout_s=280)
        stamps = {host: json.loads(origin.communicate("\n", 20)[0]) for host, origin in origins.items()}
    return json.loads(file.read_text()), stamps


def from_stamps(run: dict[str, Any], stamps: list[list[int]], host: str, figure: str) -> float | None:
    """Return the median of (our instant - the origin's - one way) over warm attempts, in milliseconds."""
    if figure not in _STAMPED:
        return None
    instant, place = _STAMPED[figure]
    samples = [s for s in run["samples"] if s["target"] == host]
    gaps = [
        (sample["instants"][instant] - sent[place]) / 1e6
        for sample, sent in zip(samples, stamps, strict=True)
        if sample["phase"] == "warm"
    ]
    return statistics.median(gaps) - _ONE_WAY_MS[host]


def main() -> int:
    """Print one line per delay and figure, and say whether all hold."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print(f"the prober's own share: at most {own_overhead_ms(200):.3f} ms (send to stamp over loopback, median)\n")
    with tempfile.TemporaryDirectory() as folder:
        run, stamps = measure(rounds, Path(folder) / "run.json")
    found = {target["name"]: target for target in run["targets"]}
    print(
        f"{'one way':>8} {'figure':<14} {'nominal':>9} {'median':>9} {'off':>7} {'off stamp':>9}  (ms, {rounds} rounds)"
    )
    missed = 0
    for host, one_way in _ONE_WAY_MS.items():
        for (phase, figure), value in nominal(one_way).items():
            median = found[host][phase][figure]["median"]
            off, stamped = median - value, from_stamps(run, stamps[host], host, figure) if phase == "warm" else None
            good = abs(off) <= max(1.0, value / 100)
            missed += not good
            beside = f"{stamped:+9.2f}" if stamped is not None else " " * 9
            mark = "" if good else "  !"
            print(f"{host:>8} {phase + ' ' + figure:<14} {value:9.2f} {median:9.2f} {off:+7.2f} {beside}{mark}")
    print("\nall within 1 ms or 1 %" if not missed else f"\n{missed} beyond 1 ms or 1 % of the nominal value")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
