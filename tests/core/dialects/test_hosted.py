from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.cacheable import BYPASS_REASONS
from edgeinf.core.dialects.hosted import hosted_tools, live_model, live_search


@pytest.mark.parametrize(
    ("tools", "wanted"),
    [
        (None, []),
        ("x", []),
        ([{"name": "f", "input_schema": {}}], []),
        ([{"type": "custom"}, {"type": "function"}, {"type": "bash_20250124"}], []),
        ([{"type": "web_search_20250305"}, {"type": "web_search"}], ["web-search"]),
        ([{"type": "mcp"}, {"type": "code_interpreter"}], ["mcp", "code-execution"]),
        ([{"type": "namespace", "tools": [{"type": "function"}, {"type": "mcp"}]}], ["mcp"]),
        ([{"type": "not_known_yet"}], ["hosted-tool"]),
        ([{"type": "function", "function": {"name": "$web_search"}}], ["hosted-tool"]),
        ([1, None, {"type": 5}], []),
    ],
)
def test_tools_that_the_origin_runs_are_found(tools: Any, wanted: list[str]) -> None:
    assert hosted_tools(tools) == wanted
    assert set(wanted) <= set(BYPASS_REASONS)


@pytest.mark.parametrize(
    ("model", "live"),
    [
        ("gpt-4o", False),
        ("openai/gpt-4o:online", True),
        ("gpt-4o-mini-search-preview", True),
        ("perplexity/sonar-pro", True),
        ("openai/gpt-5-search-api-2025-10-14", True),
        ("groq/compound-mini", True),
        ("compound-beta", True),
        ("acme/research-search", False),
        ("sonar/plain", False),
    ],
)
def test_models_that_search_by_themselves_are_known(model: str, live: bool) -> None:
    assert live_model(model) is live


@pytest.mark.parametrize(
    ("body", "live"),
    [
        ({}, False),
        ({"web_search_options": {}}, True),
        ({"enable_search": True}, True),
        ({"enable_search": False}, False),
    ],
    ids=repr,
)
def test_fields_that_turn_a_search_on_are_known(body: dict[str, Any], live: bool) -> None:
    assert live_search(body) is live
