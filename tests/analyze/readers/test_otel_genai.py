"""The sample of the format, read to its records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.analyze.readers import by_name
from edgeinf.analyze.record import Record
from tests.analyze.making import write
from tests.analyze.readers.reading import everything, fields, read, sniffed

EXPECTED: dict[tuple[str, ...], list[dict[str, Any]]] = {
    ("otel_genai_otlp.jsonl",): [
        {
            "at": 1793527200.0,
            "tenant": "acme",
            "session": "s1",
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 820.0,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "trace_id": "0000000000000000000000000000000a",
            "answer": "30 days with receipt.",
        },
        {
            "at": 1793527207.0,
            "tenant": "acme",
            "session": "s1",
            "route": "faq",
            "model": "gpt-4o-mini",
            "path": "/v1/chat/completions",
            "status": 200,
            "latency_ms": 790.0,
            "input_tokens": 24,
            "cached_tokens": 0,
            "output_tokens": 6,
            "trace_id": "0000000000000000000000000000000a",
            "answer": "30 days with receipt.",
        },
    ]
}


@pytest.mark.parametrize("files", EXPECTED, ids=lambda files: str(files[0]))
def test_the_sample_gives_the_expected_records(files: tuple[str, ...]) -> None:
    assert sniffed(files[0]) == "otel-genai"
    assert [fields(record) for record in read(*files)] == EXPECTED[files]


@pytest.mark.parametrize(
    "value",
    ["NaN", "1.5", "\u00b2", "9" * 5000, {}, [], True, None],
    ids=["nan", "float", "power", "long", "object", "list", "truth", "null"],
)
def test_values_of_another_kind_are_left_out(value: Any, tmp_path: Path) -> None:
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": value}},
        {"key": value, "value": {"arrayValue": {"values": value}}},
    ]
    span = {"attributes": attributes, "startTimeUnixNano": value, "endTimeUnixNano": "1793527201000000000"}
    rows = [
        {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]},
        {"resourceSpans": 5},
        {"resourceSpans": [{"scopeSpans": True, "resource": {"attributes": 5}}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "gen_ai.operation.name"}]}]}]}]},
    ]
    found = everything(by_name("otel-genai"), write(tmp_path / "log", rows))
    assert [isinstance(f, Record) for f in found] == [True, False, False, False]
