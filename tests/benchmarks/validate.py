"""Time ``edgeinf validate`` on a config of 9,000 lines, with and without the interpreter's start.

Run: ``python -m tests.benchmarks.validate``. Exits 1 when the whole command takes 0.5 s of CPU or more.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from edgeinf.core.config.load import inspect
from edgeinf.validate.check import Options, check

LINES = 9_000
LIMIT_S = 0.5
ROUNDS = 5


def config() -> str:
    """Return a valid config of at least 9,000 lines: regions, models in groups, keys and limits."""
    regions = [
        f"  - name: region-{n}\n    url: https://r{n}.example.com/v1\n    api_key: ${{KEY_{n}}}\n"
        f"    timeouts: {{connect: 3s, ttft: 60s, total: 10m}}\n    location: {{lat: 1.5, lon: {n % 180}}}\n"
        for n in range(400)
    ]
    models = [
        f"  - name: model-{n}\n    upstream: {{region-{n % 400}: llama-{n}}}\n    regions: [region-{n % 400}]\n"
        f"    fallback: [model-{n + 1}]\n"
        for n in range(800)
    ]
    keys = [f'    - id: key-{n}\n      team: team-{n % 50}\n      sha256: "{n:064x}"\n' for n in range(700)]
    limits = [f"  - name: limit-{n}\n    match: {{team: team-{n % 50}}}\n    requests: 60/min\n" for n in range(600)]
    parts = [
        "version: 1\nregions:\n",
        *regions,
        "models:\n",
        *models,
        "  - name: model-800\n",
        "auth:\n  keys:\n",
        *keys,
    ]
    return "".join([*parts, "limits:\n", *limits])


def main() -> int:
    """Print the times and return the exit code."""
    text = config()
    lines = text.count("\n")
    assert lines >= LINES, lines
    env = {f"KEY_{n}": f"placeholder-{n}" for n in range(400)}
    options = Options(env=env)
    walls, cpus, loads = [], [], []
    for _ in range(ROUNDS):
        started, cpu = time.perf_counter(), time.process_time()
        report, _seen = check(text, "edgeinf.yaml", base=Path(), options=options)
        walls.append(time.perf_counter() - started)
        cpus.append(time.process_time() - cpu)
        assert report.diagnostics == (), report.diagnostics[:3]
        cpu = time.process_time()
        inspect(text, "edgeinf.yaml", base=Path(), env=env)
        loads.append(time.process_time() - cpu)
    command = min(_command(text) for _ in range(ROUNDS))
    sys.stdout.write(
        f"{lines} lines: first {cpus[0]:.3f} s, best {min(cpus):.3f} s of CPU (wall {min(walls):.3f} s); "
        f"loading alone {min(loads):.3f} s; as a command {command:.3f} s of CPU\n"
    )
    return 0 if command < LIMIT_S else 1


def _command(text: str) -> float:
    """Return the CPU time of the whole command, interpreter and imports included."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "edgeinf.yaml"
        file.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "edgeinf", "validate", "--no-env", str(file)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    sys.exit(main())
