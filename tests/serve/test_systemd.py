"""The service manager's protocol, spoken to a socket of the test's own."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from edgeinf.serve.systemd import keep_watchdog, notify, passed_socket


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_the_manager_is_told(tmp_path: Path, abstract: bool) -> None:
    name = f"edgeinf-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name if abstract else str(tmp_path / name))
        env = {"NOTIFY_SOCKET": "@" + name if abstract else str(tmp_path / name)}
        assert notify("READY=1", env)
        assert manager.recv(100) == b"READY=1"


@pytest.mark.parametrize("env", [{}, {"NOTIFY_SOCKET": "/nowhere/at/all"}, {"NOTIFY_SOCKET": "relative"}])
def test_without_a_manager_nothing_happens(env: dict[str, str]) -> None:
    assert not notify("READY=1", env)


async def test_the_watchdog_hears_a_beat_twice_per_interval(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.setblocking(False)
        env = {"NOTIFY_SOCKET": str(tmp_path / "n"), "WATCHDOG_USEC": "40000"}
        task = asyncio.create_task(keep_watchdog(env))
        loop = asyncio.get_running_loop()
        for _ in range(3):
            async with asyncio.timeout(10):
                assert await loop.sock_recv(manager, 100) == b"WATCHDOG=1"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    "env",
    [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "x"}],
    ids=["none", "another process", "nonsense"],
)
def test_sockets_for_somebody_else_are_left_alone(env: dict[str, str]) -> None:
    assert passed_socket(env) is None


async def test_nobody_asks_for_a_watchdog() -> None:
    await keep_watchdog({})
