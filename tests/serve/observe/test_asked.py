from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from tests.serve.running import Proxy, config_for, running


async def explained(proxy: Proxy, text: str, path: str = "/v1/chat/completions", **more: Any) -> dict[str, Any]:
    """Return what the server says of a body that nobody sent."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    answer = await proxy.client.post("/_edgeinf/api/explain", json={"path": path, "body": body})
    assert answer.status_code == 200, answer.text
    assert text not in answer.text
    return answer.json()  # type: ignore[no-any-return]


async def test_a_body_is_compared_with_what_was_asked(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        assert (await explained(proxy, "first-words"))["why"] == "nothing like it among the recent requests"
        await proxy.ask("first-words")
        sent = origin.calls
        body = (await proxy.ask("first-words")).request.content
        again = await proxy.client.post(
            "/_edgeinf/api/explain",
            content=b'{"path": "/v1/chat/completions", "body": %b}' % body,
            headers={"content-type": "application/json"},
        )
        assert again.json()["why"] == "asked before, as level safe sees it"
        assert again.json()["merged_at"] == "safe"
        assert again.json()["levels"]["safe"]["seen"] == 2
        assert len(again.json()["levels"]["exact"]["keys"]) == 1
        assert origin.calls == sent


async def test_the_nearest_request_and_the_parts_that_differ_are_named(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        sent = (await proxy.ask("same-words")).request.content
        other = {**json.loads(sent), "temperature": 0.5}
        answer = (await proxy.client.post("/_edgeinf/api/explain", json={"body": other})).json()
        assert answer["merged_at"] is None
        assert answer["parts"] == [{"path": "temperature", "verdict": "differs"}]
        assert answer["why"].startswith("the nearest recent request differs in 1 of")
        assert answer["nearest"]["dialect"] == "openai-chat"


async def test_why_a_body_is_never_cached_is_said(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        answer = await explained(proxy, "some-words", store=True, plugins=[1])
        assert answer["why"] == "never cached: store, plugins"
        assert answer["bypass"] == [{"reason": "store"}, {"reason": "plugins"}]


@pytest.mark.parametrize(
    ("document", "status", "param"),
    [
        ({"path": "/v1/nothing", "body": {}}, 400, "path"),
        ({"path": 5, "body": {}}, 400, "path"),
        ({"body": "x"}, 400, "body"),
        ({"body": {}}, 400, "model"),
    ],
)
async def test_what_is_no_body_is_refused(
    origin: MockOrigin, tmp_path: Path, document: Any, status: int, param: str
) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        answer = await proxy.client.post("/_edgeinf/api/explain", json=document)
        assert answer.status_code == status
        assert answer.json()["error"]["param"] == param


async def test_a_form_cannot_ask(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        answer = await proxy.client.post("/_edgeinf/api/explain", content=b"{}", headers={"content-type": "text/plain"})
        assert answer.status_code == 415
