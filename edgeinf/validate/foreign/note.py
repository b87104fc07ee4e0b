"""A finding about another tool's config before it has a place, and careful access to values of any shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from edgeinf.core.config.diagnostic import KeyPath

__all__ = ["Note", "at", "list_of", "mapping"]


@dataclass(frozen=True, slots=True)
class Note:
    """What was found at ``path``."""

    code: str
    path: KeyPath
    message: str
    label: str | None = None
    help: str | None = None
    related: tuple[tuple[str, KeyPath], ...] = ()
    error: bool = True
    at_key: bool = False


def mapping(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield (path, item) of a list; nothing for what is none."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index), item


def at(value: Any, *path: str) -> Any:
    """Return what is below ``path``, or None."""
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value
