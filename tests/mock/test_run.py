"""Serving until a signal comes."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request

import pytest

PROGRAM = """
from edgeinf.mock.load import load
from edgeinf.mock.run import run

def ready(origins):
    print(*[origin.url for origin in origins], flush=True)

print(run([(load({"name": name}), 0) for name in ("a", "b")], host="127.0.0.1", tls=None, keep=10, ready=ready))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_it_serves_every_region_and_returns_the_signal_that_ended_it(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        urls = process.stdout.readline().split()
        statuses = [urllib.request.urlopen(f"{url}/health", timeout=20).status for url in urls]
        process.send_signal(number)
        rest = process.stdout.read()

    assert statuses == [200, 200]
    assert int(rest) == number
    assert process.returncode == 0
