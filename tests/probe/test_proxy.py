import contextlib
import random
import socket
import threading
from collections.abc import Iterator

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock import ThreadedOrigin
from edgeinf.probe.address import parse_url
from edgeinf.probe.figures import figures
from edgeinf.probe.proxy import Proxy, proxy_for
from edgeinf.probe.request import Asked, make_request
from edgeinf.probe.sample import Client
from edgeinf.probe.transport import Route
from tests.probe.made import QUICK, ask, target_of

_FAR = parse_url("https://api.example.com/v1")


@pytest.mark.parametrize(
    ("url", "no_proxy", "used"),
    [
        ("https://api.example.com", "", True),
        ("https://api.example.com", "example.com", False),
        ("https://api.example.com", ".example.com", False),
        ("https://api.example.com", "other.com, *", False),
        ("https://api.example.com", "api.example.com:8443", True),
        ("https://10.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "192.168.0.0/16,not a network", True),
        ("https://127.0.0.1", "", False),
        ("https://localhost", "", False),
    ],
)
def test_the_environment_is_honoured_when_asked(url, no_proxy, used):
    environment = {"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": no_proxy}
    assert (proxy_for(parse_url(url), "env", environment) is not None) is used


def test_the_environment_does_not_count_unless_asked():
    assert proxy_for(_FAR, None, {"HTTPS_PROXY": "http://proxy.example:3128"}) is None


def test_a_dead_proxy_in_the_environment_does_no_harm(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with ThreadedOrigin({}) as origin:
        assert ask(origin.url).error is None


def test_a_proxys_credential_is_not_shown():
    proxy = Proxy("http://user:hunter22@proxy.example:3128")
    assert proxy.shown == "http://proxy.example:3128"
    assert proxy.headers[0][1].startswith("Basic ")


def test_only_plain_http_proxies_are_known():
    with pytest.raises(UsageError, match="must be an http:// URL"):
        Proxy("socks5://proxy.example:1080")


@contextlib.contextmanager
def _tunnel(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Be a proxy for one connection: read CONNECT, answer, then carry bytes both ways."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)

        def serve() -> None:
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                with client:
                    seen.append(client.recv(65536))
                    client.sendall(answer)
                    if b"200" not in answer:
                        return
                    host, port = seen[0].split(b" ")[1].decode().rsplit(":", 1)
                    with socket.create_connection((host, int(port)), 10) as far:
                        back = threading.Thread(target=_carry, args=(far, client), daemon=True)
                        back.start()
                        _carry(client, far)
                        back.join(10)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", seen
        thread.join(10)


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def _through(url: str, proxy: str, ca: str | None = None):
    target = target_of(url)
    client = Client(target, Route(proxy=proxy, ca=ca, timeouts=QUICK))
    attempt = client.attempt(make_request(target, Asked(), random.Random(1)), round=0, phase="cold")
    client.close()
    return attempt


def test_https_goes_through_a_tunnel_with_a_phase_of_its_own(certificate):
    authority, context = certificate
    with (
        ThreadedOrigin({}, tls=context) as origin,
        _tunnel(b"HTTP/1.1 200 Connection established\r\n\r\n") as (proxy, seen),
    ):
        attempt = _through(origin.url, proxy, str(authority))
    assert attempt.error is None, attempt.detail
    assert seen[0].startswith(b"CONNECT 127.0.0.1:")
    assert figures(attempt)["proxy_ms"] > 0


def test_a_refused_tunnel_is_its_own_class(certificate):
    with _tunnel(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n") as (proxy, _):
        attempt = _through("https://127.0.0.1:9", proxy)
    assert attempt.error == "proxy"
    assert "407" in attempt.detail


def test_plain_http_names_the_whole_url_to_the_proxy():
    with ThreadedOrigin({}) as origin:
        place = parse_url(origin.url)
        attempt = _through("http://somewhere.example/v1", f"http://127.0.0.1:{place.port}")
        assert attempt.status is not None
        host = origin.calls[0].headers["host"]
    assert host == "somewhere.example"
