"""Certificates for the occasion."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock import MockOrigin
from edgeinf.mock.tls import make_certificate, server_context
from tests.mock.http_client import read_reply, request_bytes
from tests.programs import need


async def test_an_origin_speaks_https_to_clients_that_trust_its_certificate(tmp_path: Path) -> None:
    need("openssl")
    certificate, key = make_certificate(tmp_path)
    async with MockOrigin(tls=server_context(certificate, key)) as origin:
        trusting = ssl.create_default_context(cafile=str(certificate))
        reader, writer = await asyncio.open_connection("127.0.0.1", origin.port, ssl=trusting)
        writer.write(request_bytes("GET", "/v1/models"))
        reply = await asyncio.wait_for(read_reply(reader), 10)
        writer.close()
        await writer.wait_closed()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", origin.port, ssl=ssl.create_default_context())

    assert origin.url.startswith("https://127.0.0.1:")
    assert reply.status == 200


def test_the_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    need("openssl")
    _, key = make_certificate(tmp_path, ("example.test", "::1"))

    assert key.stat().st_mode & 0o077 == 0


def test_without_openssl_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="openssl command is needed") as caught:
        make_certificate(tmp_path)
    assert "--tls-cert" in str(caught.value.hint)


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.pem").write_text("no")
    with pytest.raises(UsageError, match=r"x\.pem"):
        server_context(tmp_path / "x.pem", tmp_path / "x.pem")
