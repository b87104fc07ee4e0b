"""Durations, sizes, rates and percentages as people write them in configs and flags.

Durations: ``500ms 10s 5m 24h 30d``; sizes: ``64KiB 256MiB 2GiB`` (``KB MB GB`` are powers of ten);
rates: ``60/min 100k/min``; percentages: ``20%``. A number needs its unit, except a bare ``0``.
"""

from __future__ import annotations

import math
import re

__all__ = [
    "format_duration",
    "format_size",
    "parse_duration",
    "parse_percentage",
    "parse_rate",
    "parse_size",
]

_DURATION_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE_BYTES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_PERIOD_S = {
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}
_SCALE = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6}

_NUMBER_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)\Z")
_RATE = re.compile(r"(\d+(?:\.\d+)?)([kKM]?)\s*/\s*([a-z]+)\Z")
_PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?)\s*%\Z")


def _with_unit(text: str, table: dict[str, float] | dict[str, int], what: str) -> float:
    found = _NUMBER_UNIT.match(text.strip())
    if found is not None:
        number, unit = found.groups()
        if unit in table:
            return float(number) * table[unit]
        if not unit and float(number) == 0:
            return 0.0
    raise ValueError(f"{text!r} is not a {what}: write a number and one of {', '.join(table)}")


def parse_duration(text: str) -> float:
    """Read ``90s`` or ``24h`` as seconds; ``inf`` is endless. Raise ValueError on anything else."""
    if text.strip() == "inf":
        return math.inf
    return _with_unit(text, _DURATION_S, "duration")


def parse_size(text: str) -> int:
    """Read ``256MiB`` as bytes. Raise ValueError on anything else."""
    return int(_with_unit(text, _SIZE_BYTES, "size"))


def parse_rate(text: str) -> tuple[float, float]:
    """Read ``60/min`` or ``100k/min`` as (count, period in seconds). Raise ValueError on anything else."""
    found = _RATE.match(text.strip())
    if found is None or found.group(3) not in _PERIOD_S:
        raise ValueError(f"{text!r} is not a rate: write it as 60/min or 100k/h ({', '.join(_PERIOD_S)})")
    return float(found.group(1)) * _SCALE[found.group(2)], _PERIOD_S[found.group(3)]


def parse_percentage(text: str) -> float:
    """Read ``20%`` as 0.2. Raise ValueError outside 0 to 100 %."""
    found = _PERCENTAGE.match(text.strip())
    if found is None or float(found.group(1)) > 100:
        raise ValueError(f"{text!r} is not a percentage: write a number from 0 to 100 and %")
    return float(found.group(1)) / 100


def format_duration(seconds: float) -> str:
    """Write seconds with the largest unit that keeps the number whole, else with milliseconds."""
    if math.isinf(seconds):
        return "inf"
    for unit in ("d", "h", "m", "s"):
        if seconds >= _DURATION_S[unit] and seconds % _DURATION_S[unit] == 0:
            return f"{seconds / _DURATION_S[unit]:.0f}{unit}"
    return "0s" if seconds == 0 else f"{seconds * 1000:.4g}ms" if seconds < 1 else f"{seconds:.4g}s"


def format_size(size_bytes: int) -> str:
    """Write bytes with the largest binary unit, to three digits."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size_bytes >= _SIZE_BYTES[unit]:
            return f"{size_bytes / _SIZE_BYTES[unit]:.3g} {unit}"
    return f"{size_bytes} B"
