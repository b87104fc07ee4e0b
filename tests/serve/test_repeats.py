"""A request whose very bytes came before is answered as any other hit, as long as all that this rests on holds."""

from __future__ import annotations

import gc
import json
import weakref
import zlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import edgeinf.serve.repeats as repeats
from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache, Limit, Listen, Message, PromptRule
from edgeinf.mock import MockOrigin
from edgeinf.serve.fleet.purge import Purge, apply_purge
from edgeinf.serve.reload import apply_config
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import chat
from tests.serve.short import SHAPES, Way, Ways, both_ways, one_way, plain, same, send, told
from tests.serve.wire import post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def origin() -> AsyncIterator[MockOrigin]:
    async with MockOrigin() as own:
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ways() -> AsyncIterator[Ways]:
    async with MockOrigin() as shared, both_ways(shared, clock=FakeClock()) as running:
        yield running


async def known(way: Way, request: bytes) -> None:
    """Ask until the request's bytes are known, and see that they are."""
    before = way.repeated
    for _ in range(5):
        answer, _ = await send(way, request)
        assert answer.status == 200
    assert way.repeated > before


@SHAPES
async def test_a_repeat_is_the_same_as_any_hit(
    ways: Ways, request: pytest.FixtureRequest, path: str, body: dict[str, Any]
) -> None:
    question = post({**body, "seed": zlib.crc32(request.node.name.encode())}, path=path)
    before, calls = ways.short.repeated, len(ways.origin.calls)
    answers = [await same(ways, question) for _ in range(7)]
    assert ways.short.repeated >= before + 2
    assert len({answer.body for answer in answers}) == 1
    assert len(ways.origin.calls) == calls + 2


async def test_each_repeat_has_an_id_and_an_event_of_its_own(ways: Ways) -> None:
    request = post(chat("ids"))
    await known(ways.short, request)
    came = [await send(ways.short, request) for _ in range(5)]
    ids = [answer.header("x-edgeinf-request-id") for answer, _ in came]
    assert ids == [event.id for _, event in came]
    assert len(set(ids)) == 5
    assert all(event.total_ms is not None and event.cache == "hit" for _, event in came)
    assert len({repr(told(event)) for _, event in came}) == 1


async def test_its_figures_are_counted(ways: Ways) -> None:
    request = post(chat("counted"))
    await known(ways.short, request)

    def hits() -> int:
        ways.short.runtime.observer.fold()
        return sum(c.requests for labels, c in ways.short.runtime.observer.book.cells.items() if labels.cache == "hit")

    before = hits()
    for _ in range(7):
        await send(ways.short, request)
    assert hits() == before + 7


async def test_many_come_on_one_connection_between_others(ways: Ways) -> None:
    """Repeats, hits that are new to the connection, misses and errors, in turn on one connection."""
    request = post(chat("in turn"))
    await known(ways.short, request)
    before = ways.short.repeated
    async with wired(ways.short.url) as wire:
        for number in range(8):
            await wire.send(request)
            assert (await wire.answer()).header("x-edgeinf-cache") == "hit"
            await wire.send(post(chat(f"in turn {number}")))
            assert (await wire.answer()).header("x-edgeinf-cache") == "miss"
            await wire.send(post({"no": "call"}))
            assert (await wire.answer()).status == 400
    assert ways.short.repeated == before + 8


async def test_several_in_one_packet_are_answered_in_turn(ways: Ways) -> None:
    request, other = post(chat("packet")), post(chat("other packet"))
    await known(ways.short, request)
    async with wired(ways.short.url) as wire:
        await wire.send(request + request + other + request)
        answers = [await wire.answer() for _ in range(4)]
        assert [answer.header("x-edgeinf-cache") for answer in answers] == ["hit", "hit", "miss", "hit"]
        await wire.send(request[:50], request[50:] + request, pause_s=0.01)
        assert [(await wire.answer()).status for _ in range(2)] == [200, 200]
        await wire.send(request)
        assert (await wire.answer()).header("x-edgeinf-cache") == "hit"


