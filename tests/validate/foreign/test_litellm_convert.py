from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.validate.foreign.litellm_convert import convert
from tests.core.config.kit import look
from tests.validate.kit import codes, examined


def _model(name: str, **params: object) -> dict[str, object]:
    return {"model_name": name, "litellm_params": params}


def test_deployments_become_regions_and_groups(tmp_path: Path) -> None:
    tree = {
        "model_list": [
            _model("chat", model="openai/gpt-4o", api_key="os.environ/ONE"),
            _model("chat", model="groq/llama-3.1-8b", api_key="os.environ/TWO"),
            _model("small", model="openai/gpt-4o-mini", api_key="os.environ/ONE"),
            _model("home", model="ollama_chat/llama3.1:8b", api_base="http://10.0.0.9:11434"),
            _model("own", model="hosted_vllm/meta/llama", api_base="http://gpu.internal:8000/v1"),
            _model("writer", model="claude-sonnet-4-5"),
        ],
        "litellm_settings": {"fallbacks": [{"small": ["chat"]}]},
        "router_settings": {"num_retries": 3, "timeout": 60},
    }
    made = yaml.safe_load(convert(tree).text)
    assert {region["name"]: region["url"] for region in made["regions"]} == {
        "openai": "https://api.openai.com/v1",
        "groq": "https://api.groq.com/openai/v1",
        "ollama": "http://10.0.0.9:11434/v1",
        "gpu.internal-8000": "http://gpu.internal:8000/v1",
        "anthropic": "https://api.anthropic.com/v1",
    }
    models = {model["name"]: model for model in made["models"]}
    assert models["chat"]["upstream"] == {"openai": "gpt-4o", "groq": "llama-3.1-8b"}
    assert models["own"]["upstream"] == {"gpu.internal-8000": "meta/llama"}
    assert models["small"]["fallback"] == ["chat"]
    assert made["routing"]["failover"]["attempts"] == 4
    assert made["regions"][4]["serves"] == ["anthropic"]
    assert codes(examined(convert(tree).text, tmp_path, env=None)) == []


def test_two_credentials_are_two_regions() -> None:
    keys = ("os.environ/ONE", "os.environ/TWO")
    made = yaml.safe_load(convert({"model_list": [_model("a", model="openai/x", api_key=key) for key in keys]}).text)
    assert [(region["name"], region["api_key"]) for region in made["regions"]] == [
        ("openai", "${ONE}"),
        ("openai-2", "${TWO}"),
    ]


def test_a_credential_in_the_clear_becomes_a_variable_and_a_note() -> None:
    made = convert({"model_list": [_model("a", model="openai/x", api_key="hunter2")]})
    assert "hunter2" not in made.text
    assert "${OPENAI_API_KEY}" in made.text
    assert any("in the clear" in note for note in made.notes)
    assert not any("hunter2" in note for note in made.notes)


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"model_list": [_model("a", model="bedrock/x")]}, "bedrock"),
        ({"model_list": [_model("*", model="openai/*")]}, "wildcard"),
        ({"model_list": [{"model_name": "a"}]}, "left out"),
        ({"general_settings": {"master_key": "x", "database_url": "y"}}, "edgeinf keys new"),
        ({"litellm_settings": {"cache": True, "cache_params": {"type": "redis-semantic"}}}, "semantic"),
        ({"router_settings": {"routing_strategy": "cost-based-routing"}}, "cost-based-routing"),
        ({"guardrails": [1]}, "guardrails"),
        ({}, "no deployment was found"),
    ],
)
def test_what_has_no_counterpart_is_said(tree: dict[str, object], said: str) -> None:
    assert any(said in note for note in convert(tree).notes)


def test_fallbacks_that_would_go_in_a_circle_are_cut(tmp_path: Path) -> None:
    tree = {
        "model_list": [_model("a", model="openai/a"), _model("b", model="openai/b")],
        "router_settings": {"fallbacks": [{"a": ["b"]}, {"b": ["a"]}]},
    }
    assert look(convert(tree).text, tmp_path, env=None).errors == ()


_NAMES = st.text("ab-*/:. é'\"{}#\n", min_size=1, max_size=6)
_PARAMS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["openai/", "groq/", "ollama/", "azure/", "xx/", ""]).flatmap(
            lambda p: _NAMES.map(lambda n: p + n)
        )
    },
    optional={
        "api_key": st.sampled_from(["os.environ/K", "secret-value", "", None, 5]),
        "api_base": st.sampled_from(["http://h:1/v1", "https://h.example", "os.environ/BASE"]),
        "weight": st.integers(0, 9),
        "rpm": st.integers(),
    },
)


@given(
    st.lists(st.tuples(_NAMES, _PARAMS), max_size=5),
    st.lists(st.dictionaries(_NAMES, st.lists(_NAMES, max_size=2), max_size=2), max_size=3),
)
@settings(max_examples=200, deadline=None)
def test_whatever_their_names_are_the_result_is_yaml_with_the_same_names(
    models: list[tuple[str, dict[str, object]]], fallbacks: list[dict[str, list[str]]]
) -> None:
    tree = {
        "model_list": [_model(name, **params) for name, params in models],
        "router_settings": {"fallbacks": fallbacks},
    }
    made = yaml.safe_load(convert(tree).text)
    assert {model["name"] for model in made.get("models", [])} <= {name for name, _ in models}
    assert "secret-value" not in convert(tree).text
