"""Playing a plan: packets, pressure, instants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from edgeinf.mock import Kind, MockOrigin
from edgeinf.mock.http.player import Player
from edgeinf.mock.record import Call
from edgeinf.mock.values import Ask, Piece, Plan
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


class LateLoop:
    """A loop whose timers all fire 3 ms late; it is the host of the player too."""

    paused = False

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[float] = []
        self.callback: Callable[[], None] | None = None
        self.loop = self.transport = self

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> None:
        self.due.append(round(when - 100.0, 6))
        self.now = when + 0.003
        self.callback = callback

    def write(self, data: bytes) -> None:
        pass

    def frozen_until(self) -> float:
        return 0.0

    def played(self, player: Player, outcome: str, *, keep: bool) -> None:
        self.callback = None


def test_delays_do_not_add_up_their_lateness() -> None:
    loop: Any = LateLoop()
    pieces = [Piece(Kind.TOKEN, b"x", wait_s=0.01) for _ in range(5)]
    call = Call(Ask("GET", "/", "", [], b""), started_ns=1, connection=1, connection_use=1)
    player = Player(loop, Plan(pieces=pieces, stream=True), call, keep=True, old=False, bodyless=False)

    player.start(each_alone=False)
    while loop.callback is not None:
        due, loop.callback = loop.callback, None
        due()

    assert loop.due == [0.01, 0.02, 0.03, 0.04, 0.05]


async def test_every_event_can_have_its_own_packet(origin: MockOrigin) -> None:
    origin.use({"packets": "event", "answer": {"tokens": 30}})

    reply = await ask(origin, "/v1/chat/completions", chat(stream=True))

    assert reply.complete
    assert len(set(origin.calls[0].event_ns)) == 33


async def test_events_without_delay_leave_together(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 30}})

    await ask(origin, "/v1/chat/completions", chat(stream=True))

    assert len(set(origin.calls[0].event_ns)) == 1


def test_resets_and_packets_are_the_same_on_the_commands_own_loop() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def tried() -> list[tuple[bool, str]]:
        seen = []
        async with MockOrigin() as origin:
            for fault in ("reset;after=2", "reset;at=headers", "cut;after=2", "split;at=utf8"):
                origin.use({"rules": [{"fault": fault}, {"fault": "stall;after=2;for=20ms"}], "answer": {"text": "世"}})
                reply = await ask(origin, "/v1/chat/completions", chat(stream=True))
                seen.append((reply.complete, reply.error))
        return seen

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(tried()) == [
            (False, "ConnectionResetError"),
            (False, "ConnectionResetError"),
            (False, ""),
            (True, ""),
        ]
