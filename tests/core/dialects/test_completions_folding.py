from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects.completions_folding import fold_texts, unfold_texts
from edgeinf.core.wire.sse import DONE, Event
from tests.core.dialects.kit import event, followed

_logprobs = st.none() | st.fixed_dictionaries(
    {
        "tokens": st.lists(st.text(max_size=2), max_size=2),
        "token_logprobs": st.lists(st.floats(-3, 0), max_size=2),
        "top_logprobs": st.lists(st.fixed_dictionaries({"a": st.floats(-3, 0)}), max_size=2),
        "text_offset": st.lists(st.integers(0, 9), max_size=2),
    }
)
_wholes = st.builds(
    lambda choices, usage: {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": i, "text": t, "logprobs": p, "finish_reason": f} for i, (t, p, f) in enumerate(choices)],
        **({} if usage is None else {"usage": {"prompt_tokens": usage}}),
    },
    st.lists(st.tuples(st.text(max_size=8), _logprobs, st.sampled_from(["stop", "length"])), min_size=1, max_size=3),
    st.none() | st.integers(0, 5),
)


@given(_wholes)
def test_a_whole_completion_survives_being_streamed(whole: dict[str, Any]) -> None:
    events = unfold_texts(json.dumps(whole).encode())
    assert json.loads(fold_texts(events)) == whole
    body = {"model": "m", "prompt": ["x"] * len(whole["choices"])}
    assert followed("openai-completions", body, events)[1].unfit is None


def test_texts_of_interleaved_choices_are_joined_by_index() -> None:
    events = [
        event(
            {
                "id": "1",
                "choices": [{"index": i, "text": t, "finish_reason": f, "logprobs": {"tokens": [t]}}],
                "usage": None,
            }
        )
        for i, t, f in [(1, "b", None), (0, "a", None), (1, "B", "stop"), (0, "A", "length")]
    ]
    whole = json.loads(fold_texts([*events, Event(b"", DONE)]))
    assert [(c["text"], c["finish_reason"], c["logprobs"]["tokens"]) for c in whole["choices"]] == [
        ("aA", "length", ["a", "A"]),
        ("bB", "stop", ["b", "B"]),
    ]
    assert "usage" not in whole


def test_log_probabilities_of_a_token_called_index_stay_apart() -> None:
    def chunk(text: str, finish: str | None) -> Event:
        logprobs = {"tokens": [text], "top_logprobs": [{"index": 0}]}
        return event({"choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": finish}]})

    (choice,) = json.loads(fold_texts([chunk("index", None), chunk("index", "stop")]))["choices"]
    assert choice["logprobs"] == {"tokens": ["index", "index"], "top_logprobs": [{"index": 0}, {"index": 0}]}


def test_what_is_no_completion_is_refused() -> None:
    with pytest.raises(ValueError, match="no completion"):
        unfold_texts(b"{}")
    with pytest.raises(ValueError, match="no choices"):
        fold_texts([Event(b"", DONE)])
