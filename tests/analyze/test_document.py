"""The document is JSON, whatever the log lacks, and says why something is null."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeinf.analyze.document import document
from tests.analyze.making import ask, run, write
from tests.analyze.readers.reading import SAMPLES

NAMES = sorted(
    p.name for p in SAMPLES.iterdir() if p.name not in ("openai_batch_output.jsonl", "openai_stored_messages.json")
)


def _nulls(value: Any, path: str = "") -> list[str]:
    if value is None:
        return [path]
    if isinstance(value, dict):
        return [p for key, inner in value.items() for p in _nulls(inner, f"{path}.{key}".lstrip("."))]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_a_document(name: str) -> None:
    found = document(run(SAMPLES / name))
    json.dumps(found, allow_nan=False)
    assert found["input"]["records"] == 2
    for path in _nulls(found):
        assert any(path == known or path.startswith(known + ".") for known in found["absent"]), path


def test_the_same_two_requests_hit_once_from_safe_on(tmp_path: Path) -> None:
    rows = document(run(SAMPLES / "edgeinf_generic.jsonl"))["levels"]
    assert [(row["level"], row["hits"], row["added_hits"]) for row in rows] == [
        ("exact", 0, 0), ("safe", 1, 1), ("loose", 1, 0), ("masked", 1, 0),
    ]  # fmt: skip


def test_a_level_that_the_log_cannot_support_has_the_same_fields_without_figures() -> None:
    known = document(run(SAMPLES / "edgeinf_generic.jsonl"))
    found = document(run(SAMPLES / "mooncake.jsonl"))
    for row in found["levels"]:
        assert set(row) == set(known["levels"][0])
        assert set(row["rates"]) == set(known["levels"][0]["rates"])
    assert found["segments"] == dict.fromkeys(known["segments"])
    assert "segments.hour" in found["absent"]


def test_sampled_and_deterministic_calls_are_shown_apart(tmp_path: Path) -> None:
    rows = [ask("a", at=n, body={"temperature": 0}) for n in range(3)] + [ask("b", at=9), ask("b", at=10)]
    found = document(run(write(tmp_path / "log", rows)))["eligible"]["by_sampling"]
    assert found == {"deterministic": {"requests": 3, "hits": 2}, "sampled": {"requests": 2, "hits": 1}}
