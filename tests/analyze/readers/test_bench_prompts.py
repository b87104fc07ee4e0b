"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("aiperf_multi_turn.jsonl",): [
        {"at": 0.0, "session": "s1", "path": "/v1/chat/completions"},
        {"at": 7.0, "session": "s1", "path": "/v1/chat/completions"},
    ],
    ("vllm_custom.jsonl",): [
        {"path": "/v1/chat/completions", "output_tokens": 6},
        {"path": "/v1/chat/completions", "output_tokens": 6},
    ],
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "bench-prompts"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
