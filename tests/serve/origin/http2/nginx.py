"""nginx with HTTP/2 before an origin: an implementation that is not ours and not the tests'."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.programs import need

__all__ = ["Front", "fronted"]

_CONFIG = """
daemon off;
master_process on;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  client_max_body_size 0;
  {more}
  upstream origin {{ server 127.0.0.1:{origin}; keepalive 64; }}
  server {{
    listen {host}:{port} ssl http2;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    location / {{
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
    }}
  }}
}}
"""


class Front:
    """A running nginx."""

    def __init__(self, url: str, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.url, self.process, self.folder = url, process, folder

    async def until(self, condition: Callable[[], object], within_s: float = 10.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - any condition, not one event
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def fronted(
    origin_port: int, certificate: tuple[Path, Path], folder: Path, *, more: str = ""
) -> AsyncIterator[Front]:
    """Run nginx before the port of an origin; ``more`` goes into its http section."""
    nginx = need("nginx")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    text = _CONFIG.format(
        folder=folder,
        host="127.0.0.1",
        port=port,
        origin=origin_port,
        certificate=certificate[0],
        key=certificate[1],
        more=more,
    )
    (folder / "nginx.conf").write_text(text)
    command = [nginx, "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    front = Front(f"https://localhost:{port}", process, folder)

    def listens() -> bool:
        assert process.returncode is None, (folder / "error.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    try:
        await front.until(listens)
        yield front
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 20)
