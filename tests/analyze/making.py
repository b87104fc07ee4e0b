"""Small logs for tests: generic JSON lines from a few words each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.run import Analysis, analyze, read
from edgeinf.analyze.source import open_sources

__all__ = ["ask", "log_of", "run", "write"]


def ask(question: str = "What is it?", at: float = 0.0, **fields: Any) -> dict[str, Any]:
    """Return one row; ``system``, ``body`` and ``model`` shape the request, other fields are the row's own."""
    model = fields.pop("model", "gpt-4o-mini")
    system = fields.pop("system", "You help.")
    body = {
        "model": model,
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": question}],
        **fields.pop("body", {}),
    }
    return {"ts": 1793527200.0 + at, "request": body, **fields}


def write(path: Path, rows: Iterable[dict[str, Any] | bytes]) -> Path:
    """Write rows as lines; bytes are written as they are."""
    path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows))
    return path


def run(path: Path, **options: Any) -> Analysis:
    """Analyse a file in this process."""
    return analyze(Options(files=(str(path),), workers=1, **options))


def log_of(path: Path, **options: Any) -> Log:
    """Read a file into columns."""
    with ExitStack() as stack:
        given = Options(files=(str(path),), workers=1, **options)
        return read(given, open_sources(given.files, stack), lambda what, done, total: None)
