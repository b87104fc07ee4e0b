"""Fixtures of the probe's tests."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from edgeinf.mock.tls import make_certificate, server_context
from tests.programs import need


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for loopback (its own authority) and a context that serves it."""
    need("openssl")
    file, key = make_certificate(tmp_path_factory.mktemp("tls"))
    return file, server_context(file, key)
