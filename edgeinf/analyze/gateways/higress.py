"""Higress, by default: the last message's text and nothing else."""

from __future__ import annotations

from edgeinf.analyze.gateways.base import Gateway, last_text
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]


def _material(raw: bytes, call: Call) -> bytes | None:
    return last_text(call.body).encode("utf-8", "surrogatepass") or None


GATEWAY = Gateway(
    name="higress",
    scope="shared",
    note="everything but the last message is left out: other system prompts, models, histories and callers share",
    material=_material,
)
