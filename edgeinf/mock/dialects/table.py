"""Which dialect answers a path. A new API is one file and one line here."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast

from edgeinf.mock.dialects import (
    anthropic_messages,
    audio,
    files,
    images,
    models,
    moderations,
    opaque,
    openai_chat,
    openai_completions,
    openai_embeddings,
    openai_responses,
    rerank,
    vllm,
)
from edgeinf.mock.dialects.base import Dialect

__all__ = ["DIALECTS", "dialect_of"]

# Searched in the path, so that an origin may live under any prefix (/v1, /openai/v1, none). The first match holds.
DIALECTS: dict[str, object] = {
    r"/chat/completions$": openai_chat,
    r"/completions$": openai_completions,
    r"/messages(/count_tokens)?$": anthropic_messages,
    r"/responses(/|$)": openai_responses,
    r"/embeddings$": openai_embeddings,
    r"/(rerank|score)$": rerank,
    r"/moderations$": moderations,
    r"/audio/(speech|transcriptions|translations)$": audio,
    r"/images/(generations|edits|variations)$": images,
    r"/(files|batches)(/|$)": files,
    r"/models(/|$)": models,
    r"/(metrics|health|load_lora_adapter|unload_lora_adapter)$": vllm,
}


@lru_cache(maxsize=512)
def dialect_of(path: str) -> type[Dialect]:
    """Return the dialect for a path; what no dialect claims is opaque."""
    for pattern, dialect in DIALECTS.items():
        if re.search(pattern, path):
            return cast("type[Dialect]", dialect)
    return cast("type[Dialect]", opaque)
