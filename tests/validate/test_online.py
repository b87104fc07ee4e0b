from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from edgeinf.mock import ThreadedOrigin
from edgeinf.mock.tls import make_certificate
from edgeinf.validate.check import Options, check
from edgeinf.validate.online import with_online
from tests.core.config.kit import ENV, TODAY


@contextmanager
def server(*models: str, key: str | None = None, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server that lists models, for whoever has the key; yields its address and the requests it had."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            given = self.headers.get("Authorization")
            code = 401 if key is not None and given != f"Bearer {key}" else status
            body = json.dumps({"data": [{"id": model} for model in models]}).encode() if code == 200 else b"{}"
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_port}", asked
        finally:
            httpd.shutdown()
            thread.join()


def asked(text: str, tmp_path: Path) -> list[tuple[str, int]]:
    """Return (code, line) of what the regions say."""
    options = Options(env=ENV, today=TODAY)
    report, seen = check(text, "edgeinf.yaml", base=tmp_path, options=options)
    assert report.diagnostics == ()
    assert seen is not None
    online = with_online(report, seen, options)
    return [(d.code, d.span.line if d.span else 0) for d in online.diagnostics]


def test_regions_that_serve_what_is_said_are_fine_and_get_no_completion(tmp_path: Path) -> None:
    with server("llama", "lora", key=ENV["A_KEY"]) as (one, requests), server("meta/llama", "lora") as (two, _):
        text = f"""\
regions:
  - {{name: a, url: {one}/v1, api_key: '${{A_KEY}}'}}
  - {{name: b, url: {two}}}
models:
  - {{name: bot, upstream: {{a: llama, b: meta/llama}}, adapter: lora, regions: [a, b]}}
"""
        assert asked(text, tmp_path) == []
        assert requests == ["GET /v1/models"]


def test_a_region_that_lacks_the_groups_model_or_adapter_is_named_where_it_is_written(tmp_path: Path) -> None:
    with server("llama", "lora") as (one, _), server("other") as (two, _):
        text = f"""\
regions:
  - {{name: a, url: {one}}}
  - {{name: b, url: {two}}}
models:
  - name: bot
    upstream: llama
    adapter: lora
    regions: [a, b]
  - name: own
    upstream:
      a: llama
      b: llama-b
    regions: [a, b]
"""
        assert asked(text, tmp_path) == [("O104", 6), ("O105", 7), ("O104", 12)]


def test_a_refused_credential_is_an_error_and_a_missing_one_is_unknown(tmp_path: Path) -> None:
    with server("m", key="another") as (url, _):
        refused = f"regions:\n  - name: a\n    url: {url}\n    api_key: '${{A_KEY}}'\n"
        assert asked(refused, tmp_path) == [("O103", 4)]
        assert asked(f"regions:\n  - name: a\n    url: {url}\n    passthrough: true\n", tmp_path) == [("U102", 3)]


def test_a_key_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "k").write_text("from-the-file\n")
    with server("m", key="from-the-file") as (url, _):
        assert asked(f"regions: [{{name: a, url: {url}, api_key_file: k}}]\n", tmp_path) == []


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_region_without_a_list_of_models_is_unknown(status: int, tmp_path: Path) -> None:
    with server(status=status) as (url, _):
        assert asked(f"regions: [{{name: a, url: {url}}}]\n", tmp_path) == [("U102", 1)]


def test_a_name_that_does_not_resolve_and_a_port_where_nobody_is(tmp_path: Path) -> None:
    text = "regions:\n  - {name: a, url: 'https://nothing.invalid'}\n  - {name: b, url: 'http://127.0.0.1:1'}\n"
    first, second = asked(text, tmp_path)
    assert first in (("O101", 2), ("U101", 2))  # without a name server nobody can tell
    assert second == ("U101", 3)


def test_a_certificate_that_nobody_vouches_for_is_an_error(tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with ThreadedOrigin(tls=context) as origin:
        assert asked(f"regions: [{{name: a, url: 'https://127.0.0.1:{origin.port}'}}]\n", tmp_path) == [("O102", 1)]
