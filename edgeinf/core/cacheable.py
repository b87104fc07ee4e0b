"""May this call be looked up, may this answer be kept, and for how long?"""

from __future__ import annotations

import math

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Dialect

__all__ = ["BYPASS_REASONS", "CachePolicy", "bypass_reason", "lifetime_s"]

# Every reason a dialect may give, with what a person reads. ``cache.allow`` takes these names.
BYPASS_REASONS: dict[str, str] = {
    "store": "the origin stores this call, so it has a side effect",
    "previous-response": "the answer depends on an earlier response that the origin holds",
    "conversation": "the answer depends on a conversation that the origin holds",
    "background": "the origin answers in the background",
    "container": "the answer depends on a container that the origin holds",
    "stored-prompt": "a stored prompt without a version may change",
    "web-search": "the origin searches the web, whose answer changes",
    "web-fetch": "the origin fetches from the web, whose content changes",
    "search-parameters": "the origin searches live data",
    "plugins": "the origin runs plugins",
    "file-search": "the origin searches files that may change",
    "code-execution": "the origin runs code",
    "computer-use": "the origin's answer depends on a computer's state",
    "image-generation": "the origin makes an image, each its own",
    "tool-search": "the origin searches its tools",
    "advisor": "the origin asks another model",
    "mcp": "the origin calls tools of other servers",
    "shell": "the origin runs commands",
    "hosted-tool": "the origin may run a tool of a type that is not known here",
    "url-inputs": "an input is named by URL, and what is there may change",
    "opaque": "this path is relayed as it is",
    "temperature": "sampled above cache.max_temperature",
    "no-user": "scope user, but the call names no user",
}


class CachePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the config says of keeping answers; times in seconds, shares 0 to 1."""

    ttl_s: float = 86400.0
    ttl_jitter: float = 0.1
    max_temperature: float | None = None
    allow: frozenset[str] = frozenset()


def bypass_reason(call: Call, dialect: Dialect, policy: CachePolicy) -> str | None:
    """Return why a call may be neither looked up nor stored, or None if it may."""
    for reason in dialect.bypass(call):
        if reason not in policy.allow:
            return reason
    if policy.max_temperature is not None and not dialect.deterministic(call):
        temperature = call.body.get("temperature")
        if not isinstance(temperature, int | float) or temperature > policy.max_temperature:
            return "temperature"  # an absent temperature is the origin's own, which samples
    return None


def lifetime_s(ttl_s: float, jitter: float, spread: bytes) -> float:
    """Return how long an answer lives: the ttl, shortened by a share that its key alone decides.

    Deriving the share from the key keeps it the same on every node and in a simulation; entries stored together
    still end apart. ``spread`` is the key's unscoped digest.
    """
    if not jitter or math.isinf(ttl_s):
        return ttl_s
    share = int.from_bytes(spread[:8], "big") / 2**64
    return ttl_s * (1.0 - jitter * share)
