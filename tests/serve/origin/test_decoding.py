"""Undoing a content coding, piece by piece and bounded."""

from __future__ import annotations

import gzip
import zlib

import pytest

from edgeinf.core.errors import CallError
from edgeinf.serve.origin.decoding import Inflater, inflate_body, inflater

TEXT = b"data: hello\n\n" * 50


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(TEXT),
        zlib.compress(TEXT),
        gzip.compress(TEXT[:20]) + gzip.compress(b"") + gzip.compress(TEXT[20:]),
    ],
    ids=["gzip", "deflate", "members"],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pieces_of_any_size_give_the_text(packed: bytes, size: int):
    state = Inflater()
    assert b"".join(state.feed(packed[i : i + size]) for i in range(0, len(packed), size)) == TEXT
    assert state.whole


def test_a_member_that_is_cut_short_or_no_member_is_seen():
    state = Inflater()
    state.feed(gzip.compress(TEXT) + gzip.compress(TEXT)[:-5])
    assert not state.whole
    with pytest.raises(ValueError, match="not gzip"):
        Inflater().feed(gzip.compress(TEXT) + b"more")


def test_what_is_cut_short_is_not_whole():
    state = Inflater()
    state.feed(gzip.compress(TEXT)[:-5])
    assert not state.whole


@pytest.mark.parametrize("coding", [None, b"", b"identity", b" Identity "])
def test_identity_needs_no_decoder(coding: bytes | None):
    assert inflater(coding) is None


def test_an_unknown_coding_is_named():
    with pytest.raises(ValueError, match="'br' is not understood"):
        inflater(b"br")


@pytest.mark.parametrize(
    ("raw", "coding", "status"),
    [
        (gzip.compress(b"x" * 5000), "gzip", 413),
        (gzip.compress(b"x" * 600) * 2, "gzip", 413),
        (gzip.compress(b"x" * 500)[:-4], "gzip", 400),
        (b"no gzip at all", "gzip", 400),
        (b"{}", "br", 415),
    ],
    ids=["bomb", "bomb in members", "cut", "garbage", "unknown"],
)
def test_a_clients_body_is_refused_with_the_right_status(raw: bytes, coding: str, status: int):
    with pytest.raises(CallError) as refused:
        inflate_body(raw, coding, 1000)
    assert refused.value.status == status


def test_a_clients_body_within_the_limit_is_read():
    assert inflate_body(gzip.compress(b"x" * 1000), "gzip", 1000) == b"x" * 1000
