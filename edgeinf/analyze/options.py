"""What a person asks of an analysis."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.normalize.levels import DEFAULT_LEVEL, LEVELS

__all__ = ["SCOPES", "Options"]

SCOPES = ("key", "user", "team", "shared")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a report; the defaults are the proxy's."""

    files: tuple[str, ...]
    format: str = "auto"
    mapping: dict[str, str] = {}
    level: str = DEFAULT_LEVEL
    levels: tuple[str, ...] = tuple(LEVELS)
    scope: str | None = None  # None: what the events were written under, else key
    policy: CachePolicy = CachePolicy()
    max_entries: int | None = None
    ttls_s: tuple[float, ...] = (60.0, 600.0, 3600.0, 86400.0, math.inf)
    capacities: tuple[int, ...] = ()
    masks: tuple[str, ...] | None = None
    gateways: tuple[str, ...] = ()
    probe: str | None = None
    prefix_rules: str | None = None
    requests_per_month: float | None = None
    prices: dict[str, Any] = {}  # by model, as the config gives them
    notes: tuple[str, ...] = ()  # what was taken from the config, to be said in the report
    workers: int = 0  # 0: as many as there are cores
