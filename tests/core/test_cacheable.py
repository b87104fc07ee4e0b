from __future__ import annotations

import math
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.cacheable import BYPASS_REASONS, CachePolicy, bypass_reason, lifetime_s
from edgeinf.core.config.schema import Allowance
from edgeinf.core.dialects import by_name

_ANY = CachePolicy()


def reason(policy: CachePolicy = _ANY, **fields: Any) -> str | None:
    """Return why a chat call with these fields bypasses."""
    api = by_name("openai-chat")
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    return bypass_reason(api.read("/v1/chat/completions", "", body), api, policy)


@pytest.mark.parametrize(
    ("most", "temperature", "wanted"),
    [
        (None, 2, None),
        (None, None, None),
        (0, 0, None),
        (0, 0.1, "temperature"),
        (0, None, "temperature"),
        (1, 1, None),
    ],
)
def test_sampled_answers_are_kept_up_to_the_most_that_the_config_allows(
    most: float | None, temperature: float | None, wanted: str | None
) -> None:
    fields = {} if temperature is None else {"temperature": temperature}
    assert reason(CachePolicy(max_temperature=most), **fields) == wanted


def test_what_is_allowed_by_name_is_no_bypass_and_the_next_reason_holds() -> None:
    fields: dict[str, Any] = {"store": True, "plugins": [1]}
    assert reason(**fields) == "store"
    assert reason(CachePolicy(allow=frozenset({"store"})), **fields) == "plugins"
    assert reason(CachePolicy(allow=frozenset({"store", "plugins"})), **fields) is None


def test_the_config_allows_by_the_same_names() -> None:
    settled_elsewhere = {"opaque", "temperature", "no-user"}
    assert set(get_args(Allowance)) == set(BYPASS_REASONS) - settled_elsewhere


@given(st.floats(1, 1e9), st.floats(0, 1), st.binary(min_size=8, max_size=32))
def test_a_life_is_shortened_by_at_most_the_jitter_and_by_the_key_alone(
    ttl: float, jitter: float, spread: bytes
) -> None:
    life = lifetime_s(ttl, jitter, spread)
    assert ttl * (1 - jitter) <= life <= ttl
    assert life == lifetime_s(ttl, jitter, spread)


def test_without_jitter_or_end_a_life_is_the_ttl() -> None:
    assert lifetime_s(10, 0, b"\xff" * 8) == 10
    assert lifetime_s(math.inf, 0.1, b"\xff" * 8) == math.inf


@pytest.mark.parametrize(
    ("name", "path", "body", "wanted"),
    [
        ("openai-embeddings", "/v1/embeddings", {"model": "m", "input": "a"}, None),
        ("rerank", "/v1/rerank", {"model": "m", "query": "q", "documents": []}, None),
        ("opaque", "/v1/moderations", {"input": "a"}, None),
        ("opaque", "/v1/images/generations", {"model": "gpt-image-1", "prompt": "a"}, "temperature"),
        ("openai-responses", "/v1/responses", {"model": "m", "input": "a"}, "temperature"),
        ("openai-completions", "/v1/completions", {"model": "m", "prompt": "a", "temperature": 0}, None),
    ],
)
def test_what_is_not_sampled_has_no_temperature_to_exceed(
    name: str, path: str, body: dict[str, Any], wanted: str | None
) -> None:
    api = by_name(name)
    assert bypass_reason(api.read(path, "", body), api, CachePolicy(max_temperature=0)) == wanted
