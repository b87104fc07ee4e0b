"""Where does the call go? Origins in the order in which they may be tried."""

from __future__ import annotations

from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.generation import Generation, Origin

__all__ = ["route"]


def route(x: Exchange, generation: Generation) -> list[Origin]:
    """Return the origins to try, best first. Raise CallError 404 where none serves this family."""
    assert x.dialect is not None
    assert x.call is not None
    origins = generation.origins_for(x.dialect.family, x.call.model)
    if not origins:
        family = x.dialect.family
        raise CallError(
            f"no region serves {family!r}", status=404, code="no_region", hint="add it to a region's serves"
        )
    return origins
