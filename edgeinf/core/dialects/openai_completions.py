"""OpenAI's legacy completions: ``POST /v1/completions``, with several prompts and fill-in-the-middle.

Source: openai-python ``types/completion_create_params.py`` and ``types/completion.py``. Prompts and suffixes are exact
at every level: a trailing space decides what comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import (
    Rewrite,
    require,
    require_stream,
    str_or_none,
    whole_or_value_error,
)
from edgeinf.core.dialects.chunked import Chunked
from edgeinf.core.dialects.completions_folding import fold_texts, unfold_texts
from edgeinf.core.dialects.hosted import live_model
from edgeinf.core.dialects.openai_common import UNKEYED, positive_int
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["DIALECT"]

_KEYED = frozenset(
    {
        "model", "prompt", "best_of", "echo", "frequency_penalty", "logit_bias", "logprobs", "max_tokens", "n",
        "presence_penalty", "seed", "stop", "suffix", "temperature", "top_p",
    }
)  # fmt: skip


class OpenAICompletions(Chunked):
    """The completions dialect."""

    name = "openai-completions"
    family = "openai"
    paths = frozenset({"/v1/completions"})
    unkeyed = UNKEYED
    keyed_fields = _KEYED

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        model = require(body, "model", str, "a text")
        prompt = body.get("prompt")
        if prompt is not None and not isinstance(prompt, str | list):
            raise CallError("'prompt' must be a text or a list", code="invalid_value", param="prompt")
        limit = body.get("max_tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model,
            body=body,
            stream=require_stream(body),
            choices=(positive_int(body, "n") or 1) * _prompts(prompt),
            user=str_or_none(body.get("user")) or str_or_none(body.get("safety_identifier")),
            max_output_tokens=limit if isinstance(limit, int) else None,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        return [{field: value for field, value in call.body.items() if field not in UNKEYED}]

    def bypass(self, call: Call) -> list[str]:
        reasons = ["web-search"] if live_model(call.model) else []
        if call.body.get("plugins"):
            reasons.append("plugins")
        return reasons

    @whole_or_value_error
    def fold(self, events: Sequence[Event]) -> bytes:
        return fold_texts(events)

    @whole_or_value_error
    def unfold(self, body: bytes) -> list[Event]:
        return unfold_texts(body)


def _prompts(prompt: object) -> int:
    """Return how many prompts there are; a list of token numbers is one."""
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
        return len(prompt)
    return 1


DIALECT = OpenAICompletions()
