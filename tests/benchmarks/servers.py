"""Start the servers that the benchmarks compare, each pinned to a core, and end them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "ANSWER",
    "TOKEN",
    "Server",
    "edgeinf_server",
    "everything_on",
    "free_port",
    "nginx_cache",
    "origin_server",
    "plain",
    "stream_origin",
]

TOKEN = "ek-benchmark-0123456789abcdef"

_TEXT = ("The layer answers beside its user and lets only what needs a GPU travel. " * 15)[:780]
ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": _TEXT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 150, "total_tokens": 450},
    }
)


class Server:
    """A running server and what it cost to start."""

    def __init__(self, url: str, process: subprocess.Popen[bytes], started_s: float = 0.0) -> None:
        self.url = url
        self.process = process
        self.started_s = started_s
        self.port = int(url.rsplit(":", 1)[1])

    def rss_mb(self) -> float:
        """Return the resident size of the process and its children, in MB."""
        total = 0
        for pid in [self.process.pid, *_children(self.process.pid)]:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS"):
                    total += int(line.split()[1])
        return total / 1024


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def _running(command: list[str], url: str, probe: str, core: int, log: Path) -> Iterator[Server]:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with log.open("wb") as file:
        started = time.perf_counter()
        process = subprocess.Popen(["taskset", "-c", str(core), *command], stdout=file, stderr=file, env=env)
        try:
            while True:
                try:
                    with urllib.request.urlopen(url + probe, timeout=1):
                        break
                except urllib.error.HTTPError:
                    break  # it answers
                except OSError:
                    if process.poll() is not None or time.perf_counter() - started > 15:
                        raise RuntimeError(log.read_text()) from None
                    time.sleep(0.002)
            yield Server(url, process, time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait(10)


def _nginx(folder: Path, name: str, body: str, core: int) -> tuple[list[str], str]:
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    port = free_port()
    here = folder / name
    here.mkdir()
    (here / "nginx.conf").write_text(
        f"""user root; daemon off; worker_processes 1; pid {here}/pid; error_log {here}/error.log;
        events {{ worker_connections 4096; }}
        http {{
          access_log off; keepalive_requests 100000000; client_body_temp_path {here}/b; proxy_temp_path {here}/p;
          fastcgi_temp_path {here}/f; uwsgi_temp_path {here}/u; scgi_temp_path {here}/s; client_body_buffer_size 128k;
          client_body_in_single_buffer on; {body.replace("PORT", str(port)).replace("HERE", str(here))}
        }}"""
    )
    return [program, "-c", str(here / "nginx.conf"), "-e", str(here / "error.log")], f"http://127.0.0.1:{port}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "${dollar}") + "'"


@contextmanager
def origin_server(folder: Path, core: int) -> Iterator[Server]:
    """An origin that costs next to nothing: nginx with one fixed answer."""
    body = f"""server {{ listen 127.0.0.1:PORT backlog=2048; default_type application/json;
        location / {{ return 200 {_quoted(ANSWER)}; }} }}"""
    command, url = _nginx(folder, "origin", body, core)
    with _running(command, url, "/", core, folder / "origin.log") as server:
        yield server


@contextmanager
def stream_origin(folder: Path, core: int) -> Iterator[Server]:
    """An origin of streams of 52 events, as fast as they go unless the request asks for a pace."""
    port = free_port()
    script = folder / "mock.yaml"
    script.write_text("answer: {tokens: 49}\n")
    command = [str(Path(sys.executable).with_name("edgeinf")), "mock", "--port", str(port), "--script", str(script)]
    with _running(command, f"http://127.0.0.1:{port}", "/_mock/calls", core, folder / "mock.log") as server:
        yield server


@contextmanager
def nginx_cache(folder: Path, name: str, upstream: str, core: int) -> Iterator[Server]:
    """nginx with proxy_cache on the body, its files in memory."""
    shm = Path("/dev/shm") / f"edgeinf-bench-{os.getpid()}-{name}"
    body = f"""proxy_cache_path {shm} levels=1:2 keys_zone=c:64m max_size=512m use_temp_path=off;
        upstream o {{ server {upstream.removeprefix("http://")}; keepalive 64; keepalive_requests 100000000; }}
        server {{ listen 127.0.0.1:PORT backlog=2048;
          location / {{ proxy_pass http://o; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_cache c; proxy_cache_methods POST; proxy_cache_key $request_uri$request_body;
            proxy_cache_valid 200 1h; proxy_ignore_headers Cache-Control Expires;
            if ($http_accept ~ event-stream) {{ rewrite ^ /streams$uri last; }} }}
          location /streams/ {{ proxy_pass http://o/; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_buffering off; }} }}"""
    command, url = _nginx(folder, name, body, core)
    try:
        with _running(command, url, "/", core, folder / f"{name}.log") as server:
            yield server
    finally:
        shutil.rmtree(shm, ignore_errors=True)


@contextmanager
def edgeinf_server(folder: Path, name: str, upstream: str, core: int, config: str | None = None) -> Iterator[Server]:
    """The proxy as an installed command, everything on."""
    file = folder / f"{name}.yaml"
    file.write_text(config if config is not None else everything_on(folder / name, upstream))
    port = free_port()
    command = [str(Path(sys.executable).with_name("edgeinf")), "serve", "--config", str(file), "--port", str(port)]
    with _running(command, f"http://127.0.0.1:{port}", "/healthz", core, folder / f"{name}.log") as server:
        yield server


def plain(folder: Path, upstream: str) -> str:
    """A config that caches in memory and on disk and writes events."""
    return f"""version: 1
regions:
  - {{name: one, url: "{upstream}", api_key: "${{BENCH_KEY:-bench-origin-key}}", serves: [openai]}}
cache:
  disk: {{path: {folder}/cache, max_size: 1GiB}}
events: {{file: {folder}/events.jsonl}}
"""


def everything_on(folder: Path, upstream: str) -> str:
    """A config with virtual keys, limits on requests, tokens and calls at once, a guard on size, events and metrics.

    Rules over texts (deny, redact, prompts, answers) cost what they read and are measured apart, in ``layer.py``.
    """
    return (
        plain(folder, upstream)
        + f"""auth:
  keys: [{{id: bench, team: acme, sha256: {hashlib.sha256(TOKEN.encode()).hexdigest()}, models: [m]}}]
limits:
  - {{name: per-key, requests: 10M/s, tokens: 1000M/s, concurrency: 1000}}
guard: {{max_input_tokens: 32000}}
"""
    )
