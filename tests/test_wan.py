import socket
import sys
import time

import pytest

from tests.wan import HUB, wan

_ECHO = """
import socket
server = socket.create_server(("0.0.0.0", 7000))
print("up", flush=True)
while True:
    server.accept()[0].close()
"""


def _connect_ms(address: str) -> float:
    started = time.perf_counter()
    with socket.create_connection((address, 7000), timeout=10):
        return (time.perf_counter() - started) * 1000


def test_a_handshake_takes_one_round_trip_of_its_own_link():
    with wan({"near": 2.0, "far": 20.0}) as net:
        for host in ("near", "far"):
            assert net.start(host, [sys.executable, "-c", _ECHO]).stdout.readline() == "up\n"
        with net.inside(HUB):
            near = min(_connect_ms(net.address("near")) for _ in range(5))
            far = min(_connect_ms(net.address("far")) for _ in range(5))
    assert near == pytest.approx(4.0, abs=2)
    assert far == pytest.approx(40.0, abs=4)


def test_a_program_runs_on_its_host_and_nothing_is_left_behind():
    with wan({"only": 1.0}) as net:
        shown = net.run("only", ["ip", "-br", "addr"])
        names = net.command("only", [])
        assert net.address("only") in shown.stdout
    left = net.run("only", ["true"])
    assert left.returncode != 0
    assert names[-4:-1] == ["ip", "netns", "exec"]
