"""Cloudflare counts every byte."""

from __future__ import annotations

from edgeinf.analyze.gateways.cloudflare import GATEWAY
from edgeinf.core.call import Call


def _call(**body: object) -> Call:
    whole = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    return Call(
        dialect="openai-chat", path="/v1/chat/completions", model="m", body=whole, stream=bool(body.get("stream"))
    )


def test_every_byte_counts() -> None:
    assert GATEWAY.material(b"{}", _call()) != GATEWAY.material(b"{ }", _call())
    assert GATEWAY.scope == "key"
