"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("burstgpt.csv",): [
        {
            "at": 0.0,
            "session": "s1",
            "route": "Conversation log",
            "model": "ChatGPT",
            "status": 200,
            "latency_ms": 820.0,
            "input_tokens": 24,
            "output_tokens": 6,
        },
        {
            "at": 7.0,
            "route": "API log",
            "model": "GPT-4",
            "status": 500,
            "latency_ms": 790.0,
            "input_tokens": 24,
            "output_tokens": 0,
        },
    ],
    ("burstgpt_v1.csv",): [
        {
            "at": 0.0,
            "route": "Conversation log",
            "model": "ChatGPT",
            "status": 200,
            "input_tokens": 24,
            "output_tokens": 6,
        },
        {"at": 7.0, "route": "API log", "model": "GPT-4", "status": 500, "input_tokens": 24, "output_tokens": 0},
    ],
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "burstgpt"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
