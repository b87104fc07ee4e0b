"""Playing a plan: packets, pressure, instants."""

from __future__ import annotations

import asyncio

from edgeinf.mock import Kind, MockOrigin
from tests.mock.http_client import ask, chat, request_bytes


async def test_a_reader_that_does_not_read_holds_the_answer_back(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 200_000}})
    reader, writer = await asyncio.open_connection(origin.host, origin.port, limit=1024)
    writer.write(request_bytes("POST", "/v1/chat/completions", chat(stream=True)))
    await origin.until(lambda: origin.active == 1 and origin.calls[0].sent_bytes > 0)
    before = -1
    while before != origin.calls[0].sent_bytes:
        before = origin.calls[0].sent_bytes
        await asyncio.sleep(0.05)

    assert before < 30_000_000
    rest = 0
    while chunk := await asyncio.wait_for(reader.read(1 << 20), 10):
        rest += len(chunk)
        if chunk.endswith(b"0\r\n\r\n"):
            break
    writer.close()
    assert rest == origin.calls[0].sent_bytes > before
    assert origin.calls[0].event_kinds.count(Kind.TOKEN) == 200_000


async def test_delays_do_not_add_up_their_lateness(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 100}, "tpot": "2ms", "ttft": "10ms"})

    await ask(origin, "/v1/chat/completions", chat(stream=True))

    call = origin.calls[0]
    spent_ms = (call.token_ns[-1] - call.received_ns) / 1e6
    # 10 + 99 x 2 ms are due; were lateness added per event, 100 late timers of 1 ms each would show.
    assert 207 <= spent_ms < 290


async def test_every_event_can_have_its_own_packet(origin: MockOrigin) -> None:
    origin.use({"packets": "event", "answer": {"tokens": 30}})

    reply = await ask(origin, "/v1/chat/completions", chat(stream=True))

    assert reply.complete
    assert len(set(origin.calls[0].event_ns)) == 33


async def test_events_without_delay_leave_together(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 30}})

    await ask(origin, "/v1/chat/completions", chat(stream=True))

    assert len(set(origin.calls[0].event_ns)) == 1
