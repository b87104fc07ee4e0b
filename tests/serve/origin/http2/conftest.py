"""A certificate and a client that trusts it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edgeinf.mock.tls import make_certificate
from edgeinf.serve.origin.pool import Connections
from tests.programs import need


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    need("openssl")
    return make_certificate(tmp_path_factory.mktemp("tls"), ["localhost", "127.0.0.1", "region.example"])


@pytest.fixture
async def client(certificate: tuple[Path, Path]) -> AsyncIterator[Connections]:
    made = Connections(ca_file=str(certificate[0]))
    yield made
    await made.aclose()
