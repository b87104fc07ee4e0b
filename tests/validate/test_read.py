from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
import zstandard

from edgeinf.core.config.source import MAX_BYTES
from edgeinf.core.errors import UsageError
from edgeinf.validate.read import expand, read

TEXT = b"version: 1\n"


@pytest.mark.parametrize(
    "packed",
    [TEXT, gzip.compress(TEXT), zstandard.compress(TEXT)],
    ids=["plain", "gzip", "zstd"],
)
def test_plain_and_packed_files_read_the_same(packed: bytes, tmp_path: Path) -> None:
    file = tmp_path / "edgeinf.yaml"
    file.write_bytes(packed)
    assert read(str(file)) == TEXT


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    assert expand(["-"]) == ["-"]
    assert read("-") == TEXT


@pytest.mark.parametrize(
    "data",
    [b"\x1f\x8bgarbage", gzip.compress(TEXT * 99)[:-9], b"\x28\xb5\x2f\xfdgarbage"],
    ids=["no gzip", "cut gzip", "no zstd"],
)
def test_a_damaged_file_is_wrong_usage(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(UsageError, match="damaged"):
        read(str(tmp_path / "f"))


def test_what_unpacks_without_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(b"#" * (MAX_BYTES * 3)))
    assert len(read(str(tmp_path / "f"))) == MAX_BYTES + 1


def test_a_glob_of_directories_alone_names_no_file(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    with pytest.raises(UsageError, match="there is no file"):
        expand([str(tmp_path / "conf*")])


def test_globs_and_directories_are_followed(tmp_path: Path) -> None:
    for name in ("b/edgeinf.yaml", "a/edgeinf.yml", "c/other.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(TEXT)
    assert expand([str(tmp_path / "*" / "edgeinf.y*ml")]) == [
        str(tmp_path / n) for n in ("a/edgeinf.yml", "b/edgeinf.yaml")
    ]
    assert expand([str(tmp_path / "a")]) == [str(tmp_path / "a" / "edgeinf.yml")]
    with pytest.raises(UsageError, match=r"there is no edgeinf\.yaml in"):
        expand([str(tmp_path / "c")])
    with pytest.raises(UsageError, match="there is no file"):
        expand([str(tmp_path / "*.nothing")])


def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read(str(tmp_path))
