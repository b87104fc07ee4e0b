"""GETs: the list of models for a minute, others as their caching headers say, what is polled never."""

from __future__ import annotations

import contextlib

import httpx
import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache
from edgeinf.core.wire.headers import Headers
from edgeinf.mock import MockOrigin
from edgeinf.serve.steps.kept_get import life_s
from tests.serve.proxying import Proxy, proxying, region

ONE = {"authorization": "Bearer sk-one-0123456789"}
TWO = {"authorization": "Bearer sk-two-0123456789"}


async def test_models_are_kept_for_a_minute_per_credential(origin: MockOrigin) -> None:
    clock = FakeClock()
    async with proxying(region(origin, "r", passthrough=True), cache=Cache(disk=None), clock=clock) as proxy:
        first = await proxy.client.get("/v1/models", headers=ONE)
        again = await proxy.client.get("/v1/models", headers=ONE)
        assert (first.headers["x-edgeinf-cache"], again.headers["x-edgeinf-cache"]) == ("miss", "hit")
        assert again.content == first.content
        assert again.headers["etag"] == first.headers["etag"]
        assert "x-request-id" not in again.headers
        await proxy.client.get("/v1/models", headers=TWO)
        await proxy.client.get("/v1/models", headers={**ONE, "anthropic-version": "2023-06-01"})
        assert len(origin.calls) == 3
        clock.advance(61)
        await proxy.client.get("/v1/models", headers=ONE)
        assert len(origin.calls) == 4


async def test_a_get_is_kept_only_where_its_headers_say_so(origin: MockOrigin, proxy: Proxy) -> None:
    for path in ("/v1/echo/plain", "/v1/echo/plain"):
        answer = await proxy.client.get(path, headers=ONE)
        assert answer.headers["x-edgeinf-cache"] == "bypass"
    origin.use({"headers": {"cache-control": "private, max-age=60"}})
    kinds = [(await proxy.client.get("/v1/echo/kept", headers=ONE)).headers["x-edgeinf-cache"] for _ in range(3)]
    assert kinds == ["miss", "hit", "hit"]
    assert len(origin.calls) == 3


@pytest.mark.parametrize(
    "path", ["/v1/responses/resp_1", "/v1/batches/b_1", "/v1/fine_tuning/jobs/j_1", "/v1/videos/v"]
)
async def test_what_is_polled_is_never_kept(path: str, origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"headers": {"cache-control": "max-age=60"}})
    for _ in range(2):
        assert (await proxy.client.get(path, headers=ONE)).headers["x-edgeinf-cache"] == "bypass"
    assert len(origin.calls) == 2


@pytest.mark.parametrize("header", ["range", "if-none-match", "cache-control"])
async def test_a_request_with_conditions_of_its_own_reaches_the_origin(
    header: str, origin: MockOrigin, proxy: Proxy
) -> None:
    value = {"range": "bytes=0-1", "if-none-match": '"x"', "cache-control": "no-cache"}[header]
    await proxy.client.get("/v1/models", headers=ONE)
    await proxy.client.get("/v1/models", headers={**ONE, header: value})
    assert len(origin.calls) == 2


async def test_an_error_is_not_kept(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"rules": [{"when": {"nth": 1}, "fault": "503"}]})
    assert (await proxy.client.get("/v1/models", headers=ONE)).status_code == 503
    assert (await proxy.client.get("/v1/models", headers=ONE)).status_code == 200


@pytest.mark.parametrize("fault", ["eof", "cut", "length;by=10"])
async def test_a_list_that_may_be_cut_short_is_not_kept(fault: str, origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"rules": [{"when": {"nth": 1}, "fault": fault}]})
    with contextlib.suppress(httpx.RemoteProtocolError):
        await proxy.client.get("/v1/models", headers=ONE)
    whole = await proxy.client.get("/v1/models", headers=ONE)
    assert whole.headers["x-edgeinf-cache"] == "miss"
    assert whole.json()["object"] == "list"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param([], 0, id="says nothing"),
        pytest.param([(b"cache-control", b"max-age=60")], 60, id="max-age"),
        pytest.param([(b"cache-control", b"public, MAX-AGE=60"), (b"age", b"20")], 40, id="aged on the way"),
        pytest.param([(b"cache-control", b"max-age=60, no-store")], 0, id="no-store"),
        pytest.param([(b"cache-control", b"max-age=60"), (b"vary", b"*")], 0, id="varies by anything"),
        pytest.param([(b"cache-control", b"max-age=60"), (b"vary", b"Cookie")], 0, id="varies by an unkeyed header"),
        pytest.param(
            [(b"cache-control", b"max-age=60"), (b"vary", b"Accept, Accept-Encoding")], 60, id="varies by keyed"
        ),
        pytest.param([(b"expires", b"Tue, 14 Nov 2023 22:14:20 GMT")], 60, id="expires"),
        pytest.param([(b"expires", b"0")], 0, id="expires never"),
        pytest.param([(b"cache-control", b"max-age=soon")], 0, id="nonsense"),
    ],
)
def test_the_life_of_a_get_is_what_its_headers_say(headers: Headers, seconds: float) -> None:
    assert life_s("/v1/files/f/content", headers, 1_700_000_000.0) == seconds
