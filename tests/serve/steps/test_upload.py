"""Bodies that are held where they are small, and passed on where they are not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import ClientGone, Exchange, Message
from edgeinf.serve.steps.upload import HOLD, Pieces, Upload, held


async def source(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def exchange(*messages: Message, length: int | None = None) -> Exchange:
    """Return a request whose client sends these messages."""
    left = list(messages)

    async def receive() -> Message:
        return left.pop(0)

    async def send(message: Message) -> None:
        raise AssertionError

    headers = {b"transfer-encoding": b"chunked"} if length is None else {b"content-length": b"%d" % length}
    return Exchange("POST", "/v1/files", "", headers, "", receive, send)


def part(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize("pieces", [(), (b"",), (b"abc", b"de")], ids=["nothing", "empty", "some"])
async def test_a_small_body_is_held_whole(pieces: tuple[bytes, ...]) -> None:
    assert await held(source(*pieces), 5) == b"".join(pieces)


async def test_a_large_one_passes_whole_and_is_not_begun_before_it_is_asked_for() -> None:
    left = await held(source(b"abc", b"def", b"ghi"), 5)
    assert isinstance(left, Pieces)
    assert not left.begun
    assert [piece async for piece in left] == [b"abc", b"def", b"ghi"]
    assert left.begun


async def test_an_upload_ends_with_its_last_piece() -> None:
    upload = Upload(exchange(part(b"a"), part(b"b", more=False)), 10)
    assert upload.expected
    assert [piece async for piece in upload.pieces()] == [b"a", b"b"]


async def test_what_is_too_large_is_refused_announced_or_not() -> None:
    with pytest.raises(CallError) as announced:
        Upload(exchange(length=11), 10)
    upload = Upload(exchange(part(b"123456"), part(b"78901")), 10)
    with pytest.raises(CallError) as found:
        async for _ in upload.pieces():
            pass
    assert (announced.value.status, found.value.status) == (413, 413)
    assert upload.failure is found.value


async def test_a_client_that_leaves_is_noticed() -> None:
    upload = Upload(exchange(part(b"a"), {"type": "http.disconnect"}), 10)
    with pytest.raises(ClientGone):
        async for _ in upload.pieces():
            pass


@pytest.mark.parametrize(("length", "small"), [(0, True), (HOLD, True), (HOLD + 1, False), (None, True)])
def test_only_what_is_announced_as_large_is_not_even_tried_to_hold(length: int | None, small: bool) -> None:
    assert Upload(exchange(length=length), 10 * HOLD).small is small
