"""Connections that do not behave."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from edgeinf.core.config.schema import Listen, Tls
from edgeinf.core.errors import ConfigError
from edgeinf.mock import MockOrigin
from edgeinf.serve.front import check_tls
from tests.programs import need
from tests.serve.running import chat, config_for, running

SOON = Listen(header_timeout=0.2)


async def connected(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection to a server."""
    host, port = url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return everything until the server closes."""
    async with asyncio.timeout(20):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"GET /healthz HT", b"HTTP/1.1 408", id="half-a-line"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: y", b"HTTP/1.1 408", id="half-a-head"),
        pytest.param(
            b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HT", b"HTTP/1.1 200", id="second-request"
        ),
    ],
)
async def test_a_head_that_does_not_come_ends_the_connection(
    tmp_path: Path, origin: MockOrigin, sent: bytes, answer: bytes
) -> None:
    async with running(config_for(tmp_path, origin.url, listen=SOON)) as proxy:
        reader, writer = await connected(proxy.url)
        writer.write(sent)
        assert (await ended(reader)).startswith(answer)
        writer.close()


async def test_a_head_that_comes_byte_by_byte_ends_in_time_all_the_same(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, listen=SOON)) as proxy:
        reader, writer = await connected(proxy.url)

        async def trickle() -> None:
            for byte in b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 10_000:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.005)

        trickling = asyncio.create_task(trickle())
        # The answer itself may be lost: whoever still writes to a closed connection is reset.
        assert b" 200 " not in await ended(reader)
        trickling.cancel()
        await asyncio.gather(trickling, return_exceptions=True)
        writer.close()


async def test_a_head_without_end_is_refused(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        reader, writer = await connected(proxy.url)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        try:
            for number in range(200):
                writer.write(b"x-%d: %b\r\n" % (number, b"y" * 2000))
                await writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            pass  # it was closed while we still wrote
        assert b" 200 " not in await ended(reader)
        writer.close()
        assert (await proxy.client.get("/healthz")).status_code == 200


async def test_a_body_that_stops_is_not_waited_for(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, listen=Listen(header_timeout=0.1))) as proxy:
        reader, writer = await connected(proxy.url)
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n"
        writer.write(head + b'{"model":')
        async with asyncio.timeout(20):
            assert b"408" in await reader.readline()
        writer.close()


async def test_a_slow_answer_and_a_kept_connection_are_no_slow_head(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"ttft": "600ms"})
    async with running(config_for(tmp_path, origin.url, listen=SOON)) as proxy:
        assert (await proxy.ask("one")).status_code == 200
        await asyncio.sleep(0.5)
        assert (await proxy.ask("two")).status_code == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """A certificate for localhost that signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = [need("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return Tls(cert=cert, key=key)


async def test_with_a_certificate_the_server_speaks_tls(tmp_path: Path, origin: MockOrigin, certificate: Tls) -> None:
    trust = ssl.create_default_context(cafile=str(certificate.cert))
    async with running(config_for(tmp_path, origin.url, listen=Listen(tls=certificate))) as proxy:
        async with httpx.AsyncClient(verify=trust, trust_env=False) as client:
            url = proxy.url.replace("http:", "https:")
            for stream in (False, True):
                answer = await client.post(f"{url}/v1/chat/completions", json=chat(stream=stream))
                assert answer.status_code == 200
        with pytest.raises(httpx.HTTPError):
            await proxy.client.get("/healthz")


def test_a_certificate_that_cannot_be_used_is_said(tmp_path: Path, certificate: Tls) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("junk")
    for cert, key in ((junk, certificate.key), (tmp_path / "none", certificate.key), (certificate.cert, junk)):
        with pytest.raises(ConfigError, match=r"listen\.tls"):
            check_tls(Tls(cert=cert, key=key))


async def test_what_comes_behind_a_body_is_no_header_of_the_request(tmp_path: Path, origin: MockOrigin) -> None:
    body = json.dumps(chat("trailer")).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%b\r\n0\r\n" % (len(body), body)
    trailer = b"x-edgeinf-namespace: n\r\nauthorization: Bearer behind\r\n"
    async with running(config_for(tmp_path, origin.url)) as proxy:
        for more in (b"", trailer):
            reader, writer = await connected(proxy.url)
            writer.write(head + chunk + more + b"\r\n")
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            got = await ended(reader)
            writer.close()
    assert got.startswith(b"HTTP/1.1 200")
    assert b"x-edgeinf-cache: hit" in got
    assert len(origin.calls) == 1


@pytest.mark.parametrize("pieces", [1, 2], ids=["at once", "body later"])
async def test_an_offer_of_another_protocol_is_passed_over(tmp_path: Path, origin: MockOrigin, pieces: int) -> None:
    """As Java's client makes it with every request to a plain http URL."""
    body = json.dumps(chat("Upgrade: h2c\r\n\r\nUpgrade: h2c")).encode()
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nHost: localhost\r\n"
        b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\ncontent-length: %d\r\n\r\n"
        % len(body)
    )
    async with running(config_for(tmp_path, origin.url)) as proxy:
        reader, writer = await connected(proxy.url)
        for _ in range(3):
            for piece in (head + body,) if pieces == 1 else (head, body):
                writer.write(piece)
                await asyncio.sleep(0.05)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        got = await ended(reader)
        writer.close()
    assert got.count(b"HTTP/1.1 200") == 4
    assert len(origin.calls) == 1
    assert json.loads(origin.calls[0].body) == json.loads(body)
