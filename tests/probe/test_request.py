import random

import msgspec
import pytest

from edgeinf.probe.request import (
    DIALECTS,
    FEW_TOKENS,
    Asked,
    head_request,
    least_effort,
    make_request,
    models_request,
)
from tests.probe.made import target_of


def _body(dialect: str = "openai-chat", model: str = "gpt-4o-mini", **asked: object) -> dict[str, object]:
    target = target_of("https://api.example.com/v1", dialect, model=model)
    return msgspec.json.decode(make_request(target, Asked(**asked), random.Random(1)).body)


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        ("gpt-4o-mini", None),
        ("gpt-5-mini", "minimal"),
        ("openai/gpt-5", "minimal"),
        ("gpt-5.1", "none"),
        ("o3-mini", "low"),
        ("gpt-oss-20b", "low"),
        ("llama-3.1-8b", None),
    ],
)
def test_a_model_that_reasons_is_asked_for_the_least(model, effort):
    assert least_effort(model) == effort
    assert _body(model=model).get("reasoning_effort") == effort


def test_the_limit_has_the_name_that_the_model_knows():
    assert _body()["max_tokens"] == FEW_TOKENS
    assert _body(model="gpt-5")["max_completion_tokens"] == FEW_TOKENS
    assert _body(model="gpt-5", old_limit=True)["max_tokens"] == FEW_TOKENS
    assert _body("anthropic-messages")["max_tokens"] == FEW_TOKENS
    assert _body("openai-responses")["max_output_tokens"] == FEW_TOKENS


@pytest.mark.parametrize("dialect", [name for name, _ in DIALECTS.values()])
def test_every_prompt_carries_a_nonce_unless_caches_are_the_point(dialect):
    target, rng = target_of("https://api.example.com/v1", dialect), random.Random(1)
    bodies = {make_request(target, Asked(), rng).body for _ in range(3)}
    assert len(bodies) == 3
    assert len({len(b) for b in bodies}) == 1, "each is of the same size"
    assert len({make_request(target, Asked(cached=True), rng).body for _ in range(3)}) == 1


def test_usage_is_asked_for_and_nothing_is_stored():
    assert _body()["stream_options"] == {"include_usage": True}
    assert _body("openai-responses")["store"] is False


def test_a_ping_carries_neither_credential_nor_own_headers():
    target = target_of("https://api.example.com/v1", key="sk-1", headers=(("X-Token", "t"),))
    names = {name.lower() for name, _ in head_request(target).headers}
    assert not names & {"authorization", "x-token", "x-api-key"}
    assert ("Authorization", "Bearer sk-1") in models_request(target).headers
