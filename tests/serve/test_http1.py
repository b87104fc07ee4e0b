"""Answers are framed so that any client reads them whole (RFC 9112)."""

from __future__ import annotations

import http.client
import io
from typing import Any

import pytest

from edgeinf.serve import http1


class _Socket:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, *_: Any, **__: Any) -> io.BytesIO:
        return io.BytesIO(self._raw)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("body", [b"{}", b"", b"data: x\r\n\r\n" * 999], ids=["short", "empty", "long"])
@pytest.mark.parametrize("status", [200, 429, 418])
def test_a_client_reads_what_was_written(status: int, body: bytes, stream: bool) -> None:
    head = http1.status_line(status) + http1.lines([(b"a", b"1"), (b"b", b"x: y")])
    answer = http.client.HTTPResponse(_Socket(head + b"".join(http1.framed(body, stream=stream))))  # type: ignore[arg-type]
    answer.begin()
    assert (answer.status, answer.getheader("a"), answer.getheader("b")) == (status, "1", "x: y")
    assert answer.read() == body
