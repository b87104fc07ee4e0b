"""A stream that one node fetches is read live on others, and only what is whole is ever taken for whole."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.core.key import Key
from edgeinf.mock import MockOrigin
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.fleet import redis_streams
from edgeinf.serve.fleet.outcome import Outcome
from edgeinf.serve.fleet.redis_link import RedisLink
from edgeinf.serve.fleet.redis_parts import Beat, End, Head, Hello, Lost, Piece, Writer
from edgeinf.serve.fleet.redis_streams import RedisStreams
from edgeinf.serve.flight import RECORD_LIMIT, Flight
from edgeinf.serve.runtime import make_runtime
from tests.serve.fleet.real_redis import RealRedis
from tests.serve.fleet.test_redis_fleet import nodes, until
from tests.serve.origin.raw import raw_origin
from tests.serve.running import Proxy, chat, config_for

SLOW = {"ttft": "400ms", "answer": {"tokens": 30}, "tpot": "60ms"}


class Stream:
    """One streaming call: its pieces as they come, and when."""

    def __init__(self, node: Proxy) -> None:
        self.pieces: list[bytes] = []
        self.times: list[float] = []
        self.cache = ""
        self.status = 0
        self.task = asyncio.create_task(self._run(node))

    async def _run(self, node: Proxy) -> None:
        body = chat("the same", stream=True)
        async with node.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            self.status, self.cache = answer.status_code, answer.headers["x-edgeinf-cache"]
            async for piece in answer.aiter_raw():
                self.pieces.append(piece)
                self.times.append(time.monotonic())

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)

    async def has_some(self) -> None:
        async with asyncio.timeout(20):
            while not self.pieces:  # noqa: ASYNC110 - a state of the wire
                await asyncio.sleep(0.01)

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def keys(node: Proxy, pattern: bytes) -> list[bytes]:
    link = node.runtime.tiers.far[0].link  # type: ignore[attr-defined]
    return list(await link.run(lambda client: client.keys(pattern), timeout_s=2.0))


async def published(node: Proxy) -> bool:
    return bool(await keys(node, b"edgeinf:s:*"))


async def test_a_stream_is_read_live_on_other_nodes(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    origin.use(SLOW)
    async with nodes(origin, redis, tmp_path) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        early = [Stream(made[1]), Stream(made[1])]
        await first.has_some()
        late = Stream(made[2])
        await asyncio.gather(*(each.task for each in (first, *early, late)))
        assert origin.count == 1
        assert {each.text for each in (first, *early, late)} == {first.text}
        assert (first.cache, early[0].cache, late.cache) == ("miss", "collapsed", "collapsed")
        for each in (*early, late):  # the answer takes 1.8 s from its first token on
            assert each.times[-1] - each.times[0] > 0.6
        await made[0].runtime.tiers.flush()
        assert (await made[1].ask("the same", stream=True)).headers["x-edgeinf-cache"] == "hit"


async def test_alone_a_stream_writes_nothing_for_others(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    origin.use(SLOW)
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await first.has_some()
        assert [key[:10] for key in await keys(made[0], b"*")] == [b"edgeinf:f:"]
        await first.task


async def test_what_was_published_goes_away_by_itself(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    origin.use(SLOW)
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first, second = Stream(made[0]), Stream(made[1])
        await asyncio.gather(first.task, second.task)
        link = made[0].runtime.tiers.far[0].link  # type: ignore[attr-defined]
        [key] = await keys(made[0], b"edgeinf:s:*")
        assert 0 < await link.run(lambda client: client.pttl(key)) <= 30_000


async def test_who_has_nothing_of_an_answer_that_fails_asks_for_itself(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    origin.use({**SLOW, "rules": [{"when": {"nth": "1"}, "fault": "400"}]})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        second = Stream(made[1])
        await asyncio.gather(first.task, second.task)
        assert (first.status, second.status) == (400, 200)
        assert second.text.rstrip().endswith(b"[DONE]")
        assert origin.count == 2


async def test_who_has_a_part_of_an_answer_that_breaks_off_is_told(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    origin.use({**SLOW, "fault": {"kind": "cut", "after": 15}})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        second = Stream(made[1])
        await asyncio.gather(first.task, second.task)
        assert origin.count == 1
        for each in (first, second):
            assert each.text.count(b'"content"') > 5
            assert b'"error"' in each.text
            assert b"[DONE]" not in each.text
        assert second.cache == "collapsed"


async def test_the_first_to_ask_may_leave(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    origin.use(SLOW)
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await first.has_some()
        second = Stream(made[1])
        await second.has_some()
        await first.leave()
        await second.task
        assert second.text.rstrip().endswith(b"[DONE]")
        assert origin.count == 1


async def test_when_all_have_left_the_origin_is_told(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_streams, "_WANTED_S", 1.5)
    origin.use({"ttft": "50ms", "answer": {"tokens": 2000}, "tpot": "20ms"})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await first.has_some()
        second = Stream(made[1])
        await second.has_some()
        await first.leave()
        await second.leave()
        await origin.until_idle(within_s=15)
        assert origin.count == 1

        async def forgotten() -> bool:
            return not await published(made[0])

        await until(forgotten)


async def test_redis_lost_before_the_first_byte_means_a_call_of_ones_own(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_streams, "_SILENCE_S", 1.5)
    origin.use({**SLOW, "headers_delay": "3s"})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        second = Stream(made[1])
        await until(lambda: published(made[0]))
        redis.stop()
        await asyncio.gather(first.task, second.task)
        assert (first.status, second.status, origin.count) == (200, 200, 2)
        assert second.text.rstrip().endswith(b"[DONE]")


async def test_redis_lost_in_the_middle_is_told_and_the_node_that_fetches_goes_on(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_streams, "_SILENCE_S", 1.5)
    origin.use({**SLOW, "tpot": "150ms"})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        second = Stream(made[1])
        await second.has_some()
        redis.stop()
        await asyncio.gather(first.task, second.task)
        assert first.text.rstrip().endswith(b"[DONE]")
        assert b'"error"' in second.text
        assert b"[DONE]" not in second.text
        assert origin.count == 1


async def test_redis_killed_and_started_again_in_the_middle_is_felt_by_nobody(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    origin.use({**SLOW, "answer": {"tokens": 60}, "tpot": "100ms"})
    async with nodes(origin, redis, tmp_path) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        others = [Stream(node) for node in made[1:]]
        for other in others:
            await other.has_some()
        redis.stop()
        await asyncio.sleep(1)
        redis.start()
        await asyncio.gather(first.task, *(other.task for other in others))
        assert {other.text for other in others} == {first.text}
        assert first.text.rstrip().endswith(b"[DONE]")
        assert origin.count == 1


@pytest.mark.parametrize("early", [True, False], ids=["without-a-byte", "with-bytes"])
async def test_a_node_that_falls_silent_is_given_up(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    """As where its power was cut: nothing is said any more, and the lease is left behind."""
    monkeypatch.setattr(redis_streams, "_SILENCE_S", 1.0)
    origin.use({**SLOW, "headers_delay": "3s" if early else "100ms", "tpot": "150ms"})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await origin.until_calls(1)
        second = Stream(made[1])
        await (until(lambda: published(made[0])) if early else second.has_some())
        streams = made[0].runtime.shared_flights._streams  # type: ignore[union-attr]
        [led] = streams._led.values()
        streams._wanted = lambda token: None
        led.publishing.cancel()
        await asyncio.gather(first.task, second.task)
        assert first.text.rstrip().endswith(b"[DONE]")
        assert (b"[DONE]" in second.text) == early
        assert (b'"error"' in second.text) != early
        assert origin.count == 1 + early


async def test_an_answer_that_came_whole_is_found_once_it_is_stored(redis: RealRedis, tmp_path: Path) -> None:
    """An origin may answer a call for a stream with a document."""
    message = {"role": "assistant", "content": "whole"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    document = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    async def whole(origin: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await origin.read_request(reader)
            await asyncio.sleep(0.6)
            body = json.dumps(document).encode()
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            writer.write(head + body)

    async with raw_origin(whole) as origin, nodes(origin, redis, tmp_path, count=2) as made:
        first = Stream(made[0])
        await origin.until(lambda: len(origin.requests) == 1)
        second = Stream(made[1])
        await asyncio.gather(first.task, second.task)
        assert (first.status, second.status, second.cache) == (200, 200, "collapsed")
        assert b"whole" in second.text
        assert len(origin.requests) == 1


# --- entry by entry ---

TOKEN = b"node:flight:s"


class Pair:
    """What publishes and what reads, over one Redis."""

    def __init__(self, streams: RedisStreams, link: RedisLink) -> None:
        self.streams = streams
        self.link = link
        self.writer = Writer(link, b"edgeinf:s:" + TOKEN, 1)
        self.flight = Flight()

    async def follow(self) -> bool | None:
        x = Exchange("POST", "/", "", {}, "", _never, _never)
        x.keys = [Key(find=b"f", trust=b"trust")]
        async with asyncio.timeout(20):
            return await self.streams.follow(x, self.flight, b"lease", TOKEN)


async def _never(*_: Any) -> Any:
    raise AssertionError


@pytest.fixture
async def pair(redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    monkeypatch.setattr(redis_streams, "_SILENCE_S", 0.5)
    runtime = make_runtime(config_for(tmp_path, "http://127.0.0.1:9"))
    async with linked(redis) as link:
        await link.run(lambda client: client.set(b"lease", TOKEN))
        yield Pair(RedisStreams(runtime, link, link), link)
    await runtime.aclose()


@asynccontextmanager
async def linked(redis: RealRedis) -> AsyncIterator[RedisLink]:
    link = RedisLink(redis.url, timeout_s=2.0, clock=SystemClock())
    yield link
    await link.aclose()


HELLO, HEAD, END = Hello(b"trust"), Head("text/event-stream"), End(2, Outcome(unfit=None, stored=True, region="r"))
WAYS = [
    pytest.param([HELLO, HEAD, Piece(0, b"a"), Beat(), Piece(1, b"b"), END], True, b"ab", None, id="whole"),
    pytest.param([HELLO, HEAD, Piece(0, b"a")], True, b"a", "origin_cut", id="silent-after-a-byte"),
    pytest.param([HELLO], False, b"", None, id="silent-before"),
    pytest.param([HELLO, End(0, Outcome(unfit="status 503", stored=False))], False, b"", None, id="failed"),
    pytest.param([Hello(b"other"), HEAD, Piece(0, b"a"), END], False, b"", None, id="another-question"),
    pytest.param([HELLO, END], False, b"", None, id="stored-but-the-lease-stays"),
    pytest.param(
        [HELLO, HEAD, Piece(0, b"a"), End(1, Outcome(unfit="cut", stored=False, failure=("m", 502, "c")))],
        True,
        b"a",
        "c",
        id="cut",
    ),
]


@pytest.mark.parametrize(("parts", "result", "body", "failure"), WAYS)
async def test_what_is_read_becomes_the_answer(
    pair: Pair, parts: list[Any], result: bool, body: bytes, failure: str | None
) -> None:
    for part in parts:
        await pair.writer.write(part)
    assert await pair.follow() is result
    assert b"".join(pair.flight.pieces) == body
    assert pair.flight.done is result
    assert (pair.flight.failure.code if pair.flight.failure else None) == failure


async def test_where_the_lease_is_gone_it_is_over(pair: Pair) -> None:
    await pair.link.run(lambda client: client.delete(b"lease"))
    assert await pair.follow() is None
    await pair.writer.write(HELLO)
    await pair.writer.write(END)
    assert await pair.follow() is None


async def test_where_nobody_publishes_it_is_given_up(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_streams, "_ANSWER_S", 0.2)
    assert await pair.follow() is False
    assert await pair.link.run(lambda client: client.lrange(b"edgeinf:n:node", 0, -1)) == [TOKEN]


async def test_a_missing_or_foreign_entry_ends_it(pair: Pair) -> None:
    for part in (HELLO, HEAD, Piece(0, b"a"), Piece(1, b"b")):
        await pair.writer.write(part)
    await pair.link.run(lambda client: client.xdel(b"edgeinf:s:" + TOKEN, b"1-4"))
    await pair.writer.write(END)
    assert await pair.follow() is False
    assert not pair.flight.committed


@pytest.mark.parametrize("end", [1, 3], ids=["short", "long"])
async def test_an_end_that_does_not_fit_what_was_read_is_none(pair: Pair, end: int) -> None:
    for part in (HELLO, HEAD, Piece(0, b"ab"), End(end, Outcome(unfit=None, stored=True))):
        await pair.writer.write(part)
    assert await pair.follow() is True
    assert pair.flight.failure is not None


async def test_a_piece_that_does_not_join_on_is_not_taken(pair: Pair) -> None:
    for part in (HELLO, HEAD, Piece(0, b"a"), Piece(2, b"c"), END):
        await pair.writer.write(part)
    assert await pair.follow() is True
    assert pair.flight.failure is not None
    assert b"".join(pair.flight.pieces) == b"a"


async def test_what_begins_anew_is_read_on_from_what_is_known(pair: Pair) -> None:
    for part in (HELLO, HEAD, Piece(0, b"a")):
        await pair.writer.write(part)
    following = asyncio.create_task(pair.follow())
    async with asyncio.timeout(10):
        while not pair.flight.pieces:  # noqa: ASYNC110 - a state of the wire
            await asyncio.sleep(0.01)
    await pair.link.run(lambda client: client.delete(b"edgeinf:s:" + TOKEN))
    with pytest.raises(Lost):
        await pair.writer.write(Beat())
    again = Writer(pair.link, b"edgeinf:s:" + TOKEN, 2)
    for part in (HELLO, HEAD, Piece(0, b"ab"), END):
        await again.write(part)
    assert await following is True
    assert pair.flight.pieces == [b"a", b"b"]
    assert pair.flight.failure is None


async def test_a_reader_lets_go_of_what_is_too_large_to_keep(pair: Pair) -> None:
    reader = pair.flight.join()
    await pair.writer.write(HELLO)
    await pair.writer.write(HEAD)
    following = asyncio.create_task(pair.follow())
    for number in range(10):
        await pair.writer.write(Piece(number * 2**20, b"x" * 2**20))
    await pair.writer.write(End(10 * 2**20, Outcome(unfit="larger than what is stored", stored=False)))
    size = 0
    while not pair.flight.done or size < pair.flight.sent_bytes:
        size += len(reader.take() or b"")
        await asyncio.sleep(0.01)
    assert await following is True
    assert size == 10 * 2**20 > RECORD_LIMIT
    assert sum(map(len, pair.flight.pieces)) < RECORD_LIMIT
