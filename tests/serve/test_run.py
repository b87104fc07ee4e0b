"""Start, reload, drain and end, under load: no request is dropped or cut."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from edgeinf.mock import ThreadedOrigin
from edgeinf.mock.tls import make_certificate
from tests.serve.spawning import KEY, Spawned, config_file, spawned, wait_until

WORKERS = pytest.mark.parametrize("workers", [1, 3], ids=["one", "three"])


@contextmanager
def load(server: Spawned, *, threads: int = 6) -> Iterator[list[str]]:
    """Ask without pause, whole and as streams, over kept connections; yields what went wrong."""
    wrong: list[str] = []
    over = threading.Event()

    def ask(number: int) -> None:
        with httpx.Client(base_url=server.url, headers=KEY, timeout=30, trust_env=False) as client:
            count = 0
            while not over.is_set():
                count += 1
                stream = count % 2 == 0
                body = {"model": "m", "messages": [{"role": "user", "content": f"{number} {count}"}], "stream": stream}
                try:
                    answer = client.post("/v1/chat/completions", json=body)
                except httpx.TransportError as error:
                    wrong.append(repr(error))
                    return
                whole = "[DONE]" in answer.text if stream else answer.json().get("object") == "chat.completion"
                if answer.status_code != 200 or not whole:
                    wrong.append(f"{answer.status_code} {answer.text[-200:]}")
                if answer.headers.get("connection") == "close":
                    return

    with ThreadPoolExecutor(threads) as pool:
        tasks = [pool.submit(ask, number) for number in range(threads)]
        try:
            yield wrong
        finally:
            over.set()
            for task in tasks:
                task.result(60)


@WORKERS
def test_a_reload_under_load_drops_nothing_and_takes_hold(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int
) -> None:
    origin_thread.use({"ttft": "5ms", "answer": {"tokens": 20}, "tpot": "2ms"})
    config = config_file(tmp_path, origin_thread.url)
    with spawned(config, "--workers", str(workers)) as server, load(server) as wrong:
        for number in range(3):
            config_file(tmp_path, origin_thread.url, cache={"disk": None, "level": "exact", "ttl": f"{number + 1}h"})
            server.signal(signal.SIGHUP)
            wait_until(lambda n=number: server.errors.count("read anew") > n)  # type: ignore[misc]
            config_file(tmp_path, origin_thread.url)
            server.signal(signal.SIGHUP)
            wait_until(lambda n=number: server.errors.count("read anew") > n)  # type: ignore[misc]
        assert wrong == []


@WORKERS
def test_a_changed_file_is_noticed_and_holds(origin_thread: ThreadedOrigin, tmp_path: Path, workers: int) -> None:
    config = config_file(tmp_path, origin_thread.url)
    with spawned(config, "--workers", str(workers)) as server:
        assert server.ask("a").headers["x-edgeinf-region"] == "region"
        config.write_text(config.read_text().replace("name: region", "name: renamed"))
        wait_until(lambda: server.ask(f"b {time.monotonic_ns()}").headers["x-edgeinf-region"] == "renamed")


@WORKERS
@pytest.mark.parametrize(
    ("bad", "said"),
    [("regions: [", "refused"), ("cache: {levle: exact}", "levle"), ("cache: {ttl: 5 parsecs}", "parsecs")],
    ids=["yaml", "name", "value"],
)
def test_a_bad_file_is_refused_and_the_old_one_stays(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int, bad: str, said: str
) -> None:
    config = config_file(tmp_path, origin_thread.url)
    good = config.read_text()
    with spawned(config, "--workers", str(workers)) as server, load(server, threads=2) as wrong:
        config.write_text(bad)
        wait_until(lambda: "refused" in server.errors)
        assert said in server.errors
        assert "old one" in server.stats()["notes"][0]
        assert server.ask("still here").status_code == 200
        config.write_text(good + "\n")
        wait_until(lambda: server.stats()["notes"] == [])
        assert wrong == []


def test_what_needs_a_restart_is_said(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    config = config_file(tmp_path, origin_thread.url)
    with spawned(config) as server:
        config_file(tmp_path, origin_thread.url, events={"file": str(tmp_path / "other.jsonl")})
        wait_until(lambda: bool(server.stats()["notes"]))
        assert "events changed in the config, which needs a restart" in server.stats()["notes"][0]


@WORKERS
def test_a_drain_under_load_cuts_nothing_and_ends_in_time(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int
) -> None:
    origin_thread.use({"ttft": "20ms", "answer": {"tokens": 20}, "tpot": "20ms"})
    config = config_file(tmp_path, origin_thread.url, listen={"drain": "8s"})
    with spawned(config, "--workers", str(workers)) as server, load(server) as wrong:
        wait_until(lambda: origin_thread.active > 0)
        server.signal(signal.SIGTERM)
        assert server.process.wait(20) == 143
        # Those that ask anew after the socket is closed are refused a connection, which is not a cut request.
        assert [w for w in wrong if "ConnectError" not in w] == []


def _asked(tag: str, *, stream: bool) -> bytes:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": tag}], "stream": stream}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n"
    return f"{head}content-type: application/json\r\nauthorization: Bearer k\r\n\r\n".encode() + body


def _read_until(connection: socket.socket, end: bytes | None) -> bytes:
    """Return what comes up to ``end``, or up to the end of the connection."""
    came = b""
    while (end is None or end not in came) and (piece := connection.recv(65536)):
        came += piece
    return came


@WORKERS
def test_a_client_that_was_not_told_may_ask_once_more_after_its_answer(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int
) -> None:
    origin_thread.use({"ttft": "20ms", "answer": {"tokens": 20}, "tpot": "100ms"})
    config = config_file(tmp_path, origin_thread.url, listen={"drain": "20s"})
    with spawned(config, "--workers", str(workers)) as server, closing(_connected(server)) as client:
        client.sendall(_asked("long", stream=True))
        head = _read_until(client, b"\r\n\r\n")
        assert b"connection: close" not in head.lower()
        server.signal(signal.SIGTERM)
        assert b"data: [DONE]" in head + _read_until(client, b"data: [DONE]\n\n\r\n0\r\n\r\n")
        with pytest.raises(ConnectionRefusedError):
            _connected(server)
        client.sendall(_asked("one more", stream=False))
        answer = _read_until(client, None)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in answer.lower()
        assert server.process.wait(20) == 143


@WORKERS
def test_who_connects_just_before_the_socket_is_closed_is_answered(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int
) -> None:
    origin_thread.use({"ttft": "20ms", "answer": {"tokens": 2}})
    config = config_file(tmp_path, origin_thread.url, listen={"drain": "20s"})
    with spawned(config, "--workers", str(workers)) as server, ExitStack() as kept:
        opened = [kept.enter_context(closing(_connected(server))) for _ in range(2)]
        server.signal(signal.SIGTERM)
        wait_until(lambda: not _connects(server, opened, kept))
        latest = opened[-2]  # the very last may have come between the system and the server
        latest.sendall(_asked("late", stream=False))
        answer = _read_until(latest, None)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in answer.lower()


def _connects(server: Spawned, opened: list[socket.socket], kept: ExitStack) -> bool:
    try:
        opened.append(kept.enter_context(closing(_connected(server))))
    except ConnectionRefusedError:
        return False
    return True


def _connected(server: Spawned) -> socket.socket:
    parts = urlsplit(server.url)
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=20)


@WORKERS
def test_a_tls_client_that_reads_nothing_does_not_hold_the_end_up(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int
) -> None:
    cert, key = make_certificate(tmp_path, ("localhost", "127.0.0.1"))
    tls = {"cert": str(cert), "key": str(key)}
    config = config_file(tmp_path, origin_thread.url, listen={"drain": "60s", "tls": tls})
    trusted = ssl.create_default_context(cafile=str(cert))
    with (
        spawned(config, "--workers", str(workers)) as server,
        closing(trusted.wrap_socket(_connected(server), server_hostname="127.0.0.1")) as idle,
    ):
        idle.sendall(_asked("over", stream=False))
        assert b"200 OK" in _read_until(idle, b"}")
        server.signal(signal.SIGTERM)
        assert server.process.wait(30) == 143


def test_while_it_drains_it_is_not_ready(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    origin_thread.use({"ttft": "2s"})
    config = config_file(tmp_path, origin_thread.url)
    with spawned(config) as server, ThreadPoolExecutor(1) as pool, httpx.Client(trust_env=False) as client:
        assert client.get(f"{server.url}/readyz").status_code == 200
        waiting = pool.submit(server.ask)
        origin_thread.until(lambda: origin_thread.active == 1)
        server.signal(signal.SIGTERM)
        wait_until(lambda: client.get(f"{server.url}/readyz").status_code == 503, within_s=1)
        assert waiting.result(20).status_code == 200


def test_the_drain_has_an_end(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    origin_thread.use({"ttft": "60s"})
    config = config_file(tmp_path, origin_thread.url, listen={"drain": "1s"})
    with spawned(config) as server, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.ask)
        origin_thread.until(lambda: origin_thread.active == 1)
        server.signal(signal.SIGTERM)
        assert server.process.wait(15) == 143
        assert waiting.exception(10) is not None or waiting.result().status_code >= 400


@WORKERS
def test_a_second_signal_ends_it_at_once(origin_thread: ThreadedOrigin, tmp_path: Path, workers: int) -> None:
    origin_thread.use({"ttft": "60s"})
    config = config_file(tmp_path, origin_thread.url, listen={"drain": "60s"})
    with spawned(config, "--workers", str(workers)) as server, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.ask)
        origin_thread.until(lambda: origin_thread.active == 1)
        server.signal(signal.SIGINT)
        time.sleep(0.2)
        server.signal(signal.SIGINT)
        assert server.process.wait(10) == 130
        assert waiting.exception(10) is not None or waiting.result().status_code >= 400


@WORKERS
def test_the_manager_is_told_and_its_socket_taken(origin_thread: ThreadedOrigin, tmp_path: Path, workers: int) -> None:
    """As systemd does it: a datagram socket to report to, a listening socket at descriptor 3."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(20)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    config = config_file(tmp_path, origin_thread.url)
    shim = tmp_path / "shim.py"
    shim.write_text(
        "import os, sys\n"
        f"os.dup2({listener.fileno()}, 3, inheritable=True)\n"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'edgeinf', *sys.argv[1:]])\n"
    )
    import subprocess
    import sys

    process = subprocess.Popen(
        [sys.executable, str(shim), "serve", "--config", str(config), "--json", "--workers", str(workers)],
        stdout=subprocess.PIPE,
        env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "500000"},
        pass_fds=(listener.fileno(),),
    )
    listener.close()
    said: list[str] = []

    def hear(line: str) -> None:
        while line not in said:
            said.extend(manager.recv(4096).decode().split("\n"))

    try:
        hear("READY=1")
        hear("WATCHDOG=1")
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
        process.send_signal(signal.SIGHUP)
        hear("RELOADING=1")
        said.remove("READY=1")
        hear("READY=1")
    finally:
        process.terminate()
        process.wait(20)
        assert process.stdout is not None
        process.stdout.close()
    hear("STOPPING=1")
    manager.close()
