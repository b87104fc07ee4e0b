"""Fixtures that all tests share."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import Cache
from edgeinf.mock import MockOrigin, ThreadedOrigin
from tests.serve.proxying import Proxy, proxying, region

# Whoever runs the tests in the background may have an interrupt ignored, and so would every command they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public traces and log samples beside the checkout; skips where it is absent."""
    if not (_SHARED / "data").is_dir():
        pytest.skip("no ../shared")
    return _SHARED / "data"


@pytest.fixture
async def origin() -> AsyncIterator[MockOrigin]:
    """A scripted origin on the test's loop; ``origin.use({...})`` sets its script."""
    async with MockOrigin() as mock:
        yield mock


@pytest.fixture
async def make_origin() -> AsyncIterator[Callable[..., Awaitable[MockOrigin]]]:
    """Start as many scripted origins as a test wants: ``east = await make_origin({"name": "east"})``."""
    async with AsyncExitStack() as stack:

        async def make(script: Any = None, **options: Any) -> MockOrigin:
            return await stack.enter_async_context(MockOrigin(script, **options))

        yield make


@pytest.fixture
def origin_thread() -> Iterator[ThreadedOrigin]:
    """A scripted origin on a thread of its own, for tests that are not asynchronous."""
    with ThreadedOrigin() as mock:
        yield mock


@pytest.fixture
async def proxy(origin: MockOrigin) -> AsyncIterator[Proxy]:
    """A proxy as it is by default, but without a disk, before ``origin``: the client's own credential goes there."""
    async with proxying(region(origin, "only", passthrough=True), cache=Cache(disk=None)) as running:
        yield running
