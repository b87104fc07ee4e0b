"""The program as it is started."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from edgeinf import __version__


def _run(*arguments: str) -> tuple[float, subprocess.CompletedProcess[str]]:
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=True)
    return time.perf_counter() - started, done


def test_the_module_is_the_program() -> None:
    _, done = _run("-m", "edgeinf", "--version")
    assert (done.stdout, done.stderr) == (f"edgeinf {__version__}\n", "")


def test_its_code_is_the_commands() -> None:
    done = subprocess.run([sys.executable, "-m", "edgeinf", "nonsense"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 2


def test_the_version_is_there_as_soon_as_the_argument_parser_would_be() -> None:
    """Measured in turns, so that a loaded machine slows both."""
    ours, theirs = [], []
    for _ in range(7):
        ours.append(_run("-m", "edgeinf", "--version")[0])
        theirs.append(_run("-c", "import typer")[0])
    assert statistics.median(ours) < 1.5 * statistics.median(theirs) + 0.05
