"""The request that is sent: cheap, the same size each time, with a nonce that no cache has seen."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from edgeinf import __version__
from edgeinf.core.call import Call
from edgeinf.core.dialects import by_name
from edgeinf.probe.address import call_path, parse_url
from edgeinf.probe.values import Target

__all__ = ["DIALECTS", "Asked", "Request", "head_request", "make_request", "models_request"]

# what people write -> (the dialect's name, the path it is called at)
DIALECTS: dict[str, tuple[str, str]] = {
    "chat": ("openai-chat", "/v1/chat/completions"),
    "responses": ("openai-responses", "/v1/responses"),
    "anthropic": ("anthropic-messages", "/v1/messages"),
    "embeddings": ("openai-embeddings", "/v1/embeddings"),
}
_PATHS = dict(DIALECTS.values())

PROMPT = "Count from one to twenty in words."
FEW_TOKENS, MORE_TOKENS = 16, 256

# Models that reason unless told not to, and the least that each family accepts.
_EFFORTS = (
    (re.compile(r"gpt-5(?:-\d{4}.*|-mini.*|-nano.*|)$"), "minimal"),
    (re.compile(r"gpt-5\.\d"), "none"),
    (re.compile(r"o\d(?:$|-)"), "low"),
    (re.compile(r"gpt-oss"), "low"),
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user wants to ask: the prompt, how many tokens, whether caches may answer."""

    prompt: str = PROMPT
    max_tokens: int = FEW_TOKENS
    cached: bool = False
    old_limit: bool = False  # the server does not know ``max_completion_tokens``
    effort: bool = True


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request; ``call`` is None where no completion is asked for."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    call: Call | None = None


def make_request(target: Target, asked: Asked, rng: random.Random) -> Request:
    """Return a completion request for a target. With ``cached`` it is the same one each time."""
    nonce = "" if asked.cached else f"{rng.getrandbits(64):016x} "
    body = _BODIES[target.dialect](target.model, nonce + asked.prompt, asked)
    path = _PATHS[target.dialect]
    place = parse_url(target.url)
    call = by_name(target.dialect).read(path, "", body)
    headers = (("Content-Type", "application/json"), *_credential(target))
    return Request(
        method="POST",
        path=call_path(place.path, path),
        headers=(*_common(target), *headers),
        body=msgspec.json.encode(body),
        call=call,
    )


def head_request(target: Target) -> Request:
    """Return a request that any HTTP server answers without work, and that carries no credential."""
    return Request(method="HEAD", path=parse_url(target.url).path or "/", headers=_common(target, own=False))


def models_request(target: Target) -> Request:
    """Return a request for the list of models."""
    path = call_path(parse_url(target.url).path, "/v1/models")
    return Request(method="GET", path=path, headers=(*_common(target), *_credential(target)))


def _common(target: Target, *, own: bool = True) -> tuple[tuple[str, str], ...]:
    return (
        ("Host", parse_url(target.url).authority),
        ("User-Agent", f"edgeinf-probe/{__version__}"),
        ("Accept", "*/*"),
        ("Accept-Encoding", "identity"),
        *(target.headers if own else ()),
    )


def _credential(target: Target) -> tuple[tuple[str, str], ...]:
    if target.dialect == "anthropic-messages":
        version = (("anthropic-version", "2023-06-01"),)
        return (*version, ("x-api-key", target.key)) if target.key else version
    return (("Authorization", f"Bearer {target.key}"),) if target.key else ()


def least_effort(model: str) -> str | None:
    """Return the lowest reasoning effort that a model accepts, None where it has no such knob."""
    name = model.rsplit("/", 1)[-1].lower()
    return next((effort for pattern, effort in _EFFORTS if pattern.match(name)), None)


def _chat(model: str, prompt: str, asked: Asked) -> dict[str, Any]:
    effort = least_effort(model) if asked.effort else None
    new = effort is not None and not asked.old_limit
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_completion_tokens" if new else "max_tokens": asked.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        **({"reasoning_effort": effort} if effort else {}),
    }


def _responses(model: str, prompt: str, asked: Asked) -> dict[str, Any]:
    effort = least_effort(model) if asked.effort else None
    return {
        "model": model,
        "input": prompt,
        "max_output_tokens": asked.max_tokens,
        "stream": True,
        "store": False,
        **({"reasoning": {"effort": effort}} if effort else {}),
    }


def _messages(model: str, prompt: str, asked: Asked) -> dict[str, Any]:
    messages = [{"role": "user", "content": prompt}]
    return {"model": model, "messages": messages, "max_tokens": asked.max_tokens, "stream": True}


def _embeddings(model: str, prompt: str, asked: Asked) -> dict[str, Any]:
    return {"model": model, "input": prompt}


_BODIES: Mapping[str, Any] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _messages,
    "openai-embeddings": _embeddings,
}
