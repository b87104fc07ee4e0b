"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("azure_llm_inference_2023.csv",): [
        {"at": 1793527200.0, "input_tokens": 24, "output_tokens": 6},
        {"at": 1793527207.0, "input_tokens": 24, "output_tokens": 6},
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "azure-llm-inference"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
