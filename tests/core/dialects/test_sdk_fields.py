"""No field of the SDKs' published request types is unknown to its dialect.

When this fails after an update of an SDK, somebody must decide: can the new field change the answer? Then it is keyed
(which an unknown field is anyway); else it is unkeyed, with the reason in the design. A nested field is added to
``nested_fields.json`` after the same thought; a tool that the origin runs, to ``hosted.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import message_create_params as messages
from anthropic.types.beta import message_create_params as beta_messages
from openai.types import (
    completion_create_params,
    embedding_create_params,
    image_generate_params,
    moderation_create_params,
)
from openai.types.audio import speech_create_params
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params

from edgeinf.core.dialects import by_name
from edgeinf.core.dialects.hosted import hosted_tools
from tests.core.dialects.sdk_types import fields_of, nested_types, type_literals

_NESTED: dict[str, list[str]] = json.loads(Path(__file__).with_name("nested_fields.json").read_text())
_TYPES: list[tuple[str, str, Any]] = [
    ("chat", "openai-chat", chat_params.CompletionCreateParams),
    ("completions", "openai-completions", completion_create_params.CompletionCreateParams),
    ("embeddings", "openai-embeddings", embedding_create_params.EmbeddingCreateParams),
    ("responses", "openai-responses", response_create_params.ResponseCreateParams),
    ("messages", "anthropic-messages", messages.MessageCreateParams),
    ("beta messages", "anthropic-messages", beta_messages.MessageCreateParams),
    ("images", "opaque", image_generate_params.ImageGenerateParams),
    ("moderations", "opaque", moderation_create_params.ModerationCreateParams),
    ("speech", "opaque", speech_create_params.SpeechCreateParams),
]
_WITH_TOOLS = [case for case in _TYPES if case[0] in ("chat", "responses", "messages", "beta messages")]


def cases(types: list[tuple[str, str, Any]]) -> list[Any]:
    """Return (dialect, type) pairs for parametrising."""
    return [pytest.param(dialect, kind, id=name) for name, dialect, kind in types]


@pytest.mark.parametrize(("dialect", "kind"), cases(_TYPES))
def test_every_field_is_classified_once(dialect: str, kind: Any) -> None:
    api = by_name(dialect)
    published = fields_of(kind)
    assert len(published) > 1
    assert not published - api.keyed_fields - api.unkeyed
    assert not api.keyed_fields & api.unkeyed


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, _, kind in _WITH_TOOLS], ids=[c[0] for c in _WITH_TOOLS]
)
def test_every_nested_field_was_looked_at(name: str, kind: Any) -> None:
    nested = {field for fields in nested_types(kind).values() for field in fields}
    assert not nested - set(_NESTED[name])


@pytest.mark.parametrize(("dialect", "kind"), cases(_WITH_TOOLS))
def test_every_kind_of_tool_is_known(dialect: str, kind: Any) -> None:
    tools = next(fields["tools"] for fields in nested_types(kind).values() if "tools" in fields)
    kinds = type_literals(tools)
    assert "custom" in kinds
    assert [each for each in kinds if "hosted-tool" in hosted_tools([{"type": each}])] == []


def test_the_markers_of_a_cache_are_classified() -> None:
    marks = {name for names in _NESTED.values() for name in names if "cache" in name}
    out = {"cache_control", "prompt_cache_key", "prompt_cache_retention"}
    assert marks == out | {"prompt_cache_options", "prompt_cache_breakpoint", "use_cache"}
