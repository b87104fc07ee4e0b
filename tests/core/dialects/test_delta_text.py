import msgspec
import pytest

from edgeinf.core.dialects.delta_text import delta_text
from edgeinf.core.wire.sse import Event


@pytest.mark.parametrize(
    ("dialect", "data", "texts"),
    [
        ("openai-chat", {"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}, ("", "ab")),
        ("openai-chat", {"choices": [{"delta": {"reasoning": "hm"}}]}, ("hm", "")),
        ("openai-chat", {"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "{"}}]}}]}, ("", "{")),
        ("openai-completions", {"choices": [{"text": "a"}]}, ("", "a")),
        ("openai-responses", {"type": "response.output_text.delta", "delta": "a"}, ("", "a")),
        ("openai-responses", {"type": "response.reasoning_text.delta", "delta": "hm"}, ("hm", "")),
        ("openai-responses", {"type": "response.created"}, ("", "")),
        ("anthropic-messages", {"delta": {"type": "thinking_delta", "thinking": "hm"}}, ("hm", "")),
        ("anthropic-messages", {"delta": {"type": "input_json_delta", "partial_json": "{"}}, ("", "{")),
        ("unknown", {"choices": []}, ("", "")),
    ],
)
def test_the_text_of_an_event_is_reasoning_or_not(dialect, data, texts):
    assert delta_text(dialect, Event(b"", msgspec.json.encode(data))) == texts


@pytest.mark.parametrize("data", [b"[DONE]", b"{", b"[]", b'{"choices":[null,{"delta":null}]}'])
def test_what_carries_nothing_is_empty(data):
    assert delta_text("openai-chat", Event(b"", data)) == ("", "")
