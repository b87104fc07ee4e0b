"""The default report of a large log against DuckDB doing only normalise, hash and count on the same file.

    python tests/benchmarks/analyze.py --size 1GB

Both run in this one go, each in a process of its own. Peak memory is the sum over the process tree, less what the
same command takes for a log a hundredth of the size.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from edgeinf.analyze.synthetic import CAUSES, Cause, LogPlan, Template, generate

UNITS = {"MB": 10**6, "GB": 10**9}
# What DuckDB is asked: the same question after lower case, one space for many, no closing punctuation, counted.
QUERY = """
SELECT count(*) - count(DISTINCT hash(regexp_replace(lower(trim(
         CAST(json_extract(request, '$') AS VARCHAR))), '\\s+', ' ', 'g')))
FROM read_json('{path}', format='newline_delimited', ignore_errors=true, columns={{request: 'JSON', tenant: 'VARCHAR'}})
"""


def templates() -> tuple[Template, ...]:
    """Nine applications with a fault each make a third of the traffic, one without makes the rest."""
    return (
        Template(name="faq", weight=18, system_chars=900),
        *(
            Template(
                name=f"app-{kind}",
                cause=Cause(kind=kind),  # type: ignore[arg-type]
                tools=2 if kind == "tools" else 0,
                system_chars=900,
            )
            for kind in CAUSES
        ),
    )


def make(path: Path, size: int) -> int:
    """Write a log of about ``size`` bytes; return the number of requests."""
    plan = LogPlan(requests=size // 400, templates=templates(), intents=20_000, zipf=1.0, spacing_s=0.5, damage=0.01,
                   key_order=False)  # fmt: skip
    written = rows = 0
    with path.open("wb", buffering=2**20) as file:
        for line in generate(plan):
            written += file.write(line.raw)
            rows += line.identity is not None
            if written >= size:
                break
    return rows


def tree_bytes(pid: int) -> int:
    """Return the resident memory of a process and its children, less what they share (Pss)."""
    total = 0
    todo = [pid]
    while todo:
        at = todo.pop()
        try:
            for line in Path(f"/proc/{at}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
            for task in Path(f"/proc/{at}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except (OSError, ValueError):
            continue
    return total


def run(command: list[str]) -> tuple[float, int, str]:
    """Run a command; return seconds, peak bytes of its tree, and what it printed."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        peak = 0
        done = threading.Event()

        def look() -> None:
            nonlocal peak
            while not done.wait(0.05):
                peak = max(peak, tree_bytes(process.pid))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        out, _ = process.communicate()
        done.set()
        watcher.join()
        if process.returncode:
            raise SystemExit(f"{command[0]} failed with {process.returncode}")
    return time.perf_counter() - started, peak, out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="1GB", help="of the log, as 300MB or 1GB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="keep and reuse the log here")
    options = parser.parse_args()
    size = int(float(options.size[:-2]) * UNITS[options.size[-2:]])
    with tempfile.TemporaryDirectory() as folder:
        log = options.keep or Path(folder) / "log.jsonl"
        if not log.exists():
            make(log, size)
        small = Path(folder) / "small.jsonl"
        make(small, max(30 * 10**6, size // 100))  # large enough that it is read by several processes too
        ours = [sys.executable, "-m", "edgeinf", "analyze", "--json"]
        query = QUERY.format(path=log)
        theirs = [sys.executable, "-c", f"import duckdb; print(duckdb.sql({query!r}).fetchall())"]
        base = min(run([*ours, str(small)])[1] for _ in range(2))
        small_rows = sum(1 for _ in small.open("rb"))
        rows: list[dict[str, float]] = []
        found = {}
        for _ in range(options.runs):
            seconds, peak, out = run([*ours, str(log)])
            found = json.loads(out)
            duck_seconds, duck_peak, _ = run(theirs)
            rows.append({"edgeinf_s": seconds, "duckdb_s": duck_seconds, "ratio": seconds / duck_seconds,
                         "peak": peak, "duckdb_peak": duck_peak})  # fmt: skip
            print(json.dumps(rows[-1]), file=sys.stderr)
        rows.sort(key=lambda r: r["ratio"])
        middle = rows[len(rows) // 2]
        requests = found["input"]["records"]
        print(
            json.dumps(
                {
                    "bytes": os.path.getsize(log),
                    "requests": requests,
                    "edgeinf_s": round(middle["edgeinf_s"], 2),
                    "duckdb_s": round(middle["duckdb_s"], 2),
                    "ratio": round(middle["ratio"], 2),
                    "bytes_per_request_above_baseline": round((middle["peak"] - base) / (requests - small_rows), 1),
                    "baseline_mb": round(base / 2**20),
                    "duckdb_peak_mb": round(middle["duckdb_peak"] / 2**20),
                }
            )
        )


if __name__ == "__main__":
    main()