async def test_what_came_in_pieces_or_with_more_is_not_taken_for_a_request(ways: Ways) -> None:
    """Neither a packet that holds more than one request nor the end of one is learnt."""
    request = post(chat("pieces"))
    body = len(json.dumps(chat("pieces")))
    for _ in range(6):
        async with wired(ways.short.url) as wire:
            await wire.send(request[:-body], request[-body:], pause_s=0.005)
            assert (await wire.answer()).status == 200
            await wire.send(request + request)
            assert [(await wire.answer()).status for _ in range(2)] == [200, 200]
    before = ways.short.repeated
    async with wired(ways.short.url) as wire:
        await wire.send(request[-body:])
        assert (await wire.answer()).status == 400
    assert ways.short.repeated == before


async def test_a_header_that_differs_makes_another_request(ways: Ways) -> None:
    await known(ways.short, post(chat("headers")))
    for headers in (
        [("cache-control", "no-cache")],
        [("x-edgeinf-namespace", "other")],
        [("authorization", "Bearer b")],
    ):
        answer = await same(ways, post(chat("headers"), headers=headers))
        assert answer.header("x-edgeinf-cache") == "miss"


async def test_headers_that_name_the_request_may_differ(ways: Ways) -> None:
    before = ways.short.repeated
    for number in range(9):
        trace = f"{number:032x}"
        headers = [("X-Request-Id", f"r-{number}"), ("traceparent", f"00-{trace}-00f067aa0ba902b7-01")]
        await same(ways, post(chat("named"), headers=headers))
        assert ways.short.events[-1].trace_id == trace
    assert ways.short.repeated >= before + 3
    before = ways.short.repeated
    await same(ways, post(chat("named"), headers=[("x-request-id", "r")]))
    assert ways.short.events[-1].trace_id is None
    assert ways.short.repeated == before + 1
    await same(ways, post(chat("named"), headers=[("x-request-id", "r"), ("x-other", "1")]))
    assert ways.short.repeated == before + 1


async def test_what_the_config_goes_by_may_not_differ(origin: MockOrigin) -> None:
    limit = Limit(name="l", per="header:X-Request-Id", requests=(4, 3600.0))
    async with one_way(origin, limits=(limit,)) as way:
        for name in ("a", "b", "c"):
            request = post(chat(), headers=[("X-Request-Id", name)])
            assert [(await send(way, request))[0].status for _ in range(6)] == [200] * 4 + [429] * 2


