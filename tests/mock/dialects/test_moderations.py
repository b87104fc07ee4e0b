"""Moderations."""

from __future__ import annotations

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask


async def test_each_input_has_its_verdict(origin: MockOrigin) -> None:
    several = (await ask(origin, "/v1/moderations", {"input": ["fine", "forbidden thing"]})).json
    one = (await ask(origin, "/v1/moderations", {"input": [{"type": "text", "text": "fine"}]})).json

    assert [result["flagged"] for result in several["results"]] == [False, True]
    assert [result["flagged"] for result in one["results"]] == [False]
