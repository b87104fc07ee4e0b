from __future__ import annotations

import gzip

import pytest
import zstandard

from edgeinf.core.packed import unpacked

TEXT = b"line\n" * 1000


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(TEXT[:5]) + gzip.compress(TEXT[5:]),
        zstandard.compress(TEXT),
        zstandard.compress(TEXT[:5]) + zstandard.compress(TEXT[5:]),
    ],
    ids=["plain", "gzip", "two of gzip", "zstd", "two of zstd"],
)
def test_what_is_packed_is_had_in_the_clear(data: bytes) -> None:
    assert unpacked(data) == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_no_more_is_unpacked_than_was_asked_for(pack: object) -> None:
    assert callable(pack)
    assert unpacked(pack(TEXT), 12) == TEXT[:12]


@pytest.mark.parametrize(
    "data",
    [gzip.compress(TEXT)[:-9], gzip.compress(TEXT)[:12] + b"\x00" * 20, b"\x28\xb5\x2f\xfd" + b"\xff" * 20],
    ids=["cut", "damaged", "damaged zstd"],
)
def test_damage_is_said(data: bytes) -> None:
    with pytest.raises((OSError, EOFError, ValueError)):
        unpacked(data)
