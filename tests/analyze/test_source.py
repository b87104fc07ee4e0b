"""Bytes from files in any wrapping, cut into whole lines."""

from __future__ import annotations

import gzip
import io
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze.source import Sources, chunks, expand, lines_of, open_sources
from edgeinf.core.errors import UsageError

LINES = b"one\ntwo\n\nthree"


def _clear(name: str) -> tuple[bytes, str]:
    with ExitStack() as stack:
        sources = open_sources([name], stack)
        return Path(sources.paths[0]).read_bytes(), sources.paths[0]


@pytest.mark.parametrize(
    "packed",
    [
        LINES,
        gzip.compress(LINES),
        gzip.compress(LINES[:5]) + gzip.compress(LINES[5:]),
        zstandard.compress(LINES),
        zstandard.compress(LINES[:5]) + zstandard.compress(LINES[5:]),
    ],
    ids=["plain", "gzip", "gzip members", "zstd", "zstd frames"],
)
def test_a_file_is_unpacked_by_its_first_bytes(tmp_path: Path, packed: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(packed)
    assert _clear(str(path))[0] == LINES


def test_a_file_cut_short_gives_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"x" * 100_000)[:-20])
    assert set(_clear(str(path))[0]) == {ord("x")}


def test_temporary_files_are_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(LINES))
    assert not Path(_clear(str(path))[1]).exists()


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(LINES))))
    assert _clear("-")[0] == LINES


@pytest.mark.parametrize("content", [b"\x1f\x8bgarbage", b"\x28\xb5\x2f\xfdgarbage"], ids=["gzip", "zstd"])
def test_damaged_packing_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="damaged"):
        _clear(str(path))


def test_globs_expand_in_order_and_nothing_is_an_error(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_bytes(b"")
    assert expand([str(tmp_path / "*.jsonl")]) == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    with pytest.raises(UsageError, match="there is no file"):
        expand([str(tmp_path / "*.gz")])
    with pytest.raises(UsageError, match="is a directory"):
        _clear(str(tmp_path))


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b" ")), max_size=20), st.integers(1, 50))
def test_chunks_hold_every_line_once(lines: list[bytes], size: int) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\n".join(lines))
        file.flush()
        length = Path(file.name).stat().st_size
        found = [
            line
            for chunk in chunks(Sources((file.name,), (file.name,), (length,)), size)
            for _, line in lines_of(file.name, chunk.start, chunk.end)
        ]
    assert found == [line for line in lines if line and not line.isspace()]
