"""Edited output items."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.dialects.responses_editing import ResponsesEditor
from edgeinf.core.dialects.responses_folding import fold_response, unfold_response
from tests.core.dialects.edits import Shout

REASONING = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
CALL = {"type": "function_call", "id": "f", "call_id": "c", "name": "n", "arguments": "{}", "status": "completed"}


def message(*texts: str) -> dict[str, Any]:
    """Return a message item."""
    parts = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts}


@pytest.mark.parametrize(
    "output",
    [[message("a")], [REASONING, message("a", "b")], [message("a"), REASONING, CALL], [CALL], [message("")]],
    ids=["text", "reasoning", "call", "call-only", "empty"],
)
def test_a_stream_says_what_the_whole_does_and_counts_without_holes(output: list[Any]) -> None:
    response = {"id": "x", "object": "response", "status": "completed", "output": output}
    whole = ResponsesEditor(Shout(footer="!")).whole(response)
    editor = ResponsesEditor(Shout(footer="!"))
    events = [shown for event in unfold_response(json.dumps(response).encode()) for shown in editor.event(event)]
    assert json.loads(fold_response(events))["output"] == whole["output"]
    documents = [json.loads(event.data) for event in events]
    assert [d["sequence_number"] for d in documents] == list(range(len(documents)))
    added = [d["output_index"] for d in documents if d["type"] == "response.output_item.added"]
    assert added == list(range(len(whole["output"])))
    deltas = "".join(d["delta"] for d in documents if d["type"] == "response.output_text.delta")
    texts = [part["text"] for item in whole["output"] for part in item.get("content") or ()]
    assert deltas == "".join(texts)
    assert "reasoning" not in str(documents)
