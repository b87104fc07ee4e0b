"""A page of an origin that the config lists can call from a browser and read what comes; no other can."""

from __future__ import annotations

import pytest

from edgeinf.core.config.schema import Cache, Listen
from edgeinf.mock import MockOrigin
from edgeinf.serve.cross_origin import is_preflight, leave_to_call, leave_to_read
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import Proxy, chat, proxying, region

PAGE = "https://app.example"
LISTEN = Listen(allowed_origins=(PAGE,))
CHAT = "/v1/chat/completions"


async def preflight(proxy: Proxy, path: str = CHAT, origin: str = PAGE, **more: str) -> tuple[int, dict[str, str]]:
    """Ask as a browser asks before a POST with a key; return status and the headers of the protocol."""
    named = {f"access-control-request-{name.replace('_', '-')}": value for name, value in more.items()}
    headers = {"origin": origin, "sec-fetch-site": "cross-site", "access-control-request-method": "POST", **named}
    answer = await proxy.client.options(path, headers=headers)
    return answer.status_code, {n: v for n, v in answer.headers.items() if n.startswith("access-control-")}


async def test_a_listed_page_may_call_with_its_key_and_read_every_answer(origin: MockOrigin) -> None:
    async with proxying(region(origin, "r"), listen=LISTEN, auth=auth_for("acme"), cache=Cache(disk=None)) as proxy:
        status, said = await preflight(proxy, headers="authorization,content-type,x-stainless-os")
        assert status == 200
        assert said["access-control-allow-origin"] == PAGE
        assert said["access-control-allow-headers"] == "authorization,content-type,x-stainless-os"
        assert "POST" in said["access-control-allow-methods"]
        own = {"origin": PAGE, "sec-fetch-site": "cross-site"}
        for stream in (False, True):
            for expected in ("miss" if not stream else "hit", "hit", "hit"):
                answer = await proxy.client.post(CHAT, json=chat(stream=stream), headers={**own, **bearer("acme")})
                assert answer.headers["x-edgeinf-cache"] == expected
                assert answer.headers.get_list("access-control-allow-origin") == [PAGE]
                assert "Origin" in answer.headers["vary"]
        refused = await proxy.client.post(CHAT, json=chat(), headers=own)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)


async def test_no_other_page_hears_anything(origin: MockOrigin) -> None:
    async with proxying(region(origin, "r"), listen=LISTEN) as proxy:
        assert await preflight(proxy, origin="https://evil.example") == (403, {})
        answer = await proxy.client.post(CHAT, json=chat())
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        # without a question of a browser it is a method like any other
        options = await proxy.client.options(CHAT, headers={"origin": PAGE})
        assert (options.status_code, options.headers["access-control-allow-origin"]) == (405, PAGE)


async def test_what_is_relayed_may_be_read_too_whatever_the_origin_says_of_that(origin: MockOrigin) -> None:
    origin.use({"headers": {"access-control-allow-origin": "*", "access-control-expose-headers": "x-request-id"}})
    async with proxying(region(origin, "r"), listen=LISTEN) as proxy:
        assert (await preflight(proxy, "/v1/files"))[0] == 200
        assert not origin.calls
        for path in ("/v1/models", "/v1/files"):
            answer = await proxy.client.get(path, headers={"origin": PAGE})
            assert answer.headers.get_list("access-control-allow-origin") == [PAGE]
            assert answer.headers.get_list("access-control-expose-headers") == ["*"]


@pytest.mark.parametrize("path", ["/_edgeinf/", "/_edgeinf/api/events", "/metrics"])
async def test_the_dashboard_is_for_its_own_page(origin: MockOrigin, path: str) -> None:
    async with proxying(region(origin, "r"), listen=LISTEN) as proxy:
        assert (await preflight(proxy, path))[1] == {}
        answer = await proxy.client.get(path, headers={"origin": PAGE})
        assert "access-control-allow-origin" not in answer.headers


def test_a_private_network_is_allowed_for_where_that_is_asked() -> None:
    asked = {b"access-control-request-method": b"POST", b"access-control-request-private-network": b"true"}
    assert is_preflight("OPTIONS", asked)
    assert not is_preflight("POST", asked)
    assert not is_preflight("OPTIONS", {})
    assert (b"access-control-allow-private-network", b"true") in leave_to_call(asked)
    assert leave_to_read(b"https://a", [(b"x", b"y"), (b"access-control-allow-credentials", b"true")])[:2] == [
        (b"x", b"y"),
        (b"access-control-allow-origin", b"https://a"),
    ]
