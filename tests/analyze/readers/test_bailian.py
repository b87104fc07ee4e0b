"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.blocks import chained
from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("bailian.jsonl",): [
        {
            "at": 0.0,
            "session": "0",
            "route": "text",
            "input_tokens": 24,
            "output_tokens": 6,
            "blocks": chained([0, 1]),
            "id": "0",
        },
        {
            "at": 7.0,
            "session": "0",
            "route": "text",
            "input_tokens": 50,
            "output_tokens": 6,
            "blocks": chained([0, 2, 3, 4]),
            "id": "1",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "bailian"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
