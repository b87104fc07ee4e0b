"""When does HTTP/2 to an origin help, and what does it cost? The relay client over both, in one run.

    python -m tests.benchmarks.http2 [--one-way 40] [--rounds 15] [--seconds 2]

The origin is nginx with TLS, which offers both by ALPN, before a bare server. Far: in a network namespace of its own
behind a real delay, a burst of 16 calls finds one warm connection (and, for HTTP/1.1, also as many as the burst has),
and calls come one after the other. Near: on the loopback, CPU microseconds per call and per event of a stream.
Rounds are interleaved; medians are shown. Needs root for the namespaces.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import uvloop

from edgeinf.mock.tls import make_certificate
from edgeinf.serve.origin.client import Request
from edgeinf.serve.origin.pool import Connections
from tests.benchmarks.servers import free_port
from tests.programs import need
from tests.wan import HUB, wan

_BURST = 16
_EVENTS = 500
_BODY = b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 1400 + b'"}]}'
_ORIGIN = """
import asyncio, sys, uvloop
ANSWER = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: 1024\\r\\n\\r\\n" + b"y" * 1024
HEAD = b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n"
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}' + b" " * 90 + b"\\n\\n"
CHUNK = b"%x\\r\\n%b\\r\\n" % (len(EVENT), EVENT)
class Bare(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.rest = transport, b""
    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\\r\\n\\r\\n")) >= 0:
            head = self.rest[:end].lower()
            length = int(head.split(b"content-length: ")[1].split(b"\\r")[0]) if b"content-length: " in head else 0
            if len(self.rest) < end + 4 + length:
                return
            self.rest = self.rest[end + 4 + length:]
            if b"/stream" in head.split(b"\\r")[0]:
                asyncio.ensure_future(self.stream())
            else:
                self.transport.write(ANSWER)
    async def stream(self):
        self.transport.write(HEAD)
        for _ in range(int(sys.argv[2])):
            self.transport.write(CHUNK)
            await asyncio.sleep(0.0005)
        self.transport.write(b"0\\r\\n\\r\\n")
async def main():
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", int(sys.argv[1]))
    print("up", flush=True)
    await server.serve_forever()
uvloop.run(main())
"""
_NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 300s;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream bare {{ server 127.0.0.1:{bare}; keepalive 64; keepalive_requests 1000000; }}
  server {{
    listen {host}:{port} ssl http2 reuseport;
    ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location / {{
      proxy_pass http://bare; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
    }}
  }}
}}
"""

Start = Callable[[list[str]], subprocess.Popen[str]]
Figures = dict[str, list[float]]


@contextlib.contextmanager
def _origin(start: Start, folder: Path, host: str) -> Iterator[str]:
    """Run the bare server and nginx; yield nginx's url."""
    bare, port = free_port(), free_port()
    text = _NGINX.format(folder=folder, bare=bare, host=host, port=port)
    (folder / "nginx.conf").write_text(text)
    with contextlib.ExitStack() as stack:
        server = start([sys.executable, "-c", _ORIGIN, str(bare), str(_EVENTS)])
        stack.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == "up\n"
        nginx = start([need("nginx"), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")])
        stack.callback(nginx.terminate)
        time.sleep(0.5)
        assert nginx.poll() is None, (folder / "error.log").read_text()
        yield f"https://{host}:{port}"


def _request(url: str, http2: bool, path: str = "/v1/chat/completions") -> Request:
    headers = [(b"content-type", b"application/json"), (b"authorization", b"Bearer sk-0123456789abcdef")]
    return Request(method="POST", url=url + path, headers=headers, body=_BODY, http2=http2, connect_timeout_s=10)


async def _ask(client: Connections, request: Request) -> tuple[float, int]:
    """Return the milliseconds to the head, and the size of the answer."""
    started = time.perf_counter()
    response = await client.send(request)
    head_ms, size = (time.perf_counter() - started) * 1000, 0
    while (part := await response.read()) is not None:
        size += len(part)
    return head_ms, size


async def _far(url: str, ca_file: str, rounds: int) -> Figures:
    """Bursts on one warm connection, and calls one after the other."""
    found: Figures = {}
    for _ in range(rounds):
        for name, http2, warm in (("HTTP/1.1", False, 1), ("HTTP/1.1 prewarmed", False, _BURST), ("HTTP/2", True, 1)):
            client = Connections(ca_file=ca_file)
            request = _request(url, http2)
            await client.warm(url, warm, http2=http2)
            await _ask(client, request)
            burst = [ms for ms, _ in await asyncio.gather(*(_ask(client, request) for _ in range(_BURST)))]
            found.setdefault(f"{name}: burst of {_BURST}, head p50 ms", []).append(statistics.median(burst))
            found.setdefault(f"{name}: burst of {_BURST}, slowest head ms", []).append(max(burst))
            steady = [(await _ask(client, request))[0] for _ in range(3)]
            found.setdefault(f"{name}: one after the other, head ms", []).append(statistics.median(steady))
            await client.aclose()
    return found


async def _near(url: str, ca_file: str, rounds: int, seconds: float) -> Figures:
    """CPU per call with 1 and 16 at once, and per event with 16 streams at once."""
    found: Figures = {}
    for _ in range(rounds):
        for name, http2 in (("HTTP/1.1", False), ("HTTP/2", True)):
            client = Connections(ca_file=ca_file)
            for at_once in (1, 16):
                await asyncio.gather(*(_ask(client, _request(url, http2)) for _ in range(at_once)))
                count, end, cpu = 0, time.perf_counter() + seconds, time.process_time()

                async def work(client: Connections = client, http2: bool = http2, end: float = end) -> int:
                    done = 0
                    while time.perf_counter() < end:
                        assert (await _ask(client, _request(url, http2)))[1] == 1024
                        done += 1
                    return done

                count = sum(await asyncio.gather(*(work() for _ in range(at_once))))
                used = (time.process_time() - cpu) / count * 1e6
                found.setdefault(f"{name}: CPU us per call, {at_once} at once", []).append(used)
            cpu, started = time.process_time(), time.perf_counter()
            streams = [_ask(client, _request(url, http2, "/stream")) for _ in range(16)]
            sizes = [size for _, size in await asyncio.gather(*streams)]
            assert len(set(sizes)) == 1
            events = 16 * _EVENTS
            used = (time.process_time() - cpu) / events * 1e6
            found.setdefault(f"{name}: CPU us per event", []).append(used)
            found.setdefault(f"{name}: events/s of one core", []).append(1e6 / used)
            rate = events / (time.perf_counter() - started)
            found.setdefault(f"{name}: events/s seen", []).append(rate)
            await client.aclose()
    return found


def _run(work: Coroutine[Any, Any, Figures]) -> Figures:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def _show(found: Figures) -> None:
    for name in sorted(found):
        values = found[name]
        print(f"{name:48} {statistics.median(values):9.1f}   ({min(values):.1f} to {max(values):.1f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one-way", type=float, default=40.0, help="milliseconds to the far origin")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    os.environ.setdefault("WAN_LIFE_S", "600")
    with wan({"origin": options.one_way}) as net, tempfile.TemporaryDirectory() as name:
        host = net.address("origin")
        certificate, _ = make_certificate(Path(name), [host])
        with _origin(lambda command: net.start("origin", command), Path(name), host) as url, net.inside(HUB):
            print(f"far: {options.one_way:g} ms one way")
            _show(_run(_far(url, str(certificate), options.rounds)))
    with tempfile.TemporaryDirectory() as name:
        certificate, _ = make_certificate(Path(name), ["127.0.0.1"])

        def start(command: list[str]) -> subprocess.Popen[str]:
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        with _origin(start, Path(name), "127.0.0.1") as url:
            print("near: loopback")
            _show(_run(_near(url, str(certificate), max(1, options.rounds // 3), options.seconds)))


if __name__ == "__main__":
    main()
