"""TensorZero brings keys into one order and tells streams apart."""

from __future__ import annotations

from edgeinf.analyze.gateways.tensorzero import GATEWAY
from edgeinf.core.call import Call


def _call(**body: object) -> Call:
    whole = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    return Call(
        dialect="openai-chat", path="/v1/chat/completions", model="m", body=whole, stream=bool(body.get("stream"))
    )


def test_order_does_not_count_and_stream_does() -> None:
    one, other = _call(a=1, b=2), _call(b=2, a=1)
    assert GATEWAY.material(b"", one) == GATEWAY.material(b"", other)
    assert GATEWAY.material(b"", _call(stream=True)) != GATEWAY.material(b"", _call())
