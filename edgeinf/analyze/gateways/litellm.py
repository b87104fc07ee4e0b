"""LiteLLM's exact cache: the OpenAI parameters it knows, in the order given, in Python's text form."""

from __future__ import annotations

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]

_KNOWN = frozenset(
    {
        "model", "messages", "prompt", "input", "temperature", "top_p", "n", "stream", "stream_options", "stop",
        "max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs",
        "top_logprobs", "user", "seed", "tools", "tool_choice", "functions", "function_call", "response_format",
        "parallel_tool_calls", "modalities", "prediction", "audio", "reasoning_effort", "store", "service_tier",
        "dimensions", "encoding_format", "suffix", "echo", "best_of", "web_search_options",
    }
)  # fmt: skip


def _material(raw: bytes, call: Call) -> bytes:
    return "".join(f"{name}: {value}" for name, value in call.body.items() if name in _KNOWN).encode(
        "utf-8", "surrogatepass"
    )


GATEWAY = Gateway(
    name="litellm",
    scope="shared",
    note="tenants share; vendor parameters such as num_ctx or guided_json do not count; order of keys and stream split",
    material=_material,
)
