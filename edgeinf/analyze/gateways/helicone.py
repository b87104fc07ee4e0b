"""Helicone, hosted: seed, URL, the body's text and the credential."""

from __future__ import annotations

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]


def _material(raw: bytes, call: Call) -> bytes:
    return f"{call.path}?{call.query}\n".encode() + raw


GATEWAY = Gateway(name="helicone", scope="key", note="any byte that differs splits", material=_material)
