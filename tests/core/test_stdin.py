"""A command whose standard input is closed says so."""

from __future__ import annotations

import gzip
import io
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard

from edgeinf.core.errors import UsageError
from edgeinf.core.stdin import read_whole
from tests.cli.commands import command


@pytest.mark.parametrize(
    "arguments",
    [("analyze", "-"), ("validate", "-"), ("explain", "-", "other.json")],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_closed_standard_input_is_unreadable_input(arguments: tuple[str, ...], tmp_path: Path) -> None:
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command(*arguments)]
    done = subprocess.run(closed, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read -: standard input is closed\nhint: give a file\n"


PACKED = {"plain": b"{}", "gzip": gzip.compress(b"{}"), "zstd": zstandard.compress(b"{}")}


@pytest.mark.parametrize("data", PACKED.values(), ids=PACKED)
def test_a_file_and_standard_input_are_read_in_the_clear(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(data)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert read_whole(str(tmp_path / "file")) == read_whole("-") == b"{}"


def test_what_cannot_be_read_or_unpacked_is_named(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(PACKED["gzip"][:-9])
    with pytest.raises(UsageError, match=r"cannot unpack .*cut"):
        read_whole(str(tmp_path / "cut"))
    with pytest.raises(UsageError, match=r"cannot read .*absent: no such file"):
        read_whole(str(tmp_path / "absent"))
