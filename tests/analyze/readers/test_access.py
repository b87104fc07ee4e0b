"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("envoy_access.jsonl",): [
        {
            "at": 1793527200.0,
            "tenant": "acme",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 820.0,
            "id": "e0",
        },
        {
            "at": 1793527207.0,
            "tenant": "acme",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 790.0,
            "id": "e1",
        },
    ],
    ("nginx_access_json.log",): [
        {
            "at": 1793527200.0,
            "tenant": "acme",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 820.0,
            "cache": "miss",
        },
        {
            "at": 1793527207.0,
            "tenant": "acme",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 790.0,
            "cache": "miss",
        },
    ],
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "access-log"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
