"""Small charts out of characters, for terminals and tables."""

from __future__ import annotations

from collections.abc import Sequence

from edgeinf.core.report.scale import Scale

__all__ = ["bar", "interval", "sparkline"]

_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = "▏▎▍▌▋▊▉█"


def sparkline(values: Sequence[float | None], width: int = 30) -> str:
    """Return the last ``width`` values as a line of blocks; a missing value is ``×``."""
    shown = list(values)[-width:]
    held = [v for v in shown if v is not None]
    low, high = min(held, default=0.0), max(held, default=0.0)
    span = high - low
    return "".join(
        "×" if v is None else _STEPS[round((v - low) / span * (len(_STEPS) - 1))] if span else _STEPS[3] for v in shown
    )


def bar(share: float, width: int = 30) -> str:
    """Return a bar that fills ``share`` of ``width`` characters, to an eighth."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")


def interval(low: float, middle: float, high: float, scale: Scale, width: int = 40) -> str:
    """Return ``├──●──┤`` with its ends where the values lie on the scale."""
    left, dot, right = (round(max(0.0, min(1.0, scale.share(v))) * (width - 1)) for v in (low, middle, high))
    cells = [" "] * left + ["─"] * (right - left + 1)
    cells[left], cells[right] = "├", "┤"
    cells[dot] = "●"
    return "".join(cells)
