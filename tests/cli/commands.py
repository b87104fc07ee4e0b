"""Run a command line as a process, as a shell does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["command", "edgeinf"]


def command(*arguments: str) -> list[str]:
    """Return the command line of an edgeinf command."""
    return [sys.executable, "-m", "edgeinf", *arguments]


def edgeinf(
    *arguments: str, home: Path, env: Mapping[str, str] | None = None, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EDGEINF_")}
    return subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=60,
        cwd=home,
        input=stdin,
        env={**kept, "HOME": str(home), **(env or {})},
    )
