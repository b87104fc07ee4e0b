"""Cloudflare AI Gateway: provider, endpoint, model, credential and the body's text."""

from __future__ import annotations

from edgeinf.analyze.gateways.base import Gateway
from edgeinf.core.call import Call

__all__ = ["GATEWAY"]


def _material(raw: bytes, call: Call) -> bytes:
    return f"{call.dialect}\n{call.path}\n{call.model}\n".encode("utf-8", "surrogatepass") + raw


GATEWAY = Gateway(name="cloudflare", scope="key", note="any byte that differs splits", material=_material)
