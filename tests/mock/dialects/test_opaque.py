"""What no dialect claims."""

from __future__ import annotations

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask


async def test_an_unknown_path_is_refused_and_an_echo_returns_its_bytes(origin: MockOrigin) -> None:
    refused = await ask(origin, "/v1/nothing", {"a": 1})
    echoed = await ask(origin, "/v1/echo/x", b"\x00\xff", headers={"content-type": "image/png"})

    assert refused.status == 404
    assert "POST /v1/nothing" in refused.json["error"]["message"]
    assert (echoed.body, echoed.headers["content-type"]) == (b"\x00\xff", "image/png")
