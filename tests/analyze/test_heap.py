"""What is free goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from edgeinf.analyze import heap

_CODE = """
import resource
from edgeinf.analyze import heap

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

before = resident()
blocks = [bytearray(1_000_000) for _ in range(100)]
held = [bytes(500) for _ in range(200_000)]
kept = held[::50_000]
del blocks, held
heap.give_back()
print(resident() - before)
"""


def test_what_is_let_go_does_not_stay_resident() -> None:
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, timeout=60, check=True)
    assert int(done.stdout) < 50_000_000


def test_another_system_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    heap.give_back()
