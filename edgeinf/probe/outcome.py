"""Everything one run found, as one value that each output reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from edgeinf.core.redact import redact
from edgeinf.probe.choose import AgentLoop, Ranked, Recommendation, agent_loop, rank, recommend
from edgeinf.probe.figures import DEFINITIONS
from edgeinf.probe.gate import Gate, Slo, evaluate
from edgeinf.probe.load import Load
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.stats import Measured, measure
from edgeinf.probe.values import Attempt, Phase, Target

__all__ = ["Outcome", "conclude", "document", "phase_of"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run."""

    at: str
    plan: Plan
    targets: dict[str, Target]
    attempts: dict[str, list[Attempt]]
    measured: dict[str, Measured]
    ranking: list[Ranked]
    recommendation: Recommendation
    gates: list[Gate]
    agent_loop: AgentLoop
    loads: list[Load]
    proxy: dict[str, str | None]
    ca: str
    notes: list[str]
    stopped: str | None
    spent_usd: float | None
    overhead_ms: float | None


def phase_of(plan: Plan) -> Phase:
    """Return the phase whose figures stand for a run."""
    return "cold" if plan.mode == "cold" else "idle" if plan.mode == "idle" else "warm"


def conclude(
    run: Run,
    *,
    slos: Sequence[Slo] = (),
    loads: Sequence[Load] = (),
    steps: int = 15,
    proxy: Mapping[str, str | None] | None = None,
    ca: str = "",
    overhead_ms: float | None = None,
    rounds: int | None = None,
) -> Outcome:
    """Turn the attempts of a run into figures, a ranking, gates and advice."""
    attempts: dict[str, list[Attempt]] = {name: [] for name in run.targets}
    for attempt in run.attempts:
        attempts[attempt.target].append(attempt)
    figure = "ttfb_ms" if run.plan.mode == "ping" else "ttft_ms"
    if all(t.dialect == "openai-embeddings" for t in run.targets.values()) and run.plan.mode != "ping":
        figure = "e2e_ms"
    phase = phase_of(run.plan)
    ranking = rank(attempts, figure, phase, rounds or run.plan.rounds, run.plan.seed)
    advice = recommend(ranking)
    priced = [a.usd for a in run.attempts if a.usd is not None]
    return Outcome(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        plan=run.plan,
        targets=run.targets,
        attempts=attempts,
        measured={name: measure(name, made) for name, made in attempts.items()},
        ranking=ranking,
        recommendation=advice,
        gates=evaluate(slos, attempts, None if loads else phase),
        agent_loop=agent_loop(steps, attempts, advice.region),
        loads=list(loads),
        proxy=dict(proxy or {}),
        ca=ca,
        notes=[*run.notes, *_warnings(attempts, run.plan.mode)],
        stopped=run.stopped,
        spent_usd=round(sum(priced), 6) if priced else None,
        overhead_ms=overhead_ms,
    )


def _warnings(attempts: Mapping[str, Sequence[Attempt]], mode: str) -> list[str]:
    out = []
    for name, made in attempts.items():
        full = sum(a.full_reads > 0 for a in made)
        if full:
            out.append(f"{name}: {full} answers filled the read buffer; this client may have been the slower side")
        answered = sum(a.ok and a.phase != "preflight" for a in made)
        if mode == "both" and answered > 1 and not any(a.reused for a in made if a.phase != "preflight"):
            out.append(f"{name}: no connection was kept open, so there is no warm figure")
        families = {a.family for a in made if a.family}
        if len(families) > 1:
            out.append(f"{name}: both IPv4 and IPv6 were used; --family keeps them apart")
        if made and all(a.error in ("connect", "connect_timeout") for a in made):
            tried = next((a.family for a in made if a.family), None)
            other = {4: 6, 6: 4}.get(tried or 0)
            if other:
                out.append(f"{name}: only IPv{tried} was tried; --family {other} tries the other")
        expires = next((a.certificate_expires for a in reversed(made) if a.certificate_expires), None)
        if expires and (left := (datetime.fromisoformat(expires) - datetime.now(UTC)).days) < 21:
            out.append(f"{name}: the certificate expires in {left} days")
    return out


def document(outcome: Outcome, *, samples: bool = False) -> dict[str, Any]:
    """Return the JSON document of the contract; ``samples`` adds every attempt, which ``diff`` needs."""
    out: dict[str, Any] = {
        "at": outcome.at,
        "targets": [_target(outcome, name) for name in outcome.targets],
        "ranking": outcome.ranking,
        "recommendation": outcome.recommendation,
        "gates": outcome.gates,
        "agent_loop": outcome.agent_loop,
        "load": outcome.loads,
        "run": {
            "rounds": outcome.plan.rounds,
            "mode": outcome.plan.mode,
            "seed": outcome.plan.seed,
            "cached": outcome.plan.asked.cached,
            "prompt": outcome.plan.asked.prompt,
            "stopped": outcome.stopped,
            "spent_usd": outcome.spent_usd,
            "certificate_authorities": outcome.ca,
            "prober_overhead_ms": outcome.overhead_ms,
        },
        "warnings": [redact(note) for note in outcome.notes],
        "definitions": DEFINITIONS,
    }
    if samples:
        out["samples"] = [a for made in outcome.attempts.values() for a in made]
    plain: dict[str, Any] = msgspec.to_builtins(out)
    return plain


def _target(outcome: Outcome, name: str) -> dict[str, Any]:
    target, measured, made = outcome.targets[name], outcome.measured[name], outcome.attempts[name]
    last = next((a for a in reversed(made) if a.ip), None)
    answered = next((a for a in reversed(made) if a.http_version), None)
    return {
        "name": name,
        "url": target.url,
        "dialect": target.dialect,
        "model": target.model,
        "location": target.location,
        "ip": last.ip if last else None,
        "family": last.family if last else None,
        "http_version": answered.http_version if answered else None,
        "proxy": outcome.proxy.get(name),
        "certificate_expires": last.certificate_expires if last else None,
        "connections": len({a.connection for a in made if a.connection}),
        "attempts": measured.attempts,
        "ok": measured.ok,
        "errors": measured.errors,
        "error_details": measured.details,
        "cold": measured.cold,
        "warm": measured.warm,
        "idle": _idle(measured),
        "load": measured.load,
    }


def _idle(measured: Measured) -> dict[str, Any] | None:
    """Say what the silence costs: the connection, the function before the headers, the model before the token."""
    if measured.idle is None:
        return None
    out: dict[str, Any] = dict(measured.idle)
    connect = measured.idle["connect_ms"]
    head, token = measured.idle["ttfb_ms"].median, measured.idle["ttft_ms"].median
    warm_head, warm_token = measured.warm["ttfb_ms"].median, measured.warm["ttft_ms"].median
    function = None if head is None or warm_head is None else head - warm_head
    first = None if token is None or warm_token is None else token - warm_token
    out["cost"] = {
        "connection_lost": connect.n,
        "connection_ms": connect.median if connect.median is not None else connect.max,
        "function_ms": function,
        "model_ms": None if first is None or function is None else first - function,
    }
    return out
