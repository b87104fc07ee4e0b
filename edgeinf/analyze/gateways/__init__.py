"""Other tools' cache keys, one per file, as they were read on a date; approximate, and said to be.

A file that sets ``GATEWAY`` is found here; nothing else needs to be told.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.errors import UsageError

__all__ = ["by_name", "gateways"]


@cache
def gateways() -> dict[str, Gateway]:
    """Return every gateway by name."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    found = [module.GATEWAY for module in modules if hasattr(module, "GATEWAY")]
    return {gateway.name: gateway for gateway in sorted(found, key=lambda g: g.name)}


def by_name(name: str) -> Gateway:
    """Return a gateway by the name that ``--gateway`` takes. Raise UsageError with the nearest match."""
    known = gateways()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(known)}, all"
        raise UsageError(f"--gateway: there is no {name!r}", hint=hint)
    return known[name]
