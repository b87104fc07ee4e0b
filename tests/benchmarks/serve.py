"""How fast is the proxy, beside nginx ``proxy_cache`` and the bare origin, in one run on one machine?

    python -m tests.benchmarks.serve [--rounds 5] [--seconds 2] [--only cached,miss,…] [--json F]

The server under test is pinned to core 0, the load (wrk, and a small asyncio client for streams) and the origin
(nginx) to core 1. Rounds are interleaved over all servers and medians are taken. edgeinf runs as an installed command
with everything on: keys, limits, guard, events, metrics, memory and disk tier. Needs nginx and wrk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks import loading
from tests.benchmarks.servers import edgeinf_server, nginx_cache, origin_server, stream_origin

FIRST_BAR = {
    "cached_ratio": (0.3, "at least", "x nginx"),
    "cached_named_ratio": (0.3, "at least", "x nginx"),
    "cached_p50_ms": (0.2, "at most", "ms"),
    "miss_added_ms": (0.4, "at most", "ms"),
    "misses": (2500, "at least", "/s"),
    "events": (60_000, "at least", "/s"),
    "ttft_1_ms": (1.5, "at most", "ms"),
    "ttft_64_ms": (12, "at most", "ms"),
    "start_s": (0.5, "at most", "s"),
    "idle_mb": (70, "at most", "MB"),
}


def main() -> int:
    options = _options()
    results: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        origin = stack.enter_context(origin_server(folder, core=1))
        streams = stack.enter_context(stream_origin(folder, core=1))
        servers = {"direct": origin, "nginx": stack.enter_context(nginx_cache(folder, "nginx", origin.url, core=0))}
        slow = {"direct": streams, "nginx": stack.enter_context(nginx_cache(folder, "streams", streams.url, core=0))}
        if not options.without_edgeinf:
            edge = stack.enter_context(edgeinf_server(folder, "edge", origin.url, core=0))
            servers["edgeinf"] = edge
            time.sleep(1.0)
            results["edgeinf"] = {"start_s": [edge.started_s], "idle_mb": [edge.rss_mb()]}
            slow["edgeinf"] = stack.enter_context(edgeinf_server(folder, "slow", streams.url, core=0))
        for number in range(options.rounds):
            for name, server in servers.items():
                for measure in options.only:
                    target = slow[name] if measure in ("events", "paced") else server
                    loading.MEASURES[measure](target, options.seconds, results.setdefault(name, {}))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    figures = {name: {k: statistics.median(v) for k, v in found.items()} for name, found in results.items()}
    _derive(figures)
    _show(figures)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2))
    return 0


def _derive(figures: dict[str, dict[str, float]]) -> None:
    """Add what is read relative to the peers of the same run."""
    edge, nginx, direct = (figures.get(name, {}) for name in ("edgeinf", "nginx", "direct"))
    for name in ("cached", "cached_named", "cached_apart"):
        if name in edge and name in nginx:
            edge[f"{name}_ratio"] = edge[name] / nginx[name]
    for server in (edge, nginx):
        if "miss_p50_ms" in server and "miss_p50_ms" in direct:
            server["miss_added_ms"] = server["miss_p50_ms"] - direct["miss_p50_ms"]
        for count in ("1", "64"):
            if f"paced_{count}_ms" in server and f"paced_{count}_ms" in direct:
                server[f"ttft_{count}_ms"] = server[f"paced_{count}_ms"] - direct[f"paced_{count}_ms"]


def _show(figures: dict[str, dict[str, float]]) -> None:
    names = sorted({key for found in figures.values() for key in found})
    print(f"{'':16}" + "".join(f"{name:>12}" for name in figures))
    for key in names:
        row = "".join(f"{found[key]:12.3f}" if key in found else f"{'':12}" for found in figures.values())
        print(f"{key:16}{row}")
    edge = figures.get("edgeinf", {})
    for key, (bar, sense, unit) in FIRST_BAR.items():
        if key in edge:
            good = edge[key] >= bar if sense == "at least" else edge[key] <= bar
            print(f"{'reached    ' if good else 'NOT reached'} {key}: {edge[key]:.3f}, first bar {sense} {bar} {unit}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(loading.MEASURES))
    parser.add_argument("--without-edgeinf", action="store_true", help="measure the peers alone")
    parser.add_argument("--json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
