"""Raw samples as JSONL, figures as CSV, and a textfile that a Prometheus node exporter picks up."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from edgeinf.probe.figures import figures, token_gaps_ms
from edgeinf.probe.outcome import Outcome
from edgeinf.probe.stats import Figure
from edgeinf.probe.values import Attempt

__all__ = ["sample", "to_csv", "to_jsonl", "to_prometheus"]

_FIELDS = ("n", "median", "min", "max", "p90", "p95", "p99", "low", "high")
_SHARES = {"median": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99"}


def sample(attempt: Attempt) -> dict[str, Any]:
    """Return one attempt as plain values: its instants in milliseconds after its start, and its figures."""
    plain: dict[str, Any] = msgspec.to_builtins(attempt)
    plain["instants"] = attempt.instants.relative_ms()
    plain["figures"] = figures(attempt) if attempt.ok else {}
    plain["icl_ms"] = token_gaps_ms(attempt) if attempt.ok else []
    return plain


def to_jsonl(outcome: Outcome) -> Iterator[str]:
    """Yield one line per attempt, in the order they were made."""
    made = sorted((a for attempts in outcome.attempts.values() for a in attempts), key=lambda a: a.instants.start)
    for attempt in made:
        yield msgspec.json.encode(sample(attempt)).decode()


def _all_figures(outcome: Outcome) -> Iterator[tuple[str, str, str, Figure]]:
    for name, measured in outcome.measured.items():
        phases = {"cold": measured.cold, "warm": measured.warm, "idle": measured.idle, "load": measured.load}
        for phase, found in phases.items():
            for title, value in (found or {}).items():
                if value.n:
                    yield name, phase, title, value


def to_csv(outcome: Outcome) -> str:
    """Return one row per target, phase and figure, and one per error class."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["target", "phase", "figure", *_FIELDS])
    for name, phase, title, value in _all_figures(outcome):
        writer.writerow([name, phase, title, *(getattr(value, f) for f in _FIELDS)])
    for name, measured in outcome.measured.items():
        for kind, count in measured.errors.items():
            writer.writerow([name, "", f"error.{kind}", count, *[""] * (len(_FIELDS) - 1)])
    return out.getvalue()


def to_prometheus(outcome: Outcome) -> str:
    """Return the textfile; times in seconds. Write it to a temporary name and move it into place."""
    lines: dict[str, list[str]] = {}
    for name, phase, title, value in _all_figures(outcome):
        metric, scale = _metric(title)
        for field, share in _SHARES.items():
            shown = getattr(value, field)
            if shown is not None:
                labels = f'target="{_escaped(name)}",phase="{phase}",quantile="{share}"'
                lines.setdefault(metric, []).append(f"{metric}{{{labels}}} {shown * scale:.9g}")
    for name, measured in outcome.measured.items():
        label = f'target="{_escaped(name)}"'
        lines.setdefault("edgeinf_probe_attempts", []).append(f"edgeinf_probe_attempts{{{label}}} {measured.attempts}")
        lines.setdefault("edgeinf_probe_successes", []).append(f"edgeinf_probe_successes{{{label}}} {measured.ok}")
        for kind, count in measured.errors.items():
            lines.setdefault("edgeinf_probe_errors", []).append(
                f'edgeinf_probe_errors{{{label},class="{kind}"}} {count}'
            )
    for name, made in outcome.attempts.items():
        metric = "edgeinf_probe_certificate_expiry_timestamp_seconds"
        until = next((a.certificate_expires for a in reversed(made) if a.certificate_expires), None)
        if until is not None:
            stamp = datetime.fromisoformat(until).timestamp()
            lines.setdefault(metric, []).append(f'{metric}{{target="{_escaped(name)}"}} {stamp:.0f}')
    metric = "edgeinf_probe_last_run_timestamp_seconds"
    lines[metric] = [f"{metric} {datetime.fromisoformat(outcome.at).timestamp():.0f}"]
    for gate in outcome.gates:
        labels = f'target="{_escaped(gate.target)}",slo="{_escaped(gate.slo)}",outcome="{gate.outcome}"'
        lines.setdefault("edgeinf_probe_gate", []).append(f"edgeinf_probe_gate{{{labels}}} 1")
    text = [f"# TYPE {metric} gauge\n" + "\n".join(samples) for metric, samples in lines.items()]
    return "\n".join(text) + "\n"


def _metric(title: str) -> tuple[str, float]:
    if title.endswith("_ms"):
        return f"edgeinf_probe_{title.removesuffix('_ms')}_seconds", 0.001
    return f"edgeinf_probe_{title.replace('output_tps', 'output_tokens_per_second')}", 1.0


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
