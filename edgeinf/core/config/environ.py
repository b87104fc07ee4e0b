"""Values that ``EDGEINF_SECTION__KEY`` sets over the file: ``EDGEINF_LISTEN__PORT``, ``EDGEINF_REGIONS__0__URL``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.scalars import resolve

__all__ = ["PREFIX", "overrides", "place"]

PREFIX = "EDGEINF_"


def overrides(env: Mapping[str, str]) -> Iterator[tuple[str, KeyPath, Any]]:
    """Yield (variable, path, value) in the order of names. A value in brackets is read as YAML."""
    for name in sorted(env):
        if name.startswith(PREFIX) and "__" in name[len(PREFIX) :]:
            parts = name[len(PREFIX) :].lower().split("__")
            path = tuple(int(part) if part.isdecimal() and len(part) < 4 else part for part in parts)
            yield name, path, _value(env[name])


def _value(text: str) -> Any:
    if text[:1] not in ("[", "{"):
        return resolve(text)
    from edgeinf.core.config.source import read_source

    read = read_source(f"value: {text}", "environment")
    return text if read.broken or read.faults else read.tree["value"]


def place(tree: dict[str, Any], path: KeyPath, value: object) -> bool:
    """Set ``value`` at ``path``, making mappings on the way; return False where the path does not fit the tree."""
    at: Any = tree
    for index, part in enumerate(path):
        last = index == len(path) - 1
        if isinstance(part, int):
            if not isinstance(at, list) or part >= len(at):
                return False
            if last:
                at[part] = value
        elif not isinstance(at, dict):
            return False
        elif last:
            at[part] = value
        elif at.get(part) is None:
            at[part] = {}
        at = at[part]
    return True
