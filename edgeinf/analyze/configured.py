"""The analysis of one's own proxy: what a config says of keys, scopes, expiry and prices."""

from __future__ import annotations

from typing import Any

from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.config.schema import Config

__all__ = ["from_config"]


def from_config(config: Config) -> dict[str, Any]:
    """Return the options that a config decides, by name of ``Options``."""
    cache = config.cache
    notes = []
    bounded = cache.memory is not None and cache.memory.max_entries is not None
    alone = cache.disk is None and cache.shared is None
    if config.prompt:
        notes.append("prompt rules add to requests what the log does not show; equal requests stay equal")
    if cache.stale_if_error or cache.stale_while_revalidate:
        notes.append("stale answers, served while the origin fails or is asked again, are not counted as hits")
    return {
        "level": cache.level,
        "scope": None if config.auth is None and cache.scope == "key" else cache.scope,
        "policy": CachePolicy(
            ttl_s=cache.ttl,
            ttl_jitter=cache.ttl_jitter,
            max_temperature=cache.max_temperature,
            allow=frozenset(cache.allow),
        ),
        "max_entries": cache.memory.max_entries if bounded and alone and cache.memory is not None else None,
        "masks": tuple(cache.mask),
        "prices": dict(config.prices),
        "notes": tuple(notes),
    }
