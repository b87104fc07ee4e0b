"""What is never looked up, and under which names that is found out."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.config.schema import Cache, Model
from edgeinf.mock import MockOrigin
from tests.serve.proxying import ask_chat, chat, proxying, region


@pytest.mark.parametrize(
    ("upstream", "cache"),
    [
        ("llama-3.1-8b", "hit"),
        ("perplexity/sonar-pro", "bypass"),
        ({"only": "gpt-5-search-api"}, "bypass"),
    ],
    ids=["a plain one", "one that searches", "one that searches in its region"],
)
async def test_a_model_that_searches_is_known_by_the_name_that_it_has_upstream(
    origin: MockOrigin, upstream: Any, cache: str
) -> None:
    models = (Model(name="m", upstream=upstream),)
    async with proxying(region(origin, "only"), cache=Cache(disk=None), models=models) as proxy:
        answers = [await ask_chat(proxy) for _ in range(3)]
    assert answers[-1].headers["x-edgeinf-cache"] == cache
    assert len(origin.calls) == (1 if cache == "hit" else 3)


async def test_what_the_config_allows_is_kept_under_any_name(origin: MockOrigin) -> None:
    allowing = Cache(disk=None, allow=("web-search",))
    models = (Model(name="m", upstream="sonar"),)
    async with proxying(region(origin, "only"), cache=allowing, models=models) as proxy:
        answers = [await proxy.post("/v1/chat/completions", chat(enable_search=True)) for _ in range(2)]
    assert answers[-1].headers["x-edgeinf-cache"] == "hit"
