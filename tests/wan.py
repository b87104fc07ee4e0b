"""A small wide-area network inside this machine: hosts in network namespaces, links that take their time.

``with wan({"east": 5.0, "west": 40.0}) as net:`` makes a hub and two hosts, one-way delays in milliseconds.
Each link is a pair of TUN devices; a process of its own carries every packet from one to the other after the
delay, so that each handshake pays its round trips. Needs root, ``ip`` and ``/dev/net/tun``; skips without.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.programs import need

__all__ = ["HUB", "Wan", "wan"]

HUB = "hub"
_TUN_REQUEST, _TUN_FLAGS = 0x400454CA, 0x0001 | 0x1000  # TUNSETIFF; IFF_TUN without packet information
_PACKET = 65536
_LIFE_S = float(os.environ.get("WAN_LIFE_S", "300"))  # longer for experiments that say so
_SUBNET = 77
_AWAKE_S = 0.0002  # a sleeping process wakes too late to be punctual, so the last moment is spent awake


@dataclass
class Wan:
    """The network while it stands: where the hosts are and how to run something on one of them."""

    _prefix: str
    _hosts: tuple[str, ...]
    _running: list[subprocess.Popen[str]] = field(default_factory=list)

    def address(self, host: str) -> str:
        """Return the address of a host as the hub sees it."""
        return f"10.{_SUBNET}.{self._hosts.index(host)}.2"

    def hub_address(self, host: str) -> str:
        """Return the address of the hub as ``host`` sees it."""
        return f"10.{_SUBNET}.{self._hosts.index(host)}.1"

    def command(self, host: str, command: Sequence[str]) -> list[str]:
        """Return a command line that runs ``command`` on a host (or on ``hub``)."""
        return [*_punctual(), "ip", "netns", "exec", f"{self._prefix}-{host}", *command]

    def start(self, host: str, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program on a host; it is ended with the network. Input and outputs are pipes."""
        process = subprocess.Popen(
            self.command(host, command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        return process

    def run(self, host: str, command: Sequence[str], *, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a program on a host to its end."""
        return subprocess.run(
            self.command(host, command), capture_output=True, text=True, timeout=timeout_s, check=False
        )

    @contextlib.contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """Let this thread open its sockets on a host; sockets keep the namespace they were opened in."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            _enter(f"/run/netns/{self._prefix}-{host}")
            yield
        finally:
            _enter(f"/proc/self/fd/{home}")
            os.close(home)


@contextlib.contextmanager
def wan(one_way_ms: dict[str, float]) -> Iterator[Wan]:
    """Make a hub with one link per host and remove everything at the end."""
    need("ip")
    if os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        pytest.skip("needs root and /dev/net/tun for network namespaces")
    prefix = f"w{os.getpid()}{threading.get_native_id() % 1000}"
    names = [f"{prefix}-{host}" for host in (HUB, *one_way_ms)]
    with contextlib.ExitStack() as stack:
        for name in names:
            added = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
            if added.returncode != 0:
                pytest.skip(f"needs the right to make network namespaces: {added.stderr.strip()}")
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=False)
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        links = [f"{host}={delay}" for host, delay in one_way_ms.items()]
        carrier = subprocess.Popen(
            [*_punctual(), sys.executable, "-m", "tests.wan", prefix, *links],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        stack.callback(_end, carrier)
        assert carrier.stdout is not None
        if carrier.stdout.readline() != "ready\n":
            pytest.skip("needs TUN devices in network namespaces")
        net = Wan(prefix, tuple(one_way_ms))
        stack.callback(lambda: [_end(process) for process in net._running])
        yield net


@functools.cache
def _punctual() -> tuple[str, ...]:
    """Return what puts a command before other tests that run meanwhile, where that is allowed."""
    first = ("nice", "-n", "-15")
    return () if subprocess.run([*first, "true"], capture_output=True, check=False).stderr else first


def _end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _enter(path: str) -> None:
    namespace = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(namespace, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {path}")
    finally:
        os.close(namespace)


def _device(namespace: str, name: str, address: str) -> int:
    """Make a TUN device inside a namespace and return its descriptor, which works from anywhere."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    _enter(f"/run/netns/{namespace}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUN_REQUEST, struct.pack("16sH", name.encode(), _TUN_FLAGS))
    _enter(f"/proc/self/fd/{home}")
    os.close(home)
    for arguments in (("addr", "add", f"{address}/24", "dev", name), ("link", "set", name, "up", "mtu", "1500")):
        subprocess.run(["ip", "-n", namespace, *arguments], check=True)
    return device


def _carry(links: dict[int, tuple[int, float]]) -> None:
    """Move packets between devices: descriptor -> (the other end, delay in seconds). Ends after a while."""
    held: dict[int, deque[tuple[float, bytes]]] = {device: deque() for device in links}
    watcher = selectors.SelectSelector()  # waits to the microsecond; epoll rounds up to a millisecond
    for device in links:
        watcher.register(device, selectors.EVENT_READ)
    end = time.monotonic() + _LIFE_S
    while (now := time.monotonic()) < end:
        wait = 0.2
        for device, (other, _) in links.items():
            queue = held[device]
            while queue and queue[0][0] <= now:
                with contextlib.suppress(OSError):  # a full queue loses packets, as a real link does
                    os.write(other, queue.popleft()[1])
            if queue:
                wait = min(wait, queue[0][0] - now)
        for key, _ in watcher.select(max(0.0, wait - _AWAKE_S)):
            with contextlib.suppress(BlockingIOError):
                while True:
                    packet = os.read(key.fd, _PACKET)
                    held[key.fd].append((time.monotonic() + links[key.fd][1], packet))


def _main(prefix: str, arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    links: dict[int, tuple[int, float]] = {}
    for number, argument in enumerate(arguments):
        host, _, delay_ms = argument.partition("=")
        near = _device(f"{prefix}-{HUB}", f"link{number}", f"10.{_SUBNET}.{number}.1")
        far = _device(f"{prefix}-{host}", "link0", f"10.{_SUBNET}.{number}.2")
        links[near] = (far, float(delay_ms) / 1000)
        links[far] = (near, float(delay_ms) / 1000)
    print("ready", flush=True)
    _carry(links)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
