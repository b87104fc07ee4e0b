"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("openai_batch_input.jsonl", "openai_batch_output.jsonl"): [
        {
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "id": "req-0",
            "answer": "30 days with receipt.",
        },
        {
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "id": "req-1",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "openai-batch"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
