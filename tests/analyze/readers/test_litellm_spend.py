"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("litellm_spend_logs.jsonl",): [
        {
            "at": 1793527200.0,
            "tenant": "acme",
            "team": "acme",
            "key_id": "88dc28",
            "user": "u1",
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 820.0,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "usd": 7.2e-06,
            "cache": "miss",
            "id": "ex0",
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "tenant": "acme",
            "team": "acme",
            "key_id": "88dc28",
            "user": "u1",
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 790.0,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "usd": 7.2e-06,
            "cache": "miss",
            "id": "ex1",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "litellm-spend"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
