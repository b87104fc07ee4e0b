"""What passes is what was sent, however it is cut, spelt or packed (P70 to P82)."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
import zlib
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Listen, Memory
from edgeinf.core.wire import sse
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, chat, data, messages, proxying, region, text_of

CHAT = "/v1/chat/completions"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (CHAT, chat(stream=True, stream_options={"include_usage": True})),
    "completions": (
        "/v1/completions",
        {"model": "m", "prompt": "hi", "stream": True, "stream_options": {"include_usage": True}},
    ),
    "messages": ("/v1/messages", messages(stream=True)),
    "responses": ("/v1/responses", {"model": "m", "input": "hi", "stream": True}),
}
SHAPE = {"unicode": True, "tokens": 12, "reasoning": 2, "tool_calls": [{"parts": 3}]}


async def _directly(origin: MockOrigin, path: str, body: dict[str, Any]) -> bytes:
    async with httpx.AsyncClient(base_url=origin.url) as client:
        return (await client.post(path, json=body)).content


@pytest.mark.parametrize(
    "fault",
    ["split;size=1", "split;size=7", "split;at=utf8", "split;size=1000", "gzip", "crlf", "cr", "bom", "eof", "close"],
)
@pytest.mark.parametrize("dialect", ASKED)
async def test_a_stream_arrives_whole_however_it_is_sent(
    dialect: str, fault: str, origin: MockOrigin, proxy: Proxy
) -> None:
    """P74, P75: the same events on the miss and on the hit."""
    path, body = ASKED[dialect]
    origin.use({"answer": SHAPE, "fixed_ids": True})
    expected = sse.decode_all(await _directly(origin, path, body))
    origin.use({"answer": SHAPE, "fixed_ids": True, "fault": fault})
    first, again = await proxy.post(path, body), await proxy.post(path, body)
    assert sse.decode_all(first.content) == expected
    assert sse.decode_all(again.content) == expected
    assert again.headers["x-edgeinf-cache"] == "hit"
    assert "�" not in first.text + again.text
    assert not {"content-encoding", "content-length"} & set(first.headers)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dialect", ASKED)
async def test_a_stream_cut_anywhere_is_relayed_byte_for_byte(dialect: str, seed: int, proxy: Proxy) -> None:
    """The bytes of every sample, cut at random, from a server that is nothing but a socket."""
    path, body = ASKED[dialect]
    async with MockOrigin({"answer": SHAPE, "fixed_ids": True}) as sample:
        raw = await _directly(sample, path, body)
    rng = random.Random(seed)
    cuts = sorted(rng.sample(range(1, len(raw)), 40))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l"))
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in pieces:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, proxying(region(url, "r"), cache=Cache(disk=None)) as front:
        first, again = await front.post(path, body), await front.post(path, body)
    assert first.content == raw
    assert again.content == raw
    assert again.headers["x-edgeinf-cache"] == "hit"


async def test_comments_are_never_data_and_never_kept(origin: MockOrigin, proxy: Proxy) -> None:
    """P70."""
    origin.use({"fault": "comment;times=3;after=2"})
    first, again = await proxy.post(CHAT, chat(stream=True)), await proxy.post(CHAT, chat(stream=True))
    for answer in (first, again):
        assert not any("OPENROUTER" in str(event) for event in data(answer))
        assert all(line.startswith((":", "data:")) or not line for line in answer.text.split("\n"))
    assert "OPENROUTER" not in again.text
    assert text_of(first) == text_of(again)


@pytest.mark.parametrize("fault", ["fields", "fields;event=x", "fields;retry=5", "fields;id=false;event=message"])
async def test_fields_beside_the_data_confuse_nobody(fault: str, origin: MockOrigin, proxy: Proxy) -> None:
    """P73."""
    origin.use({"fixed_ids": True})
    expected = data(await proxy.post(CHAT, chat(stream=True), cache_control="no-store"))
    origin.use({"fixed_ids": True, "fault": fault})
    first, again = await proxy.post(CHAT, chat(stream=True)), await proxy.post(CHAT, chat(stream=True))
    assert data(first) == data(again) == expected
    assert again.headers["x-edgeinf-cache"] == "hit"


async def test_nothing_is_put_inside_an_event(origin: MockOrigin, proxy: Proxy) -> None:
    """P72: an event that comes in two halves, a second apart, is passed on as one."""
    origin.use({"fault": "split;size=20;gap=10ms", "answer": {"tokens": 2}})
    answer = await proxy.post(CHAT, chat(stream=True))
    assert all(line.startswith("data: ") for line in answer.text.split("\n") if line)
    assert data(answer)[-1] == "[DONE]"


async def test_what_follows_the_end_is_not_kept(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"fault": "junk-tail"})
    await proxy.post(CHAT, chat(stream=True))
    origin.use({})
    again = await proxy.post(CHAT, chat(stream=True))
    assert data(again)[-1] == "[DONE]"
    assert "not json" not in again.text


@pytest.mark.parametrize("dialect", ASKED)
async def test_a_packed_whole_answer_arrives_plain(dialect: str, origin: MockOrigin, proxy: Proxy) -> None:
    """P75."""
    path, body = ASKED[dialect]
    body = {name: value for name, value in body.items() if not name.startswith("stream")}
    origin.use({"fault": "gzip", "fixed_ids": True})
    first, again = await proxy.post(path, body), await proxy.post(path, body)
    for answer in (first, again):
        assert "content-encoding" not in answer.headers
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert answer.json()
    assert again.json() == first.json()


async def test_a_packed_answer_that_is_cut_is_no_answer(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"fault": ["gzip", "cut;tokens=4"]})
    answer = await proxy.post(CHAT, chat(stream=True))
    assert "[DONE]" not in answer.text
    origin.use({})
    assert (await proxy.post(CHAT, chat(stream=True))).headers["x-edgeinf-cache"] == "miss"


async def test_a_packed_request_is_read_and_hits_with_the_plain_one(origin: MockOrigin, proxy: Proxy) -> None:
    """P76."""
    raw = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    for coding, packed in (("gzip", gzip.compress(raw)), ("deflate", zlib.compress(raw))):
        headers = {"content-type": "application/json", "content-encoding": coding}
        assert (await proxy.client.post(CHAT, content=packed, headers=headers)).status_code == 200
    assert (await proxy.post(CHAT, chat())).headers["x-edgeinf-cache"] == "hit"
    assert origin.count == 1
    odd = await proxy.client.post(CHAT, content=raw, headers={"content-encoding": "snappy"})
    assert odd.status_code == 415


async def test_a_bomb_is_refused(origin: MockOrigin) -> None:
    """P76."""
    bomb = gzip.compress(b" " * 50_000_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    async with proxying(region(origin, "r"), listen=Listen(max_body=1_000_000)) as proxy:
        assert (await proxy.client.post(CHAT, content=bomb, headers=headers)).status_code == 413
        assert (await proxy.client.post(CHAT, content=bomb[:-9], headers=headers)).status_code in (400, 413)
        assert (await proxy.post(CHAT, chat())).status_code == 200
    assert origin.count == 1


@pytest.mark.parametrize("path", [CHAT, "/v1/files", "/v1/moderations"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed_with_a_credential(status: int, path: str, make_origin: Any) -> None:
    """P78."""
    sink = await make_origin()
    origin = await make_origin({"fault": f"redirect;to={sink.url};status={status}"})
    body = {**chat(), "input": "x"}
    async with proxying(region(origin, "r", passthrough=True)) as proxy:
        secrets = {"authorization": "Bearer sk-secret-0123456789", "x-api-key": "sk-secret-0123456789"}
        answer = await proxy.client.post(path, json=body, headers=secrets)
    assert answer.status_code == 502
    assert "redirect" in answer.text
    assert sink.calls == []


async def test_no_hop_by_hop_header_passes(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"headers": {"connection": "x-private", "x-private": "1", "keep-alive": "timeout=5", "te": "trailers"}})
    headers = {"te": "trailers", "proxy-authorization": "Basic c2VjcmV0", "connection": "x-mine", "x-mine": "1"}
    answer = await proxy.client.post(CHAT, json=chat(), headers=headers)
    assert not {"x-private", "keep-alive", "te"} & set(answer.headers)
    assert not {"te", "proxy-authorization", "x-mine"} & set(origin.calls[0].headers)
    relayed = await proxy.client.post("/v1/echo", content=b"x", headers=headers)
    assert relayed.content == b"x"
    assert not {"te", "proxy-authorization", "x-mine"} & set(origin.calls[1].headers)


async def test_misses_leave_nothing_behind_beyond_the_limit(origin: MockOrigin) -> None:
    """P82, at the scale of a test: what is held is what the limits say."""
    cache = Cache(disk=None, memory=Memory(max_size=300_000))
    async with proxying(region(origin, "r"), cache=cache) as proxy:
        tasks = len(asyncio.all_tasks())
        for number in range(0, 400, 20):
            bodies = [chat(f"{number + n} " + "x" * 500, stream=n % 2 == 0) for n in range(20)]
            await asyncio.gather(*(proxy.post(CHAT, body) for body in bodies))
        (memory,) = await proxy.runtime.tiers.stats()
        assert 0 < memory.size_bytes <= 300_000
        assert memory.evicted > 0
        assert proxy.runtime.flights == {}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                while len(asyncio.all_tasks()) > tasks + 25:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) <= tasks + 25  # connections that are kept open
    assert origin.count == 400
