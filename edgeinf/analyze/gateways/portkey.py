"""Portkey's open package: the body's JSON and the endpoint; streams are never cached."""

from __future__ import annotations

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]


def _material(raw: bytes, call: Call) -> bytes | None:
    return None if call.stream else call.path.encode() + b"\n" + raw


GATEWAY = Gateway(
    name="portkey",
    scope="shared",
    note="other API keys share; the order of keys splits; streams are not cached",
    material=_material,
)
