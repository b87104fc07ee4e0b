"""API families, one per file. A file that sets ``DIALECT`` is found here; nothing else needs to be told."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from edgeinf.core.dialects.base import Dialect

__all__ = ["by_name", "dialects", "for_path"]


@cache
def dialects() -> dict[str, Dialect]:
    """Return every dialect by name."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    found = [module.DIALECT for module in modules if hasattr(module, "DIALECT")]
    return {dialect.name: dialect for dialect in sorted(found, key=lambda d: str(d.name))}


@cache
def _paths() -> dict[str, Dialect]:
    return {path: dialect for dialect in dialects().values() for path in dialect.paths}


def for_path(path: str) -> Dialect | None:
    """Return the dialect that claims a request path, or None where the path is relayed as opaque."""
    return _paths().get(path)


def by_name(name: str) -> Dialect:
    """Return a dialect by its name. Raise KeyError."""
    return dialects()[name]
