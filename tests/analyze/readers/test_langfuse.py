"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("langfuse_observation_api.jsonl",): [
        {
            "at": 1793527200.0,
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 820.0,
            "input_tokens": 24,
            "output_tokens": 6,
            "usd": 7.2e-06,
            "trace_id": "tr0",
            "id": "o0",
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 790.0,
            "input_tokens": 24,
            "output_tokens": 6,
            "usd": 7.2e-06,
            "trace_id": "tr1",
            "id": "o1",
            "answer": "30 days with receipt.",
        },
    ],
    ("langfuse_observations_v2.jsonl",): [
        {
            "at": 1793527200.0,
            "tenant": "acme",
            "user": "u1",
            "session": "s1",
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 820.0,
            "input_tokens": 24,
            "output_tokens": 6,
            "usd": 7.2e-06,
            "trace_id": "tr0",
            "id": "o0",
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "tenant": "acme",
            "user": "u1",
            "session": "s1",
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 790.0,
            "input_tokens": 24,
            "output_tokens": 6,
            "usd": 7.2e-06,
            "trace_id": "tr1",
            "id": "o1",
            "answer": "30 days with receipt.",
        },
    ],
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "langfuse"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
