"""OpenRouter counts the order of keys."""

from __future__ import annotations

from edgeinf.analyze.gateways.openrouter import GATEWAY
from edgeinf.core.call import Call


def _call(**body: object) -> Call:
    whole = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    return Call(
        dialect="openai-chat", path="/v1/chat/completions", model="m", body=whole, stream=bool(body.get("stream"))
    )


def test_order_counts() -> None:
    assert GATEWAY.material(b"", _call(a=1, b=2)) != GATEWAY.material(b"", _call(b=2, a=1))
