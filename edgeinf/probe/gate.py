"""Gates: pass, fail, or an honest "cannot tell". Grammar: ``[TARGET:][PHASE.]FIGURE[.QUANTILE] < NUMBER[UNIT]``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from edgeinf.core.errors import UsageError
from edgeinf.core.stats import Bounds, proportion_bounds, quantile, quantile_bounds, samples_needed
from edgeinf.probe.figures import COLD, LOAD
from edgeinf.probe.plan import COLD_EVERY, Plan
from edgeinf.probe.stats import counting, values_of
from edgeinf.probe.values import Attempt, Phase

__all__ = [
    "Gate",
    "Slo",
    "Verdict",
    "check_targets",
    "evaluate",
    "parse_slo",
    "rounds_needed",
    "samples_of",
    "verdict_of",
]

Verdict = Literal["pass", "fail", "inconclusive"]

SUCCESS = "success_rate"
IMPLICIT = 0.99
_FORM = re.compile(
    r"(?:(?P<target>\S+):)?(?:(?P<phase>cold|warm|idle|load)\.)?(?P<figure>[a-z_]+)"
    r"(?:\.(?P<quantile>median|p\d{1,2}(?:\.\d+)?))?\s*(?P<op><=|>=|<|>)\s*(?P<limit>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|%|)"
)
_ONLY_COLD = ("dns_ms", "tcp_ms", "proxy_ms", "tls_ms", "connect_ms")


class Slo(msgspec.Struct, frozen=True, kw_only=True):
    """One rule; ``p`` is None for the success rate, ``phase`` None for what the run measures."""

    text: str
    target: str | None
    phase: str | None
    figure: str
    p: float | None
    op: str
    limit: float


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule came to at one target; ``low`` and ``high`` are one-sided 95 % bounds of ``value``."""

    slo: str
    target: str
    outcome: Verdict
    value: float | None
    low: float | None
    high: float | None
    n: int
    needed: int
    implicit: bool = False


def parse_slo(text: str) -> Slo:
    """Read a rule. Raise UsageError naming the part that is wrong."""
    example = "for example 'ttft_ms.p95 < 800' or 'success_rate >= 99%'"
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a gate", hint=f"write [TARGET:]FIGURE.pNN < NUMBER, {example}")
    figure, name = found["figure"], found["quantile"]
    known = sorted({*COLD, *LOAD, SUCCESS})
    if figure not in known:
        near = difflib.get_close_matches(figure, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(known)}"
        raise UsageError(f"there is no figure {figure!r} (gate {text!r})", hint=hint)
    limit = float(found["limit"])
    if figure == SUCCESS:
        if name or found["unit"] not in ("%", "") or found["op"] not in (">=", ">"):
            raise UsageError(f"{text!r} is not a gate on the success rate", hint="write 'success_rate >= 99%'")
        share = limit / 100 if found["unit"] == "%" else limit
        if not 0 < share <= 1:
            raise UsageError(f"{text!r}: a success rate is from 0% to 100%")
        return Slo(text=text, target=found["target"], phase=None, figure=figure, p=None, op=found["op"], limit=share)
    if name is None:
        raise UsageError(f"the gate {text!r} names no quantile", hint=f"write {figure}.p50 or {figure}.p95, {example}")
    p = 0.5 if name == "median" else float(name[1:]) / 100
    if not 0 < p < 1:
        raise UsageError(f"{name} is not a quantile (gate {text!r})", hint="from p1 to p99.9")
    if found["unit"] == "%" or (found["unit"] and not figure.endswith("_ms")):
        raise UsageError(f"the unit {found['unit']!r} does not fit {figure} (gate {text!r})")
    scale = 1000 if found["unit"] == "s" else 1
    return Slo(
        text=text,
        target=found["target"],
        phase=found["phase"],
        figure=figure,
        p=p,
        op=found["op"],
        limit=limit * scale,
    )


def check_targets(slos: Sequence[Slo], names: Sequence[str]) -> None:
    """Raise UsageError where a rule is for a target that is not measured: nothing would judge it."""
    for slo in slos:
        if slo.target is not None and slo.target not in names:
            near = difflib.get_close_matches(slo.target, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(names)}"
            raise UsageError(f"there is no target {slo.target!r} (gate {slo.text!r})", hint=hint)


