"""TensorZero: model, provider and its own form of the request, in which keys have one order."""

from __future__ import annotations

import msgspec

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]

_encode = msgspec.json.Encoder(order="sorted").encode


def _material(raw: bytes, call: Call) -> bytes:
    return _encode([call.dialect, call.model, call.stream, {k: v for k, v in call.body.items() if k != "stream"}])


GATEWAY = Gateway(name="tensorzero", scope="shared", note="callers share; stream and whole split", material=_material)
