"""Several origins at once, from one script with what differs per region.

::

    ttft: 80ms                 # what all have in common, as in load.py
    regions:
      - {name: east, port: 9001, ttft: 20ms}
      - {name: west, port: 9002, fault: 503}
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from edgeinf.core.errors import UsageError
from edgeinf.mock.load import load
from edgeinf.mock.origin import MockOrigin
from edgeinf.mock.script import Script

__all__ = ["MockRegions", "load_regions"]


def load_regions(document: Mapping[str, Any], *, port: int = 0) -> list[tuple[Script, int]]:
    """Return each region's script and port; a document without ``regions`` is one origin on ``port``."""
    if not isinstance(document, Mapping):
        raise UsageError(f"the script must be a mapping, not {type(document).__name__}")
    common = {name: value for name, value in document.items() if name not in ("regions", "port")}
    regions = document.get("regions")
    if regions is None:
        return [(load(common), int(document.get("port", port)))]
    if not isinstance(regions, list) or not all(isinstance(r, Mapping) and "name" in r for r in regions):
        raise UsageError("regions must be a list of mappings, each with a name")
    found = [(load(_over(common, region)), int(region.get("port", 0))) for region in regions]
    names = [script.name for script, _ in found]
    if len(set(names)) < len(names):
        raise UsageError(f"two regions have one name: {', '.join(names)}")
    return found


def _over(common: Mapping[str, Any], region: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a region's own values over the common ones; answers and headers merge, rules add up."""
    merged = {**common, **{name: value for name, value in region.items() if name != "port"}}
    for name in ("answer", "headers"):
        if name in common and name in region:
            merged[name] = {**common[name], **region[name]}
    if "rules" in common and "rules" in region:
        merged["rules"] = [*common["rules"], *region["rules"]]
    return merged


class MockRegions:
    """Origins by name: ``async with MockRegions({"ttft": "5ms"}, east={}, west={"fault": "503"}) as regions``."""

    def __init__(
        self,
        common: Mapping[str, Any] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        **regions: Mapping[str, Any],
    ) -> None:
        document = {**(common or {}), "regions": [{"name": name, **own} for name, own in regions.items()]}
        self._origins = {script.name: MockOrigin(script, port=port, tls=tls) for script, port in load_regions(document)}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for origin in self._origins.values():
            await self._stack.enter_async_context(origin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def __getitem__(self, name: str) -> MockOrigin:
        return self._origins[name]

    def __iter__(self) -> Iterator[MockOrigin]:
        return iter(self._origins.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many POST requests each region saw."""
        return {name: origin.count for name, origin in self._origins.items()}