def rounds_needed(slo: Slo, plan: Plan) -> int:
    """Return how many rounds without a failure a rule needs; not every round opens a connection."""
    samples = samples_of(slo)
    is_cold = slo.phase == "cold" or (slo.phase is None and slo.figure in _ONLY_COLD)
    return (samples - 1) * COLD_EVERY + 1 if is_cold and plan.mode == "both" and samples else samples


def samples_of(slo: Slo) -> int:
    """Return how many successful samples a rule needs before it can pass or fail: p95 59, p50 5."""
    if slo.p is not None:
        return samples_needed(slo.p)
    return samples_needed(slo.limit) if slo.limit < 1 else 0


def evaluate(slos: Sequence[Slo], attempts: dict[str, list[Attempt]], default: Phase | None) -> list[Gate]:
    """Judge every rule at every target it names, and the success rate where a latency gate implies it.

    ``default`` is the phase that the run measures; None takes all (open loop).
    """
    out: list[Gate] = []
    for name, made in attempts.items():
        mine = [slo for slo in slos if slo.target in (None, name)]
        counted = counting(made)
        out += [_success(slo, name, counted) if slo.p is None else _latency(slo, name, made, default) for slo in mine]
        if any(slo.p is not None for slo in mine) and all(slo.p is not None for slo in mine):
            implied = _implied(name, counted)
            out += [implied] if implied is not None else []
    return out


def verdict_of(gates: Sequence[Gate], *, strict: bool) -> int:
    """Return the exit code: 1 if any gate failed, 4 if any is inconclusive (1 if ``strict``), else 0."""
    outcomes = {gate.outcome for gate in gates}
    if "fail" in outcomes:
        return 1
    return (1 if strict else 4) if "inconclusive" in outcomes else 0


def _latency(slo: Slo, name: str, attempts: list[Attempt], default: Phase | None) -> Gate:
    assert slo.p is not None
    phase: Phase | None = default
    if slo.figure in _ONLY_COLD and slo.phase is None:
        phase = "cold"
    elif slo.phase in ("cold", "warm", "idle"):
        phase = slo.phase  # type: ignore[assignment]  # narrowed by the line above
    made = [a for a in attempts if a.phase != "preflight" and (a.open_loop or slo.phase != "load")]
    values = values_of(made, slo.figure, phase)
    bounds = quantile_bounds(values, slo.p) if values else Bounds(low=None, high=None)
    return Gate(
        slo=slo.text,
        target=name,
        outcome=_outcome(bounds, slo.op, slo.limit),
        value=quantile(values, slo.p) if len(values) >= samples_of(slo) else None,
        low=bounds.low,
        high=bounds.high,
        n=len(values),
        needed=samples_of(slo),
    )


def _success(slo: Slo, name: str, attempts: list[Attempt]) -> Gate:
    return _proportion(slo.text, name, attempts, slo.op, slo.limit)


def _implied(name: str, attempts: list[Attempt]) -> Gate | None:
    """Say something only where too much failed: surely, or by what was observed."""
    gate = _proportion(f"{SUCCESS} >= 99%", name, attempts, ">=", IMPLICIT, implicit=True)
    if gate.outcome == "fail" or not attempts:
        return gate
    assert gate.value is not None
    return msgspec.structs.replace(gate, outcome="inconclusive") if gate.value < IMPLICIT else None


def _proportion(
    text: str, name: str, attempts: list[Attempt], op: str, limit: float, *, implicit: bool = False
) -> Gate:
    n, successes = len(attempts), sum(a.ok for a in attempts)
    bounds = proportion_bounds(successes, n)
    outcome: Verdict = "pass" if n and limit >= 1 and successes == n else _outcome(bounds, op, limit)
    return Gate(
        slo=text,
        target=name,
        outcome="fail" if limit >= 1 and successes < n else outcome,
        value=successes / n if n else None,
        low=bounds.low,
        high=bounds.high,
        n=n,
        needed=samples_needed(limit) if limit < 1 else 1,
        implicit=implicit,
    )


def _outcome(bounds: Bounds, op: str, limit: float) -> Verdict:
    under, over = bounds.high, bounds.low
    if op in (">", ">="):  # the same, mirrored
        if over is not None and (over > limit or (op == ">=" and over == limit)):
            return "pass"
        return "fail" if under is not None and (under < limit or (op == ">" and under == limit)) else "inconclusive"
    if under is not None and (under < limit or (op == "<=" and under == limit)):
        return "pass"
    return "fail" if over is not None and (over > limit or (op == "<" and over == limit)) else "inconclusive"
