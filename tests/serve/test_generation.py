"""What a config means: which origins a call may go to, and when a change starts cold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Cache, Config, Context, Message, Model, PromptRule, Region
from edgeinf.core.errors import ConfigError
from edgeinf.serve.generation import make_generation
from tests.serve.callers import auth_for

EAST = Region(name="east", url="http://east.example/v1", serves=("openai", "anthropic"))
WEST = Region(name="west", url="http://west.example/v1", serves=("openai",))
CONFIG = Config(regions=(EAST, WEST), cache=Cache(disk=None))


def group(config: Config, model: str = "m", family: str = "openai") -> str:
    return make_generation(config).group(family, model)


def with_east(**changes: Any) -> Config:
    return replace(CONFIG, regions=(replace(EAST, **changes), WEST))


@pytest.mark.parametrize(
    "changed",
    [
        with_east(url="http://other.example/v1"),
        with_east(headers={"x-mode": "fast"}),
        replace(CONFIG, regions=(EAST,)),
        replace(CONFIG, models=(Model(name="m", upstream="n"),)),
        replace(CONFIG, models=(Model(name="m", upstream={"east": "n", "west": "m"}),)),
        replace(CONFIG, models=(Model(name="m", adapter="polite"),)),
        replace(CONFIG, models=(Model(name="m", regions=("east",)),)),
    ],
    ids=["url", "headers", "regions", "upstream", "upstream-of-one", "adapter", "regions-of-model"],
)
def test_what_can_change_an_answer_starts_cold(changed: Config) -> None:
    assert group(changed) != group(CONFIG)


@pytest.mark.parametrize(
    "changed",
    [
        with_east(api_key=Secret("sk-another-key-0123456789")),
        with_east(weight=5.0),
        with_east(location="eu-central-1"),
        with_east(max_concurrency=3),
        replace(CONFIG, models=(Model(name="other", upstream="n"),)),
        replace(CONFIG, models=(Model(name="m", fallback=("other",)), Model(name="other"))),
        replace(CONFIG, auth=auth_for("anna")),
        replace(CONFIG, cache=Cache(disk=None, ttl=5.0)),
    ],
    ids=["key", "weight", "location", "slots", "other-model", "fallback", "auth", "ttl"],
)
def test_what_cannot_stays_warm(changed: Config) -> None:
    assert group(changed) == group(CONFIG)


def test_a_group_names_no_secret_and_tells_families_apart() -> None:
    key = "sk-another-key-0123456789"
    assert key not in group(with_east(api_key=Secret(key)))
    assert group(CONFIG, family="openai") != group(CONFIG, family="anthropic")


def test_a_family_goes_only_where_it_is_served() -> None:
    generation = make_generation(CONFIG)
    assert [origin.name for origin in generation.origins_for("openai", "m")] == ["east", "west"]
    assert [origin.name for origin in generation.origins_for("anthropic", "m")] == ["east"]
    assert generation.origins_for("rerank", "m") == []


def test_every_generation_has_a_number_of_its_own() -> None:
    assert make_generation(CONFIG).number < make_generation(CONFIG).number


def test_any_number_of_model_names_is_asked_for_without_growing_for_ever() -> None:
    generation = make_generation(CONFIG)
    names = {generation.group("openai", f"model {number}") for number in range(5000)}
    assert len(generation._groups) <= 4096
    assert len(names) >= 1


def test_forwarded_headers_are_keyed_in_one_order_and_case() -> None:
    one = make_generation(replace(CONFIG, cache=Cache(disk=None, forward_headers=("X-B", "x-a"))))
    two = make_generation(replace(CONFIG, cache=Cache(disk=None, forward_headers=("X-A", "x-b"))))
    assert one.forward_headers == two.forward_headers == (b"x-a", b"x-b")
    assert {b"x-a", b"x-b"} <= set(one.read_headers)


def test_without_keys_anybody_with_a_credential_may_ask() -> None:
    assert make_generation(CONFIG).bearers is None
    assert make_generation(replace(CONFIG, auth=auth_for())).bearers is None
    assert make_generation(replace(CONFIG, auth=auth_for("anna"))).bearers is not None


@pytest.mark.parametrize(
    "rule",
    [
        PromptRule(prepend=(Message(content_file=Path("/nothing/here.txt")),)),
        PromptRule(context=Context(source=Path("/nothing/here"))),
    ],
    ids=["file", "documents"],
)
def test_what_a_config_names_must_be_there(rule: PromptRule) -> None:
    with pytest.raises(ConfigError, match="nothing"):
        make_generation(replace(CONFIG, prompt=(rule,)))
