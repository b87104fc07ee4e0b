"""LiteLLM counts the parameters it knows, in their order."""

from __future__ import annotations

from edgeinf.analyze.gateways.litellm import GATEWAY
from edgeinf.core.call import Call


def _call(**body: object) -> Call:
    whole = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    return Call(
        dialect="openai-chat", path="/v1/chat/completions", model="m", body=whole, stream=bool(body.get("stream"))
    )


def test_only_known_parameters_count() -> None:
    plain = GATEWAY.material(b"", _call())
    assert GATEWAY.material(b"", _call(num_ctx=8192)) == plain
    assert GATEWAY.material(b"", _call(temperature=1)) != GATEWAY.material(b"", _call(temperature=1.0)) != plain
