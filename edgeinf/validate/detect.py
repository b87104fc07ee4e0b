"""What a machine offers to a first config: provider keys in the environment, and servers of models on loopback."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

__all__ = ["LOCAL", "PROVIDERS", "Local", "Provider", "local_servers", "providers"]

_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A hosted API: the variables its SDKs read, its address, the API it speaks."""

    name: str
    variables: tuple[str, ...]
    url: str
    serves: str = "openai"


PROVIDERS = (
    Provider(name="openai", variables=("OPENAI_API_KEY",), url="https://api.openai.com/v1"),
    Provider(
        name="anthropic", variables=("ANTHROPIC_API_KEY",), url="https://api.anthropic.com/v1", serves="anthropic"
    ),
    Provider(name="groq", variables=("GROQ_API_KEY",), url="https://api.groq.com/openai/v1"),
    Provider(name="mistral", variables=("MISTRAL_API_KEY",), url="https://api.mistral.ai/v1"),
    Provider(name="together", variables=("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"), url="https://api.together.ai/v1"),
    Provider(name="deepseek", variables=("DEEPSEEK_API_KEY",), url="https://api.deepseek.com/v1"),
    Provider(name="openrouter", variables=("OPENROUTER_API_KEY",), url="https://openrouter.ai/api/v1"),
    Provider(name="fireworks", variables=("FIREWORKS_API_KEY",), url="https://api.fireworks.ai/inference/v1"),
    Provider(name="xai", variables=("XAI_API_KEY",), url="https://api.x.ai/v1"),
    Provider(
        name="gemini",
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        url="https://generativelanguage.googleapis.com/v1beta/openai",
    ),
)
"""Hosted APIs that speak a dialect this server fronts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A server on this machine, and the models it says it has."""

    name: str
    port: int
    models: tuple[str, ...] = ()


LOCAL = (
    Local(name="ollama", port=11434),
    Local(name="vllm", port=8000),
    Local(name="llama-cpp", port=8080),
    Local(name="lmstudio", port=1234),
    Local(name="sglang", port=30000),
)
"""Where servers of models listen unless told otherwise."""


def providers(env: Mapping[str, str]) -> list[tuple[Provider, str]]:
    """Return each provider whose variable is set, with the variable's name."""
    found = []
    for provider in PROVIDERS:
        name = next((name for name in provider.variables if env.get(name, "").strip()), None)
        if name is not None:
            found.append((provider, name))
    return found


def local_servers(candidates: Sequence[Local] = LOCAL) -> list[Local]:
    """Return the servers on loopback that list models, asked at once, each for half a second at most."""
    with ThreadPoolExecutor(max_workers=len(candidates) or 1) as pool:
        return [found for found in pool.map(_listens, candidates) if found is not None]


def _listens(candidate: Local) -> Local | None:
    connection = http.client.HTTPConnection("127.0.0.1", candidate.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/v1/models")
        response = connection.getresponse()
        body = json.loads(response.read(1_000_000)) if response.status == 200 else {}
        models = tuple(str(item["id"]) for item in body["data"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None  # nobody there, or not a server of models
    finally:
        connection.close()
    return Local(name=candidate.name, port=candidate.port, models=models)
