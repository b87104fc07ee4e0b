"""What readers share: samples, faults, lenient values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze.readers import by_name, readers, sniff
from edgeinf.analyze.readers.base import (
    LineReader,
    WholeReader,
    count,
    decode_line,
    embedded,
    number,
    obj,
    path_of,
    sample_of,
    text,
)
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.core.errors import UsageError
from tests.analyze.making import ask, run, write
from tests.analyze.readers.reading import SAMPLES, everything, faults, sniffed

BEGINNINGS = [p.read_bytes()[:500] for p in sorted(SAMPLES.iterdir())]
DAMAGED = st.tuples(st.sampled_from(BEGINNINGS), st.integers(0, 500), st.binary(max_size=2)).map(
    lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] + 1 :]
)
LINE_READERS = [name for name, reader in readers().items() if isinstance(reader, LineReader)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b'{"a": 1', "cut off"), (b"nonsense", "not JSON"), (b'"\xff"', "not"), (b"[1]", "not a JSON object")],
)
def test_damage_has_one_reason_for_equal_faults(line: bytes, reason: str) -> None:
    with pytest.raises(Damaged, match=reason):
        decode_line(line)


@pytest.mark.parametrize("name", LINE_READERS)
@settings(deadline=None, max_examples=60)
@given(line=st.one_of(st.binary(max_size=60), DAMAGED))
def test_no_line_is_fatal(name: str, line: bytes) -> None:
    reader = by_name(name)
    try:
        found = reader.read_line(line)  # type: ignore[attr-defined]
    except (Damaged, NotARequest):
        return
    assert isinstance(found, Record | list)


DEEP = b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}\n"


@pytest.mark.parametrize("name", readers())
def test_what_is_nested_without_end_is_damage(name: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(DEEP * 3)
    assert not [found for found in everything(by_name(name), tmp_path / "log") if isinstance(found, Record)]
    assert sample_of("log", str(tmp_path / "log")).values == ()


def test_a_line_that_is_nested_without_end_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", [DEEP, ask(at=0), DEEP, ask(at=1)]))
    assert (found.log.rows, dict(found.log.skipped)) == (2, {"nested too deeply": 2})


@pytest.mark.parametrize("name", sorted(p.name for p in SAMPLES.iterdir()))
def test_every_sample_is_sniffed_by_one_reader_only(name: str) -> None:
    sample = sample_of(name, str(SAMPLES / name))
    scores = sorted((reader.sniff(sample) for reader in readers().values()), reverse=True)
    assert scores[0] >= 0.5
    assert scores[0] > scores[1]
    assert sniffed(name) in readers()


def test_a_format_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("a b c\n")
    with pytest.raises(UsageError, match="cannot tell the format"):
        sniff(sample_of("log", str(path)))
    with pytest.raises(UsageError) as refusal:
        by_name("langfus")
    assert refusal.value.hint == "did you mean 'langfuse'?"


def test_faults_of_a_file_are_told_apart(tmp_path: Path) -> None:
    lines = b'{"type": "SPAN"}\n{"type": "GENERATION", "input": 5}\n{"ty\n'
    assert faults(by_name("langfuse"), lines, tmp_path) == [
        "an observation of type span", "its input is neither text nor messages", "cut off",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "value", "wanted"),
    [
        (text, "", None), (text, 5, "5"), (text, True, None), (text, {}, None),
        (number, "1.5", 1.5), (number, "x", None), (number, True, None), (number, "nan", None), (number, 10**400, None),
        (count, -1, None), (count, "7", 7), (count, 7.9, 7), (count, None, None), (count, "inf", None),
        (obj, '{"a": 1}', {"a": 1}), (obj, "x", {}), (obj, [1], {}), (embedded, "[" * 5000, "[" * 5000),
        (path_of, "https://x/v1/a?b", "/v1/a"), (path_of, "http://[", None), (path_of, None, None),
    ],
)  # fmt: skip
def test_values_are_read_leniently(read: Any, value: Any, wanted: Any) -> None:
    assert read(value) == wanted


@pytest.mark.parametrize("name", readers())
def test_a_reader_is_of_one_kind(name: str) -> None:
    reader = by_name(name)
    assert isinstance(reader, LineReader) is not isinstance(reader, WholeReader)
