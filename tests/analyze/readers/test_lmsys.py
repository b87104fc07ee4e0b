"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("lmsys_chat_1m.jsonl",): [
        {
            "session": "00000000000000000000000000000000",
            "model": "vicuna-13b",
            "path": "/v1/chat/completions",
            "answer": "30 days with receipt.",
        },
        {
            "session": "00000000000000000000000000000001",
            "model": "vicuna-13b",
            "path": "/v1/chat/completions",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "lmsys"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
