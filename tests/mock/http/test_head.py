"""Status lines and headers."""

from __future__ import annotations

import pytest

from edgeinf.mock.http.head import render_head
from edgeinf.mock.values import Plan


@pytest.mark.parametrize(
    ("length", "chunked", "line"),
    [(3, False, b"content-length: 3"), (None, True, b"transfer-encoding: chunked"), (None, False, None)],
    ids=["length", "chunked", "eof"],
)
def test_the_framing_is_announced(length: int | None, chunked: bool, line: bytes | None) -> None:
    head = render_head(Plan(pieces=(), headers=[("x-a", "ü")]), length=length, chunked=chunked)

    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert b"x-a: \xfc" in lines
    assert (line in lines) if line else not any(b"transfer" in one or b"length" in one for one in lines)
    assert head.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [(529, "", b"529 Unknown"), (429, "", b"429 Too Many Requests"), (500, "Oh", b"500 Oh")],
)
def test_every_status_has_a_phrase(status: int, reason: str, said: bytes) -> None:
    assert said in render_head(Plan(pieces=(), status=status, reason=reason), length=0, chunked=False)
