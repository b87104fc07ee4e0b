"""How a command reaches a running server, and what it says of whatever else listens there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from edgeinf.core.errors import RemoteError
from edgeinf.serve.operator import ask, server_url


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve each connection with ``serve`` on a thread."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    serve(connection)
                except OSError:
                    pass

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def answering(answer: bytes) -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        connection.settimeout(10)
        connection.recv(65536)
        connection.sendall(answer)

    return serve


def reply(status: str, body: bytes, *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *more, "", ""]
    return "\r\n".join(head).encode() + body


def test_where_nobody_listens_there_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    assert ask(f"http://127.0.0.1:{port}", "/x") is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is no edgeinf"),
        (b"", "is no edgeinf"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", "is no edgeinf"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 500 + b"\r\n", "is no edgeinf"),
        (reply("200 OK", b"<html>"), "is no edgeinf"),
        (reply("200 OK", b"[]"), "is no edgeinf"),
        (reply("200 OK", b'"text"'), "is no edgeinf"),
        (reply("200 OK", b"\xff"), "is no edgeinf"),
        (reply("404 Not Found", b"{}"), "refused: 404"),
        (reply("401 Unauthorized", b"{}"), "refused: 401"),
        (reply("500 Broken", b"{}"), "refused: 500"),
        (reply("302 Found", b"", "location: http://127.0.0.1:9/"), "refused: 302"),
    ],
    ids=["ssh", "closed", "cut", "headers", "html", "list", "text", "bytes", "404", "401", "500", "redirect"],
)
def test_whatever_else_listens_is_said_and_is_no_bug(answer: bytes, said: str) -> None:
    with listening(answering(answer)) as url, pytest.raises(RemoteError, match=said) as refused:
        ask(url, "/_edgeinf/api/stats")
    assert url in refused.value.message
    assert ("EDGEINF_ADMIN_KEY" in (refused.value.hint or "")) == (b"401" in answer)


def test_the_key_goes_to_the_server_it_is_for_and_follows_no_redirect() -> None:
    heard: list[bytes] = []

    def keep(connection: socket.socket) -> None:
        heard.append(connection.recv(65536))
        connection.sendall(reply("200 OK", b"{}"))

    with listening(keep) as elsewhere:
        sent = answering(reply("307 Elsewhere", b"", f"location: {elsewhere}/"))
        with listening(sent) as url, pytest.raises(RemoteError, match="307"):
            ask(url, "/x", body={"all": True}, admin_key="sk-of-the-admin")
        assert heard == []
        assert ask(elsewhere, "/x", admin_key="sk-of-the-admin") == {}
    assert b"authorization: bearer sk-of-the-admin" in heard[0].lower()


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")

    class Here(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Here) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert ask(f"http://127.0.0.1:{server.server_port}", "/x", body={"key": "k"}) == {"key": "k"}
        thread.join(10)


@pytest.mark.parametrize(
    ("host", "tls", "url"),
    [
        ("127.0.0.1", False, "http://127.0.0.1:80"),
        ("0.0.0.0", False, "http://127.0.0.1:80"),
        ("", True, "https://127.0.0.1:80"),
        ("::", False, "http://[::1]:80"),
        ("::1", False, "http://[::1]:80"),
        ("inference.lan", True, "https://inference.lan:80"),
    ],
)
def test_a_server_is_reached_from_its_own_machine(host: str, tls: bool, url: str) -> None:
    assert server_url(host, 80, tls=tls) == url
