"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("openai_stored_list.json", "openai_stored_messages.json"): [
        {
            "at": 1793527200.0,
            "tenant": "acme",
            "route": "faq",
            "model": "gpt-4o-mini-2024-07-18",
            "path": "/v1/chat/completions",
            "status": 200,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "id": "chatcmpl-ex0",
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "tenant": "acme",
            "route": "faq",
            "model": "gpt-4o-mini-2024-07-18",
            "path": "/v1/chat/completions",
            "status": 200,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "id": "chatcmpl-ex1",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "openai-stored"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
