"""What does the layer in front cost? Everything on beside everything off, and retrieval apart, in one run.

    python -m tests.benchmarks.layer [--rounds 5] [--seconds 2] [--json F]

Three proxies on core 0, interleaved, medians: one with nothing but the cache, one with auth, every kind of limit,
guard, redaction, prompt rules and answer rules, and that one with documents searched as well. Needs nginx and wrk.
Beside the times stands the processor time that the server took per request: on a machine that others use as well,
it says what the times cannot.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks import loading
from tests.benchmarks.servers import TOKEN, Server, edgeinf_server, origin_server, plain

__all__ = ["layer_on"]

_ALLOWED_MS = 0.2
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def _cpu_s(server: Server) -> float:
    """Return the processor time that a server's processes have taken."""
    pids = [
        server.process.pid,
        *map(int, Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()),
    ]
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) * _TICK_S


def _measure(server: Server, seconds: float, into: dict[str, list[float]]) -> None:
    """Measure cached answers and misses at one connection."""
    for name, distinct in (("cached", False), ("miss", True)):
        loading._wrk(server, 1, 1, distinct=distinct)
        before = _cpu_s(server)
        rate, p50_ms = loading._wrk(server, 1, seconds, distinct=distinct)
        into.setdefault(f"{name}_p50_ms", []).append(p50_ms)
        into.setdefault(f"{name}_cpu_ms", []).append((_cpu_s(server) - before) * 1000 / (rate * round(seconds)))


def layer_on(folder: Path, upstream: str, *, documents: Path | None = None) -> str:
    """Return a config with every step of the layer on."""
    context = f"\n    context: {{source: {documents}, top_k: 4}}" if documents is not None else ""
    return (
        plain(folder, upstream)
        + f"""auth:
  keys: [{{id: bench, team: acme, sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}, models: [m]}}]
limits:
  - {{name: per-key, requests: 10M/s, tokens: 1000M/s, concurrency: 1000}}
  - {{name: per-session, per: session, requests: 10M/s}}
  - {{name: per-ip, per: ip, requests: 10M/s}}
  - {{name: money, per: team, budget: {{usd: 1000000, period: 30d}}}}
prices: {{m: {{input: 0.1, output: 0.2}}}}
guard:
  max_input_tokens: 32000
  deny: [{{pattern: '(?i)ignore (all|previous) instructions'}}, {{pattern: 'forbidden', action: flag}}]
  clients: {{deny_cidr: [203.0.113.0/24], deny_user_agent: ['(?i)badbot']}}
  redact: [email, phone, credit-card, secrets]
prompt:
  - when: {{model: m}}
    prepend: [{{role: system, content: Answer briefly.}}]{context}
answer: {{strip: [reasoning], redact: [email]}}
"""
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    documents = Path(__file__).parents[1] / "data" / "handbook"
    found: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        origin = stack.enter_context(origin_server(folder, core=1))
        configs = {
            "off": plain(folder / "off", origin.url),
            "on": layer_on(folder / "on", origin.url),
            "context": layer_on(folder / "context", origin.url, documents=documents),
        }
        servers: dict[str, Server] = {
            name: stack.enter_context(edgeinf_server(folder, name, origin.url, core=0, config=config))
            for name, config in configs.items()
        }
        for number in range(options.rounds):
            for name, server in servers.items():
                _measure(server, options.seconds, found.setdefault(name, {}))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    figures = {name: {key: statistics.median(each) for key, each in all_.items()} for name, all_ in found.items()}
    for key in figures["off"]:
        row = "  ".join(f"{name} {figures[name][key]:7.3f}" for name in figures)
        added = figures["on"][key] - figures["off"][key]
        met = "met" if added <= _ALLOWED_MS else "NOT MET"
        print(f"{key:14}  {row}  on adds {added:.3f} ms, at most {_ALLOWED_MS}: {met}")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
