"""OpenRouter: API key, model, endpoint, stream mode, and the body with its keys in the order given."""

from __future__ import annotations

import msgspec

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]

_encode = msgspec.json.Encoder().encode


def _material(raw: bytes, call: Call) -> bytes:
    return _encode([call.model, call.path, call.stream, call.body])


GATEWAY = Gateway(name="openrouter", scope="key", note="order of keys and stream mode split", material=_material)
