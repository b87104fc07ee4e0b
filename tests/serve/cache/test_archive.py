"""Entries travel in a file and are verified on the way in."""

from __future__ import annotations

import io

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.serve.cache.archive import read_archive, seed_name, write_archive
from edgeinf.serve.cache.entry import encode
from tests.serve.cache.stored import entry, key

A = key("a").find


def _archive(seed: int = 7) -> list[bytes]:
    file = io.BytesIO()
    assert write_archive(file, [(A, encode(entry()))], seed) == 1
    return file.getvalue().splitlines(keepends=True)


def test_what_was_written_is_read() -> None:
    assert list(read_archive(_archive(), 7, now=1010.0)) == [(A, encode(entry()), 50.0)]


def test_what_outlived_its_time_is_left_out() -> None:
    assert list(read_archive(_archive(), 7, now=2000.0)) == [None]


def test_a_damaged_line_is_left_out_and_the_rest_is_read() -> None:
    lines = _archive()
    damaged = lines[1].replace(b'"raw":"', b'"raw":"AAAA')
    assert list(read_archive([lines[0], damaged, b"{}\n", lines[1]], 7, now=1010.0))[:2] == [None, None]


def test_keys_of_another_installation_are_refused() -> None:
    with pytest.raises(UsageError, match="another installation"):
        list(read_archive(_archive(seed=7), 8, now=1010.0))


@pytest.mark.parametrize("lines", [[], [b"hello\n"], [b"{}\n"]], ids=["empty", "text", "other json"])
def test_another_file_is_refused(lines: list[bytes]) -> None:
    with pytest.raises(UsageError, match="no archive"):
        list(read_archive(lines, 7, now=1010.0))


def test_the_seed_is_not_in_its_name() -> None:
    assert "123456789" not in seed_name(123456789)
