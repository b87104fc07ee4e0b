"""A config that ``serve`` loads as it is, with the measured targets as regions, best first."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from edgeinf.probe.choose import Ranked, Recommendation
from edgeinf.probe.values import Target

__all__ = ["emit_config"]

_FAMILIES = {"anthropic-messages": "anthropic"}


def emit_config(
    targets: Mapping[str, Target], ranking: Sequence[Ranked], advice: Recommendation, measured_at: str
) -> str:
    """Return YAML. Where the best stands alone, priority says so; where it does not, latency decides live."""
    usable = [r for r in ranking if r.n and r.healthy] or [r for r in ranking if r.n]
    alone = not advice.indistinguishable and len(usable) > 1
    lines = [f"# measured by edgeinf probe, {measured_at}", f"# {advice.reason}", "version: 1", "regions:"]
    for place, ranked in enumerate(usable):
        target = targets[ranked.name]
        lines += [
            f"  # {_measured(ranked)}",
            f"  - name: {_quoted(_safe(target.name))}",
            f"    url: {_quoted(target.url)}",
            f"    serves: [{', '.join(target.serves) or _FAMILIES.get(target.dialect, 'openai')}]",
            f"    {_credential(target)}",
        ]
        if target.location:
            lines.append(f"    location: {_quoted(target.location)}")
        if alone:
            lines.append(f"    priority: {place}")
    lines += ["routing:", f"  strategy: {'priority' if alone else 'latency'}"]
    return "\n".join(lines) + "\n"


def _measured(ranked: Ranked) -> str:
    if ranked.median is None:
        return f"{ranked.figure}: too few rounds for a median"
    return f"median {ranked.figure} {ranked.median:.4g} of {ranked.n}"


def _credential(target: Target) -> str:
    """Return how the region gets its key; never the key."""
    if target.key_env:
        return f"api_key: ${{{target.key_env}}}"
    if target.key_file:
        return f"api_key_file: {_quoted(target.key_file)}"
    if target.key:
        variable = re.sub(r"\W", "_", target.name).upper() + "_KEY"
        return f"api_key: ${{{variable}:?the key of {target.name}}}"
    return "passthrough: true"


def _safe(name: str) -> str:
    return name.replace(":", "-").replace("/", "-")


def _quoted(text: str) -> str:
    return json.dumps(text)