async def test_no_collision_is_an_answer(origin: MockOrigin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every request is found under one name, each still gets its own answer."""
    monkeypatch.setattr(repeats, "_find", lambda data: 7)
    async with one_way(origin, auth=auth_for("anna", "ben")) as way:
        for number in range(12):
            for name in ("anna", "ben"):
                request = post(chat(f"{number % 2}"), headers=bearer(name).items())
                answer, event = await send(way, request)
                assert event.key_id == name
                assert answer.header("x-edgeinf-cache") == ("miss" if number < 2 else "hit")
        assert len(origin.calls) == 4


async def test_it_ends_with_the_entry(origin: MockOrigin) -> None:
    clock = FakeClock()
    async with both_ways(origin, clock=clock, cache=Cache(disk=None, ttl=100.0, ttl_jitter=0.0)) as ways:
        request = post(chat())
        for _ in range(6):
            await same(ways, request)
        clock.advance(4.9)
        before = ways.short.repeated
        assert (await same(ways, request)).header("age") == "4"
        assert ways.short.repeated == before + 1
        clock.advance(95.2)
        assert (await same(ways, request)).header("x-edgeinf-cache") == "miss"


@pytest.mark.parametrize("header", [("cache-control", "max-age=3"), ("x-edgeinf-ttl", "3s")], ids=["max-age", "ttl"])
async def test_it_ends_when_the_asker_wants_it_younger(origin: MockOrigin, header: tuple[str, str]) -> None:
    clock = FakeClock()
    async with both_ways(origin, clock=clock) as ways:
        request = post(chat(), headers=[header])
        for _ in range(6):
            await same(ways, request)
        assert ways.short.repeated > 0
        clock.advance(3.5)
        assert (await same(ways, request)).header("x-edgeinf-cache") == "miss"


async def test_what_it_rests_on_is_looked_at_anew_after_a_while(origin: MockOrigin) -> None:
    clock = FakeClock()
    async with one_way(origin, clock=clock) as way:
        await known(way, post(chat()))
        clock.advance(5.5)
        before = way.repeated
        await send(way, post(chat()))
        assert way.repeated == before
        await send(way, post(chat()))
        assert way.repeated == before + 1


async def test_a_key_that_ends_meanwhile_gets_no_answer(origin: MockOrigin) -> None:
    clock = FakeClock()
    clock.advance(1_900_000_000 - clock.now())
    today = date.fromtimestamp(clock.now())
    async with one_way(origin, clock=clock, auth=auth_for(anna={"expires": today})) as way:
        midnight = 86400 - clock.now() % 86400
        clock.advance(midnight - 2)
        await known(way, post(chat(), headers=bearer("anna").items()))
        clock.advance(2.5)
        answer, _ = await send(way, post(chat(), headers=bearer("anna").items()))
        assert answer.status == 401


def _without_anna(way: Way) -> None:
    assert apply_config(way.runtime, replace(way.runtime.generation.config, auth=auth_for("ben"))) is None


def _smaller(way: Way) -> None:
    assert apply_config(way.runtime, replace(way.runtime.generation.config, listen=Listen(max_body=10))) is None


def _narrower(way: Way) -> None:
    auth = auth_for(anna={"models": ("other",)})
    assert apply_config(way.runtime, replace(way.runtime.generation.config, auth=auth)) is None


@pytest.mark.parametrize(
    ("change", "status"), [(_without_anna, 401), (_smaller, 413), (_narrower, 403)], ids=["key", "size", "model"]
)
async def test_a_reload_holds_at_once(origin: MockOrigin, change: Any, status: int) -> None:
    async with one_way(origin, auth=auth_for("anna")) as way:
        request = post(chat(), headers=bearer("anna").items())
        await known(way, request)
        change(way)
        async with wired(way.url) as wire:
            await wire.send(request)
            assert (await wire.answer()).status == status


async def test_a_prompt_file_that_changes_holds_at_once(origin: MockOrigin, tmp_path: Path) -> None:
    file = tmp_path / "system.txt"
    file.write_text("be brief")
    rule = PromptRule(prepend=(Message(role="system", content_file=file),))
    async with one_way(origin, prompt=(rule,)) as way:
        await known(way, post(chat()))
        file.write_text("be very long")
        answer, _ = await send(way, post(chat()))
        assert answer.header("x-edgeinf-cache") == "miss"
        assert json.loads(origin.calls[-1].body)["messages"][0]["content"] == "be very long"


async def test_what_a_prompt_file_reads_of_the_head_may_not_differ(origin: MockOrigin, tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("plain")
    rules = (PromptRule(prepend=(Message(content_file=file),)),)
    async with one_way(origin, prompt=rules, cache=Cache(disk=None)) as way:
        await known(way, post(chat(), headers=[("x-correlation-id", "a")]))
        for text, names in (("for {{ header:X-Correlation-Id }}", "ab"), ("plain again", "")):
            file.write_text(text)
            for name in "aaaaab":
                answer, _ = await send(way, post(chat(), headers=[("x-correlation-id", name)]))
                assert answer.status == 200
            prompts = [json.loads(call.body)["messages"][0]["content"] for call in origin.calls]
            said = [f"for {name}" for name in names] or ["plain again"]
            assert prompts[-len(said) :] == said


@pytest.mark.parametrize("everything", [False, True], ids=["one", "all"])
async def test_what_is_purged_is_gone(origin: MockOrigin, everything: bool) -> None:
    async with one_way(origin) as way:
        request = post(chat())
        await known(way, request)
        find = way.runtime.tiers.memory.scan()[0] if way.runtime.tiers.memory is not None else b""
        await apply_purge(way.runtime.tiers, Purge() if everything else Purge(find=find))
        assert (await send(way, request))[0].header("x-edgeinf-cache") == "miss"
        assert (await send(way, request))[0].header("x-edgeinf-cache") == "hit"
        assert len(origin.calls) == 2


async def test_an_answer_that_was_replaced_is_not_given_again(origin: MockOrigin) -> None:
    async with one_way(origin) as way:
        request = post(chat())
        await known(way, request)
        old = (await send(way, request))[0].body
        fresh, _ = await send(way, post(chat(), headers=[("cache-control", "no-cache")]))
        assert fresh.body != old
        for _ in range(6):
            assert (await send(way, request))[0].body == fresh.body


async def test_it_keeps_no_answer_alive(origin: MockOrigin) -> None:
    """The memory tier alone says what is kept."""
    async with one_way(origin) as way:
        request = post(chat())
        await known(way, request)
        memory = way.runtime.tiers.memory
        assert memory is not None
        kept = weakref.ref(memory._entries.peek(memory.scan()[0])[1])  # type: ignore[index]
        memory.clear()
        gc.collect()
        assert kept() is None


@pytest.mark.parametrize("per", ["key", "ip", "session"])
async def test_each_is_charged(origin: MockOrigin, per: str) -> None:
    clock = FakeClock()
    limits = (Limit(name="each", per=per, requests=(9, 60.0)),)
    headers: Iterable[tuple[str, str]] = [*bearer("anna").items(), ("x-edgeinf-session", "s")]
    async with both_ways(origin, clock=clock, auth=auth_for("anna"), limits=limits) as ways:
        request = post(chat(), headers=headers)
        statuses = [(await same(ways, request)).status for _ in range(12)]
        assert statuses == [200] * 9 + [429] * 3
        assert ways.short.repeated > 2
        assert ways.short.runtime.rejections == ways.long.runtime.rejections == {"each": 3}
        clock.advance(60.0 / 9 + 0.01)
        assert [(await same(ways, request)).status for _ in range(2)] == [200, 429]


async def test_another_host_is_another_asker(origin: MockOrigin) -> None:
    """What is decided by the client's address is not taken over from another address."""
    async with one_way(origin) as way:
        await known(way, post(chat()))
        assert way.noted is not None
        shortcut = way.noted(way.runtime)
        data = post(chat())
        head, _, body = data.partition(b"\r\n\r\n")
        headers = [tuple(line.lower().split(b": ", 1)) for line in head.split(b"\r\n")[1:]]
        for _ in range(3):
            assert shortcut.answer(b"/v1/chat/completions", headers, body, "127.0.0.1", data) is not None  # type: ignore[arg-type]
        assert shortcut.again(data, "127.0.0.1") is not None
        assert shortcut.again(data, "127.0.0.2") is None


async def test_a_server_that_drains_answers_the_whole_way(origin: MockOrigin) -> None:
    async with one_way(origin) as way:
        await known(way, post(chat()))
        way.runtime.draining = True
        before = way.repeated
        async with wired(way.url) as wire:
            await wire.send(post(chat()))
            await wire.answer()
        assert way.repeated == before
        way.runtime.draining = False


async def test_what_is_known_is_bounded(origin: MockOrigin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_MOST", 8)
    async with one_way(origin) as way:
        for number in range(30):
            for _ in range(5):
                await send(way, post(chat(f"question {number}")))
        assert way.noted is not None
        assert way.repeated > 0
        table = next(s for s in gc.get_objects() if isinstance(s, repeats.Repeats) and s._runtime is way.runtime)
        assert len(table._known) <= 8
        assert len(table._once) <= 8


async def test_the_answer_of_a_repeat_is_whole(ways: Ways) -> None:
    """Head and body are what the whole way sends, for a stream as one chunk and its end."""
    request = post(chat("framing", stream=True))
    await known(ways.short, request)
    before = ways.short.repeated
    answer, _ = await send(ways.short, request)
    assert ways.short.repeated == before + 1
    assert answer.chunks == [len(answer.body)]
    assert answer.body.endswith(b"data: [DONE]\n\n")
    long, _ = await send(ways.long, request)
    assert plain(answer)["status"] == plain(long)["status"]
