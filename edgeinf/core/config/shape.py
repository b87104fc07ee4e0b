"""What the schema allows at a path: the keys, and where a misplaced key belongs."""

from __future__ import annotations

import dataclasses
import difflib
import types as python_types
import typing
from functools import cache
from typing import Any

from edgeinf.core.config import schema
from edgeinf.core.config.diagnostic import KeyPath, dotted

__all__ = ["belongs", "keys_of", "listed", "nearest", "section_at", "where"]

_OTHERS_WORDS = {
    "upstreams": "regions",
    "upstream_url": "url",
    "backends": "regions",
    "providers": "regions",
    "endpoints": "regions",
    "base_url": "url",
    "api_base": "url",
    "endpoint": "url",
    "token": "api_key",
    "key": "api_key",
    "max_age": "ttl",
    "expire": "ttl",
    "expiry": "ttl",
    "rpm": "requests",
    "tpm": "tokens",
    "max_parallel_requests": "concurrency",
    "fallbacks": "fallback",
    "model_name": "name",
    "model_list": "models",
    "redis": "shared",
    "bind": "host",
    "address": "host",
    "size": "max_size",
    "rate_limits": "limits",
    "redis_url": "shared",
    "seconds": "ttl",
}
"""Names of other tools, and ours."""


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls, include_extras=True)


def keys_of(cls: type) -> list[str]:
    """Return the keys that a mapping of the config may have."""
    return [field.name.rstrip("_") for field in dataclasses.fields(cls)]


def _field_type(cls: type, key: str) -> Any:
    hints = _hints(cls)
    return hints.get(key, hints.get(key + "_"))


def _inside(annotation: Any, part: str | int, value: object) -> Any:
    """Return the annotation of one item or key below ``annotation``, None if there is none."""
    for option in _options(annotation):
        if isinstance(option, type) and dataclasses.is_dataclass(option) and isinstance(part, str):
            if isinstance(value, dict):
                return _field_type(option, part)
        elif typing.get_origin(option) is tuple and isinstance(part, int):
            return typing.get_args(option)[0]
        elif typing.get_origin(option) is dict and isinstance(part, str):
            return typing.get_args(option)[1]
    return None


def _options(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) in (typing.Union, python_types.UnionType):
        return [inner for arm in typing.get_args(annotation) for inner in _options(arm)]
    return [annotation]


def section_at(tree: object, path: KeyPath) -> type | None:
    """Return the class of the mapping at ``path``, None where the schema has no mapping with fixed keys."""
    annotation: Any = schema.Config
    for part in path:
        annotation = _inside(annotation, part, tree)
        if annotation is None:
            return None
        try:
            tree = tree[part]  # type: ignore[index]  # a path leads through containers
        except (KeyError, IndexError, TypeError):
            tree = None
    for option in _options(annotation):
        if isinstance(option, type) and dataclasses.is_dataclass(option):
            return option
    return None


@cache
def _homes() -> dict[str, list[str]]:
    homes: dict[str, list[str]] = {}

    def walk(cls: type, path: str) -> None:
        for field in dataclasses.fields(cls):
            key = field.name.rstrip("_")
            homes.setdefault(key, []).append(path)
            annotation = _field_type(cls, key)
            for option in _options(annotation):
                many = typing.get_origin(option) is tuple
                inner = typing.get_args(option)[0] if many else option
                for cls_inner in _options(inner):
                    if isinstance(cls_inner, type) and dataclasses.is_dataclass(cls_inner):
                        walk(cls_inner, f"{path}.{key}".lstrip(".") + ("[]" if many else ""))

    walk(schema.Config, "")
    return homes


_EVERYWHERE = (
    "enabled",
    "name",
    "path",
    "file",
    "url",
    "key",
)  # words that are tried anywhere say nothing of their home


def belongs(key: str, path: KeyPath) -> str | None:
    """Return where ``key`` would be right, if that is one place and not the mapping at ``path``."""
    here = "".join("[]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
    homes = [home for home in _homes().get(key, []) if home != here]
    if key in _EVERYWHERE or not homes or len(homes) > 2:
        return None
    return " or ".join(home or "the top level" for home in homes)


def nearest(key: str, allowed: list[str]) -> str | None:
    """Return the one allowed word that ``key`` is probably meant to be."""
    folded = key.lower().replace("-", "_")
    if folded in allowed:
        return folded
    near = difflib.get_close_matches(folded, allowed, n=1, cutoff=0.6)
    if near:
        return near[0]
    other = _OTHERS_WORDS.get(folded)
    return other if other in allowed else None


def listed(words: list[str], most: int = 8) -> str:
    """Write the allowed words, the first eight of them."""
    shown = ", ".join(words[:most])
    return f"{shown} … and {len(words) - most} more" if len(words) > most else shown


def where(path: KeyPath) -> str:
    """Name the mapping at ``path`` in a sentence."""
    return f"in {dotted(path)}" if path else "at the top level"
