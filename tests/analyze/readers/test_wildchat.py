"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("wildchat.jsonl",): [
        {
            "at": 1793527200.0,
            "user": "z",
            "session": "00000000000000000000000000000000",
            "model": "gpt-4o-mini-2024-07-18",
            "path": "/v1/chat/completions",
            "latency_ms": 820.0,
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "user": "z",
            "session": "00000000000000000000000000000001",
            "model": "gpt-4o-mini-2024-07-18",
            "path": "/v1/chat/completions",
            "latency_ms": 790.0,
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "wildchat"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
