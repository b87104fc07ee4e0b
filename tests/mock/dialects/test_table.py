"""Which dialect answers a path."""

from __future__ import annotations

import pytest

from edgeinf.mock.dialects import opaque
from edgeinf.mock.dialects.table import DIALECTS, dialect_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "openai_chat"),
        ("/openai/v1/chat/completions", "openai_chat"),
        ("/v1/completions", "openai_completions"),
        ("/v1/messages", "anthropic_messages"),
        ("/v1/messages/count_tokens", "anthropic_messages"),
        ("/v1/responses/resp_1/cancel", "openai_responses"),
        ("/v2/rerank", "rerank"),
        ("/v1/models/a/b", "models"),
        ("/v1/files/file-1/content", "files"),
        ("/v1/audio/speech", "audio"),
        ("/metrics", "vllm"),
        ("/v1/messages/batches/x", "files"),
        ("/v1/vector_stores", "opaque"),
    ],
)
def test_a_path_finds_its_dialect_under_any_prefix(path: str, name: str) -> None:
    assert dialect_of(path).__name__.endswith(f".{name}")


@pytest.mark.parametrize("dialect", [*DIALECTS.values(), opaque], ids=lambda module: module.__name__.split(".")[-1])
def test_every_dialect_offers_answers_and_errors(dialect: object) -> None:
    assert {"answer", "error"} <= set(dialect.__all__)  # type: ignore[attr-defined]
