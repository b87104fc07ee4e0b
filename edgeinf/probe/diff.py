"""Compare two runs: which target got slower, or fails more, beyond what chance explains."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from edgeinf.core.errors import UsageError
from edgeinf.core.report.tree import Column, Section, Table, Text
from edgeinf.core.stats import bootstrap_difference, holm, newcombe, quantile
from edgeinf.core.stdin import read_whole
from edgeinf.probe.stats import counting, values_of
from edgeinf.probe.values import Attempt, Phase

__all__ = ["Change", "Saved", "check_shared", "compare", "diff_report", "is_worse", "read_saved", "to_document"]

_ALPHA = 0.05
# figures that are compared -> the phase they are taken from
_COMPARED: dict[str, Phase] = {
    "tcp_ms": "cold",
    "tls_ms": "cold",
    "ttfb_ms": "warm",
    "ttft_ms": "warm",
    "tpot_ms": "warm",
    "e2e_ms": "warm",
}


class Saved(msgspec.Struct, kw_only=True):
    """What ``--save`` wrote, as far as a comparison needs it."""

    schema_version: int
    at: str
    samples: list[Attempt]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one target in both runs. ``changed`` is beyond chance at a family-wise 5 %."""

    target: str
    figure: str
    phase: str
    before: float | None
    after: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    changed: bool


def read_saved(path: Path) -> Saved:
    """Read a saved run. Raise UsageError where it is none."""
    try:
        return msgspec.json.decode(read_whole(str(path)), type=Saved)
    except msgspec.MsgspecError as error:
        raise UsageError(f"not a saved run ({path}): {error}", hint="write one with edgeinf probe --save F") from None


def check_shared(before: Sequence[Attempt], names: Sequence[str], where: str) -> None:
    """Raise UsageError where a saved run holds none of the targets: nothing could be found worse."""
    held = dict.fromkeys(a.target for a in before)
    if not any(name in held for name in names):
        raise UsageError(
            f"no target to compare: {where} holds {', '.join(held) or 'none'}, not {', '.join(names) or 'any other'}",
            hint="name the targets alike, as NAME=URL",
        )


def compare(before: Sequence[Attempt], after: Sequence[Attempt], *, seed: int = 1) -> list[Change]:
    """Return the changes of every target that both runs hold, times by bootstrap, success by Newcombe."""
    shared = [n for n in dict.fromkeys(a.target for a in after) if any(b.target == n for b in before)]
    found: list[tuple[Change, float | None]] = []
    for name in shared:
        old = counting([a for a in before if a.target == name])
        new = counting([a for a in after if a.target == name])
        found.append((_success(name, old, new), None))
        for figure, usual in _COMPARED.items():
            for phase in dict.fromkeys((usual, "cold")):
                change = _time(name, figure, phase, old, new, seed)
                if change is not None:
                    found.append((change, change.p))
    adjusted = iter(holm([p for _, p in found if p is not None]))
    out = []
    for change, p in found:
        if p is None:
            out.append(change)
        else:
            fair = next(adjusted)
            out.append(msgspec.structs.replace(change, p=fair, changed=fair < _ALPHA))
    return out


def _time(
    name: str, figure: str, phase: Phase, old: Sequence[Attempt], new: Sequence[Attempt], seed: int
) -> Change | None:
    a, b = values_of(old, figure, phase), values_of(new, figure, phase)
    found = bootstrap_difference(a, b, random.Random(f"{seed}/{name}/{figure}/{phase}"), paired=False)
    if found is None:
        return None
    middle = quantile(a, 0.5)
    return Change(
        target=name,
        figure=figure,
        phase=phase,
        before=middle,
        after=middle + found.value,
        difference=found.value,
        low=found.low,
        high=found.high,
        p=found.p,
        changed=False,
    )


def _success(name: str, old: Sequence[Attempt], new: Sequence[Attempt]) -> Change:
    good_old, good_new = sum(a.ok for a in old), sum(a.ok for a in new)
    low, high = newcombe(good_old, len(old), good_new, len(new))
    known = bool(old) and bool(new)
    return Change(
        target=name,
        figure="success_rate",
        phase="all",
        before=good_old / len(old) if old else None,
        after=good_new / len(new) if new else None,
        difference=good_new / len(new) - good_old / len(old) if known else None,
        low=low if known else None,
        high=high if known else None,
        p=None,
        changed=low > 0 or high < 0,
    )


def diff_report(changes: Sequence[Change], before: str, after: str) -> Section:
    """Return the comparison as a tree."""
    worse = [c for c in changes if is_worse(c)]
    better = [c for c in changes if c.changed and not is_worse(c)]
    said = ", ".join(f"{c.target} {c.figure}" for c in worse)
    verdict = Text(text=f"worse: {said}", tone="bad") if worse else Text(text="nothing got worse", tone="good")
    columns = tuple(
        Column(title=t)
        for t in ("target", "figure", "phase", "before", "after", "difference", "low", "high", "p", "changed")
    )
    rows = tuple(
        (c.target, c.figure, c.phase, c.before, c.after, c.difference, c.low, c.high, c.p, c.changed) for c in changes
    )
    note = "95 % intervals of the difference; p adjusted over all comparisons (Holm); a success rate by its interval"
    parts = [verdict]
    if better:
        parts.append(Text(text=f"better: {', '.join(f'{c.target} {c.figure}' for c in better)}", tone="good"))
    table = Table(columns=columns, rows=rows, caption=note)
    return Section(title=f"probe diff, {before} to {after}", parts=(*parts, table))


def is_worse(change: Change) -> bool:
    """Return whether a change is beyond chance and in the wrong direction."""
    if not change.changed or change.difference is None:
        return False
    return change.difference < 0 if change.figure == "success_rate" else change.difference > 0


def to_document(changes: Sequence[Change], before: str, after: str) -> dict[str, Any]:
    """Return the JSON document."""
    return {"before": before, "after": after, "changes": msgspec.to_builtins(list(changes))}
