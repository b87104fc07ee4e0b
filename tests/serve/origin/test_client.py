"""The interface, and that what implements it does."""

from __future__ import annotations

import inspect

import pytest

from edgeinf.serve.origin import client
from edgeinf.serve.origin.client import Client, OriginFailure
from edgeinf.serve.origin.http2.pool import Multiplexed
from edgeinf.serve.origin.pool import Connections


@pytest.mark.parametrize("kind", [Connections, Multiplexed])
@pytest.mark.parametrize("name", [n for n, f in vars(Client).items() if inspect.isfunction(f) and n[0] != "_"])
def test_each_pool_has_every_method_of_the_interface(name: str, kind: type[Client]):
    wanted, found = inspect.signature(getattr(Client, name)), inspect.signature(getattr(kind, name))
    assert list(found.parameters) == list(wanted.parameters)
    assert inspect.iscoroutinefunction(getattr(Client, name)) == inspect.iscoroutinefunction(getattr(kind, name))


@pytest.mark.parametrize("name", ["ConnectFailed", "ConnectionLost", "Malformed"])
def test_every_failure_is_an_origins(name: str):
    assert issubclass(getattr(client, name), OriginFailure)
