"""A config that ``serve`` loads as it is, with the measured targets as regions, best first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from edgeinf.probe.choose import Ranked, Recommendation
from edgeinf.probe.values import Target

__all__ = ["emit_config"]

_FAMILIES = {"anthropic-messages": "anthropic"}


def emit_config(
    targets: Mapping[str, Target], ranking: Sequence[Ranked], advice: Recommendation, measured_at: str
) -> str:
    """Return YAML. Where the best stands alone, priority says so; where it does not, latency decides live."""
    usable = [r for r in ranking if r.median is not None and r.healthy] or [r for r in ranking if r.median is not None]
    alone = not advice.indistinguishable and len(usable) > 1
    lines = [f"# measured by edgeinf probe, {measured_at}", f"# {advice.reason}", "version: 1", "regions:"]
    for place, ranked in enumerate(usable):
        target = targets[ranked.name]
        lines += [
            f"  # median {ranked.figure} {ranked.median:.4g}",
            f"  - name: {_quoted(_safe(target.name))}",
            f"    url: {_quoted(target.url)}",
            f"    serves: [{_FAMILIES.get(target.dialect, 'openai')}]",
            f"    api_key: ${{{target.key_env}}}" if target.key_env else "    passthrough: true",
        ]
        if target.location:
            lines.append(f"    location: {_quoted(target.location)}")
        if alone:
            lines.append(f"    priority: {place}")
    lines += ["routing:", f"  strategy: {'priority' if alone else 'latency'}"]
    return "\n".join(lines) + "\n"


def _safe(name: str) -> str:
    return name.replace(":", "-").replace("/", "-")


def _quoted(text: str) -> str:
    return json.dumps(text)
