"""Entries in Redis: each once, in order, and missed where they are missing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.serve.fleet import redis_parts
from edgeinf.serve.fleet.redis_link import RedisDown, RedisLink
from edgeinf.serve.fleet.redis_parts import Beat, Broken, Hello, Lost, Piece, Source, Writer
from tests.serve.fleet.real_redis import RealRedis

KEY = b"edgeinf:s:of-a-test"
HELLO = Hello(b"trust")


@pytest.fixture
async def link(redis: RealRedis) -> AsyncIterator[RedisLink]:
    made = RedisLink(redis.url, timeout_s=2.0, clock=SystemClock())
    yield made
    await made.aclose()


async def test_what_is_written_is_read_in_order_and_once(link: RedisLink) -> None:
    writer, source = Writer(link, KEY, 1), Source(link, KEY)
    assert await source.read() == []
    assert not source.known
    for part in (HELLO, Beat()):
        assert not await writer.write(part)
    assert await source.read() == [HELLO, Beat()]
    await writer.write(Piece(0, b"a"))
    assert await source.read() == [Piece(0, b"a")]
    assert source.known


async def test_a_missing_entry_is_missed(link: RedisLink) -> None:
    writer = Writer(link, KEY, 1)
    for number in range(3):
        await writer.write(Piece(number, b"x"))
    await link.run(lambda client: client.xdel(KEY, b"1-2"))
    with pytest.raises(Broken):
        await Source(link, KEY).read()


async def test_what_redis_lost_is_noticed_by_who_writes(link: RedisLink) -> None:
    writer, source = Writer(link, KEY, 1), Source(link, KEY)
    await writer.write(HELLO)
    assert await source.read() == [HELLO]
    await writer.forget()
    with pytest.raises(Lost):
        await writer.write(Beat())
    await Writer(link, KEY, 2).write(HELLO)
    assert await source.read() == [HELLO]


async def test_a_reader_waits_while_redis_is_away_once_it_knows_something(link: RedisLink, redis: RealRedis) -> None:
    known, unknown = Source(link, KEY), Source(link, KEY)
    await Writer(link, KEY, 1).write(HELLO)
    await known.read()
    redis.stop()
    assert await known.read() == []
    with pytest.raises(RedisDown):
        await unknown.read()


async def test_an_older_publication_is_not_read_on(link: RedisLink) -> None:
    writer = Writer(link, KEY, 1)
    source = Source(link, KEY)
    await Writer(link, KEY, 2).write(HELLO)
    assert await source.read() == [HELLO]
    await link.run(lambda client: client.delete(KEY))
    await writer.write(HELLO)
    assert await source.read() == []


async def test_an_entry_that_is_written_twice_is_there_once(link: RedisLink) -> None:
    writer = Writer(link, KEY, 1)
    await writer.write(HELLO)
    writer._count -= 1
    await writer.write(HELLO)
    assert await link.run(lambda client: client.xlen(KEY)) == 1
    assert link.down is None


async def test_beyond_what_is_recorded_only_the_last_entries_are_kept(link: RedisLink) -> None:
    writer = Writer(link, KEY, 1)
    for _ in range(20):
        await writer.write(Piece(0, b"x"), last=5)
    assert await link.run(lambda client: client.xlen(KEY)) == 5


async def test_a_publisher_gives_up_where_redis_is_gone(
    link: RedisLink, redis: RealRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(link, KEY, 1)
    monkeypatch.setattr(redis_parts, "_TRIES_S", 0.5)
    redis.stop()
    with pytest.raises(RedisDown):
        await writer.write(HELLO)
