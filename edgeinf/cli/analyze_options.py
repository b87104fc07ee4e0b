"""From the flags of ``edgeinf analyze`` and the config to the options of the analysis."""

from __future__ import annotations

import difflib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeinf.core.errors import UsageError

if TYPE_CHECKING:
    from edgeinf.analyze.options import Options

__all__ = ["made"]


def made(
    logs: list[str],
    *,
    config: Path | None,
    format_: str,
    mapping: str | None,
    level: str,
    ttl: str | None,
    capacity: str | None,
    scope: str | None,
    gateways: list[str],
    probe: Path | None,
    requests_per_month: float | None,
    prefix_rules: Path | None,
) -> Options:
    """Return the options. One time to live or capacity alone holds for all, several are for the curves.

    Raise UsageError naming the flag that cannot be meant.
    """
    import msgspec

    from edgeinf.analyze.options import SCOPES, Options
    from edgeinf.core.cacheable import CachePolicy
    from edgeinf.core.normalize.levels import LEVELS

    changes = _from_config(config)
    if level != "all":
        _one_of(level, (*LEVELS, "all"), "--level")
        changes["level"] = level
    if scope is not None:
        _one_of(scope, SCOPES, "--scope")
        changes["scope"] = scope
    if ttl is not None:
        changes["ttls_s"] = _durations(ttl)
        if len(changes["ttls_s"]) == 1:
            policy = changes.get("policy", CachePolicy())
            changes["policy"] = msgspec.structs.replace(policy, ttl_s=changes["ttls_s"][0])
    if capacity is not None:
        changes["capacities"] = _counts(capacity)
        if len(changes["capacities"]) == 1:
            changes["max_entries"] = changes["capacities"][0]
    if requests_per_month is not None and not math.isfinite(requests_per_month):
        raise UsageError(f"--requests-per-month cannot be {requests_per_month}")
    if gateways:
        changes["gateways"] = _gateways(gateways)
    return Options(
        files=tuple(logs),
        format=format_,
        mapping=_mapping(mapping),
        probe=None if probe is None else str(probe),
        requests_per_month=requests_per_month,
        prefix_rules=None if prefix_rules is None else str(prefix_rules),
        **changes,
    )


def _from_config(path: Path | None) -> dict[str, Any]:
    """Return what the config decides, if there is one: named, in the environment, or in this directory."""
    from edgeinf.core.config.load import find, load

    if find(path, os.environ, Path()) is None:
        return {}
    from edgeinf.analyze.configured import from_config

    return from_config(load(path, env=os.environ, insecure=True))


def _durations(text: str) -> tuple[float, ...]:
    from edgeinf.core.units import parse_duration

    try:
        return tuple(sorted({parse_duration(part.strip()) for part in text.split(",")}))
    except ValueError as error:
        raise UsageError(f"--ttl: {error}") from None


def _counts(text: str) -> tuple[int, ...]:
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise UsageError(f"--capacity: {text!r} is not a list of whole numbers", hint="as 100,1000") from None
    if found[0] < 1:
        raise UsageError("--capacity: a cache needs at least one entry")
    return found


def _gateways(names: list[str]) -> tuple[str, ...]:
    from edgeinf.analyze.gateways import by_name, gateways

    if "all" in names:
        return tuple(gateways())
    return tuple(dict.fromkeys(by_name(name).name for part in names for name in part.split(",")))


def _mapping(text: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in (text or "").split(","):
        if not pair:
            continue
        field, _, name = pair.partition("=")
        if not name:
            raise UsageError(f"--map: {pair!r} is not FIELD=NAME", hint="as at=msec,latency_ms=request_time")
        found[field.strip()] = name.strip()
    return found


def _one_of(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        near = difflib.get_close_matches(value, allowed, n=1)
        raise UsageError(
            f"{option}: there is no {value!r}",
            hint=f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(allowed)}",
        )
