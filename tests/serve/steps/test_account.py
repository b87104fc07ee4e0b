"""What a virtual key reaches beyond the dialects."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.mock import MockOrigin
from edgeinf.serve.steps.account import holds_account
from tests.serve.callers import auth_for, bearer
from tests.serve.running import config_for, running


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/files"),
        ("POST", "/v1/files"),
        ("DELETE", "/v1/files/f1"),
        ("GET", "/v1/batches"),
        ("POST", "/v1/messages/batches"),
        ("GET", "/v1/chat/completions/c1"),
        ("GET", "/v1/responses/r1"),
        ("DELETE", "/v1/responses/r1"),
        ("POST", "/v1/vector_stores"),
        ("POST", "/v1/fine_tuning/jobs"),
        ("DELETE", "/v1/models/ft:mine"),
        ("POST", "/v1/whatever-comes-next"),
    ],
    ids=lambda value: value,
)
def test_what_reads_or_changes_the_account_is_known_as_such(method: str, path: str) -> None:
    assert holds_account(method, path)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/models"), ("GET", "/v1/models/org/name"), ("POST", "/v1/moderations"), ("POST", "/v1/audio/speech")],
    ids=lambda value: value,
)
def test_what_only_computes_is_open(method: str, path: str) -> None:
    assert not holds_account(method, path)


async def test_only_a_key_with_account_reaches_the_account(tmp_path: Path, origin: MockOrigin) -> None:
    config = config_for(tmp_path, origin.url, auth=auth_for("plain", owner={"account": True}))
    async with running(config) as proxy:
        refused = await proxy.client.get("/v1/files", headers=bearer("plain"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "account_not_allowed")
        assert origin.calls == []
        await proxy.client.get("/v1/files", headers=bearer("owner"))
        assert len(origin.calls) == 1


async def test_a_path_cannot_climb_out_of_an_open_one(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for("plain"))) as proxy:
        for path in ("/v1/models/%2e%2e/files", "/v1/models/..%2ffiles", "/v1/models/x/..%5c..%5cfiles"):
            assert (await proxy.client.get(path, headers=bearer("plain"))).status_code in (400, 403)
    assert origin.calls == []


async def test_without_virtual_keys_every_path_is_the_clients_own_business(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        await proxy.client.get("/v1/files")
    assert len(origin.calls) == 1
