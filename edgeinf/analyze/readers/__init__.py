"""Log formats, one per file. A file that sets ``READER`` is found here; nothing else needs to be told."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache

from edgeinf.analyze.readers.base import AnyReader, Sample
from edgeinf.core.errors import UsageError

__all__ = ["by_name", "readers", "sniff"]

_ENOUGH = 0.2


@cache
def readers() -> dict[str, AnyReader]:
    """Return every reader by name."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    found = [module.READER for module in modules if hasattr(module, "READER")]
    return {reader.name: reader for reader in sorted(found, key=lambda r: str(r.name))}


def by_name(name: str) -> AnyReader:
    """Return a reader by the name that ``--format`` takes. Raise UsageError with the nearest match."""
    known = readers()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else None
        allowed = ", ".join(["auto", *known])
        raise UsageError(f"there is no log format {name!r}", hint=hint or f"one of: {allowed}")
    return known[name]


def sniff(sample: Sample) -> AnyReader:
    """Return the reader that is surest of a sample. Raise UsageError where none is."""
    ranked = sorted(((reader.sniff(sample), reader.name) for reader in readers().values()), reverse=True)
    score, name = ranked[0]
    if score < _ENOUGH:
        raise UsageError(
            f"cannot tell the format of {sample.name}",
            hint=f"name it with --format (one of: {', '.join(readers())}) or map fields with --map",
        )
    return readers()[name]
