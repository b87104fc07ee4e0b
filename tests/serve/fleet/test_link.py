"""Messages between two processes arrive whole, in order, and failures are told."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from edgeinf.serve.fleet.link import Link, LinkDown, connect

Pair = tuple[Link, Link]


def double(link: Link, body: msgspec.Raw) -> list[int]:
    return [2 * n for n in msgspec.msgpack.decode(body, type=list[int])]


async def slow(link: Link, body: msgspec.Raw) -> str:
    await asyncio.sleep(msgspec.msgpack.decode(body, type=float))
    return "late"


def broken(link: Link, body: msgspec.Raw) -> Any:
    raise LinkDown("cannot")


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    left, right = socket.socketpair()
    heard: list[int] = []

    def hear(link: Link, body: msgspec.Raw) -> list[int]:
        heard.append(msgspec.msgpack.decode(body, type=int))
        return heard

    far = await connect(right, {"double": double, "slow": slow, "broken": broken, "hear": hear})
    near = await connect(left, {})
    yield near, far
    near.close()
    far.close()
    await asyncio.sleep(0)


@pytest.mark.parametrize("size", [1, 1000, 300_000], ids=["one", "some", "many"])
async def test_an_answer_comes_whole(pair: Pair, size: int) -> None:
    assert await pair[0].ask("double", list(range(size)), list[int]) == [2 * n for n in range(size)]


async def test_answers_find_their_questions_whatever_their_order(pair: Pair) -> None:
    first = asyncio.ensure_future(pair[0].ask("slow", 0.05, str))
    assert await pair[0].ask("double", [1], list[int]) == [2]
    assert await first == "late"


async def test_what_is_told_is_heard_in_order(pair: Pair) -> None:
    for number in range(500):
        pair[0].tell("hear", number)
    assert (await pair[0].ask("hear", 500, list[int])) == list(range(501))


async def test_a_handler_that_fails_fails_the_question(pair: Pair) -> None:
    with pytest.raises(LinkDown, match="cannot"):
        await pair[0].ask("broken", None, str)


async def test_an_unknown_name_fails_the_question(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(LinkDown, match="KeyError"):
        await pair[0].ask("nothing", None, str)


async def test_a_late_answer_is_given_up_and_hurts_nobody(pair: Pair) -> None:
    with pytest.raises(LinkDown, match="within"):
        await pair[0].ask("slow", 0.2, str, timeout_s=0.01)
    await asyncio.sleep(0.3)
    assert await pair[0].ask("double", [4], list[int]) == [8]


async def test_a_lost_end_fails_what_was_asked_and_what_will_be(pair: Pair) -> None:
    waiting = asyncio.ensure_future(pair[0].ask("slow", 5.0, str))
    await asyncio.sleep(0.02)
    pair[1].close()
    with pytest.raises(LinkDown):
        await waiting
    with pytest.raises(LinkDown):
        await pair[0].ask("double", [1], list[int])
    pair[0].tell("hear", 1)
