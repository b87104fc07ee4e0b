"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("azure_apim_llm_log.jsonl",): [
        {
            "at": 1793527200.0,
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "input_tokens": 24,
            "output_tokens": 6,
            "id": "rq0",
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "input_tokens": 24,
            "output_tokens": 6,
            "id": "rq1",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "azure-apim"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
