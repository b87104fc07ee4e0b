"""Faults of the spelling: every variant carries the same events."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from edgeinf.mock import Kind, MockOrigin
from edgeinf.mock.faults.spelling import _utf8_edges
from tests.mock.http_client import Reply, ask, chat, request_bytes

SCRIPT: dict[str, Any] = {"answer": {"text": "a世界😀é", "tokens": 4}, "fixed_ids": True}


async def got(origin: MockOrigin, *faults: str, stream: bool = True) -> Reply:
    origin.use({**SCRIPT, "fault": list(faults)})
    return await ask(origin, "/v1/chat/completions", chat(stream=stream))


@pytest.mark.parametrize(("fault", "end"), [("crlf", b"\r\n"), ("cr", b"\r")])
async def test_lines_end_otherwise(origin: MockOrigin, fault: str, end: bytes) -> None:
    plain = await got(origin)
    other = await got(origin, fault)

    assert other.body == plain.body.replace(b"\n", end)


async def test_a_byte_order_mark_comes_first(origin: MockOrigin) -> None:
    plain = await got(origin)

    assert (await got(origin, "bom")).body == b"\xef\xbb\xbf" + plain.body


async def test_comments_stand_between_events(origin: MockOrigin) -> None:
    reply = await got(origin, "comment;after=1;times=2")

    assert [event.startswith(": OPENROUTER PROCESSING") for event in reply.events[:4]] == [False, True, True, False]


async def test_events_can_carry_other_fields(origin: MockOrigin) -> None:
    reply = await got(origin, "fields;event=x;retry=100")

    assert reply.events[1].startswith("retry: 100\nid: 1\nevent: x\ndata: {")


async def test_the_last_empty_line_can_be_missing_and_more_can_follow(origin: MockOrigin) -> None:
    assert (await got(origin, "no-blank")).body.endswith(b"data: [DONE]\n")
    assert (await got(origin, "no-blank")).complete
    assert (await got(origin, "junk-tail")).body.endswith(b"data: [DONE]\n\ndata: {not json\n\n")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_gzip_is_the_same_body_compressed(origin: MockOrigin, stream: bool) -> None:
    plain = await got(origin, stream=stream)
    packed = await got(origin, "gzip", stream=stream)

    assert packed.headers["content-encoding"] == "gzip"
    assert packed.plain == plain.body


@pytest.mark.parametrize("fault", ["split", "split;size=7", "split;at=utf8"])
async def test_split_bytes_are_the_same_bytes(origin: MockOrigin, fault: str) -> None:
    plain = await got(origin)
    split = await got(origin, fault)

    assert split.body == plain.body
    assert split.complete
    assert origin.calls[1].event_kinds == origin.calls[0].event_kinds
    assert Kind.PART not in origin.calls[1].event_kinds


async def test_split_pieces_arrive_apart(origin: MockOrigin) -> None:
    origin.use({**SCRIPT, "fault": "split;at=utf8;gap=15ms"})
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(request_bytes("POST", "/v1/chat/completions", chat(stream=True)))
    reads = []
    while not reads or b"[DONE]" not in reads[-1]:
        reads.append(await asyncio.wait_for(reader.read(1 << 16), 10))
    writer.close()

    assert any(read[:1] and not _decodes(read) for read in reads)


def _decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_cuts_lie_inside_characters_only() -> None:
    data = "a世😀".encode()

    assert _utf8_edges(data) == [2, 3, 5, 6, 7]
