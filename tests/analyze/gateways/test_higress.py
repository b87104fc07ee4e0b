"""Higress looks at the last message only."""

from __future__ import annotations

from edgeinf.analyze.gateways.higress import GATEWAY
from edgeinf.core.call import Call


def _call(**body: object) -> Call:
    whole = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    return Call(
        dialect="openai-chat", path="/v1/chat/completions", model="m", body=whole, stream=bool(body.get("stream"))
    )


def test_the_last_message_is_all() -> None:
    assert GATEWAY.material(b"", _call(temperature=1)) == GATEWAY.material(b"", _call()) == b"Hi"
    assert GATEWAY.material(b"", _call(messages=[])) is None
