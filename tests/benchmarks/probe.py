"""How true the probe's figures are. Run as root: ``python -m tests.benchmarks.probe [ROUNDS]``.

Two hosts in network namespaces, a known delay between them, a scripted origin: every median against the nominal
value, the prober's own share, what many kept connections and a fast open loop add. Exits 1 where a median is beyond
1 ms or 1 % of the nominal value; run it on a quiet machine.
"""

from __future__ import annotations

import json
import sys

from edgeinf.probe.calibrate import own_overhead_ms
from tests.wan import HUB, wan

# The usual selector waits in whole milliseconds, rounded up, which is what is to be measured; select() does not.
_ORIGIN = """
import asyncio, selectors, sys
from edgeinf.mock import MockOrigin

async def main():
    script = {"ttft": "%(ttft)dms", "tpot": "5ms", "headers_delay": "%(headers)dms"}
    async with MockOrigin(script, host="0.0.0.0", port=8000):
        print("up", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
    runner.run(main())
"""
_TTFT_MS, _HEADERS_MS, _TPOT_MS, _TOKENS = 80, 30, 5, 16
_ONE_WAY_MS = {"1ms": 1.0, "10ms": 10.0, "40ms": 40.0, "120ms": 120.0}


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


def measure(rounds: int) -> dict[str, dict[str, dict[str, dict[str, float | None]]]]:
    """Return the probe's document by target, from a probe that runs on the hub."""
    with wan(_ONE_WAY_MS) as net:
        script = _ORIGIN % {"ttft": _TTFT_MS, "headers": _HEADERS_MS}
        for host in _ONE_WAY_MS:
            started = net.start(host, [sys.executable, "-c", script])
            assert started.stdout is not None
            assert started.stdout.readline() == "up\n"
        targets = [f"{host}=http://{net.address(host)}:8000/v1" for host in _ONE_WAY_MS]
        command = [sys.executable, "-m", "edgeinf", "probe", *targets, "--model", "m", "--rounds", str(rounds)]
        done = net.run(HUB, [*command, "--json"], timeout_s=280)
    return {t["name"]: t for t in json.loads(done.stdout)["targets"]}


def main() -> int:
    """Print one line per delay and figure, and say whether all hold."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print(f"the prober's own share: at most {own_overhead_ms(200):.3f} ms (send to stamp over loopback, median)\n")
    found, missed = measure(rounds), 0
    print(f"{'one way':>8} {'figure':<14} {'nominal':>9} {'median':>9} {'off':>8}  (ms, {rounds} rounds)")
    for host, one_way in _ONE_WAY_MS.items():
        for (phase, figure), value in nominal(one_way).items():
            median = found[host][phase][figure]["median"]
            assert median is not None
            off = median - value
            good = abs(off) <= max(1.0, value / 100)
            missed += not good
            print(f"{host:>8} {phase + ' ' + figure:<14} {value:9.2f} {median:9.2f} {off:+8.2f}{'' if good else '  !'}")
    print("\nall within 1 ms or 1 %" if not missed else f"\n{missed} beyond 1 ms or 1 %")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
