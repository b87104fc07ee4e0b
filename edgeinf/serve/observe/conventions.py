"""Every name that traces and metrics carry to a collector, in one place.

OpenTelemetry semantic conventions: generative AI (version 1.37 of the registry), HTTP, and errors; what they have no
name for is under ``edgeinf.``.
"""

from __future__ import annotations

from typing import Final

__all__ = ["METRICS", "OPERATIONS", "PROVIDERS", "Name"]


class Name:
    """Attribute names."""

    OPERATION: Final = "gen_ai.operation.name"
    PROVIDER: Final = "gen_ai.provider.name"
    REQUEST_MODEL: Final = "gen_ai.request.model"
    INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
    TOKEN_TYPE: Final = "gen_ai.token.type"
    ERROR_TYPE: Final = "error.type"
    METHOD: Final = "http.request.method"
    ROUTE: Final = "http.route"
    STATUS: Final = "http.response.status_code"
    SERVER_ADDRESS: Final = "server.address"
    SERVER_PORT: Final = "server.port"
    CACHE: Final = "edgeinf.cache.outcome"
    TIER: Final = "edgeinf.cache.tier"
    LEVEL: Final = "edgeinf.cache.level"
    REASON: Final = "edgeinf.cache.reason"
    REGION: Final = "edgeinf.region"
    ATTEMPT: Final = "edgeinf.attempt"
    REQUEST_ID: Final = "edgeinf.request.id"
    TENANT: Final = "edgeinf.tenant"
    USD: Final = "edgeinf.usd"
    USD_SAVED: Final = "edgeinf.usd_saved"


# dialect -> (operation, provider)
OPERATIONS: dict[str, str] = {
    "openai-chat": "chat",
    "openai-completions": "text_completion",
    "openai-responses": "chat",
    "openai-embeddings": "embeddings",
    "anthropic-messages": "chat",
    "rerank": "rerank",
}
PROVIDERS: dict[str, str] = {"anthropic-messages": "anthropic", "rerank": "cohere"}

# name -> (unit, description, bounds of its buckets)
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0)
METRICS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "gen_ai.client.token.usage": ("{token}", "Tokens used, input and output apart", _TOKENS),
    "gen_ai.server.request.duration": ("s", "From a request's head to its last byte", _SECONDS),
    "gen_ai.server.time_to_first_token": ("s", "From a request's head to its first token", _SECONDS),
    "gen_ai.server.time_per_output_token": ("s", "Between tokens after the first", tuple(s / 10 for s in _SECONDS)),
}
