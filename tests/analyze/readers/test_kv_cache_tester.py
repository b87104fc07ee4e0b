"""The sample of the format, read to its records."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.blocks import chained
from tests.analyze.readers.reading import fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("kv_cache_tester_trace.json",): [
        {
            "at": 0.0,
            "session": "trace_x",
            "model": "claude-haiku-4-5",
            "latency_ms": 820.0,
            "input_tokens": 130,
            "output_tokens": 6,
            "blocks": chained([1, 2], "trace_x"),
        },
        {
            "at": 7.0,
            "session": "trace_x",
            "model": "claude-haiku-4-5",
            "latency_ms": 790.0,
            "ttft_ms": 300.0,
            "input_tokens": 200,
            "output_tokens": 6,
            "blocks": chained([1, 2, 3], "trace_x"),
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "kv-cache-tester"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]
