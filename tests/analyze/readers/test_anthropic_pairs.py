"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("anthropic_messages_pairs.jsonl",): [
        {
            "model": "claude-haiku-4-5",
            "path": "/v1/messages",
            "status": 200,
            "input_tokens": 24,
            "cached_tokens": 0,
            "cache_write_tokens": 0,
            "output_tokens": 6,
            "id": "msg_0",
            "answer": "30 days with receipt.",
        },
        {
            "model": "claude-haiku-4-5",
            "path": "/v1/messages",
            "status": 200,
            "input_tokens": 24,
            "cached_tokens": 0,
            "cache_write_tokens": 0,
            "output_tokens": 6,
            "id": "msg_1",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "anthropic-pairs"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
