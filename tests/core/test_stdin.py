"""A command whose standard input is closed says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import command


@pytest.mark.parametrize(
    "arguments",
    [("analyze", "-"), ("validate", "-"), ("explain", "-", "other.json")],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_closed_standard_input_is_unreadable_input(arguments: tuple[str, ...], tmp_path: Path) -> None:
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command(*arguments)]
    done = subprocess.run(closed, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read -: standard input is closed\nhint: give a file\n"
