"""One answer on its way into a flight: what is held back, what passes, when it counts as broken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from edgeinf.core import dialects
from edgeinf.core.config.schema import Region, Timeouts
from edgeinf.mock import MockOrigin
from edgeinf.serve.flight import Flight
from edgeinf.serve.origin.outgoing import dialect_headers, outgoing
from edgeinf.serve.origin.pool import Connections
from edgeinf.serve.origin.region import make_origin
from edgeinf.serve.steps.failing import AttemptFailed, Beaten
from edgeinf.serve.steps.relay import Attempt, Recording, relay
from tests.serve.proxying import chat, messages

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages"}


@pytest.fixture
async def client() -> AsyncIterator[Connections]:
    made = Connections()
    yield made
    await made.aclose()


def attempt(origin: MockOrigin, body: dict[str, Any] | None = None, kind: str = "chat", **more: Any) -> Attempt:
    limits = {"connect": 1.0, "ttft": 5.0, "idle": 5.0, "total": 10.0, **more.pop("timeouts", {})}
    place = make_origin(
        Region(name="a", url=origin.url, timeouts=Timeouts(**limits), completeness=more.pop("completeness", "strict"))
    )
    body = body or (chat if kind == "chat" else messages)(stream=True)
    dialect = dialects.for_path(PATHS[kind])
    assert dialect is not None
    raw = msgspec.json.encode(body)
    return Attempt(
        origin=place,
        request=outgoing(place, "POST", PATHS[kind], "", dialect_headers(place, dialect.family, {}), raw),
        call=dialect.read(PATHS[kind], "", body),
        dialect=dialect,
        **more,
    )


async def pieces_until(flight: Flight, condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - any condition, not one event
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(("hold", "held"), [(True, True), (False, False)], ids=["others could", "nobody could"])
@pytest.mark.parametrize("kind", ["chat", "messages"])
async def test_the_head_of_a_stream_is_held_back_only_if_another_region_could_take_over(
    client: Connections, origin: MockOrigin, kind: str, hold: bool, held: bool
):
    origin.use({"fault": "stall;after=1", "packets": "event"})
    flight = Flight()
    task = asyncio.create_task(relay(client, attempt(origin, kind=kind, hold=hold), flight))
    await origin.until(lambda: bool(origin.calls and origin.calls[0].event_ns))
    await asyncio.sleep(0.1)
    assert flight.committed is not held
    origin.release()
    await task
    assert flight.committed
    assert b"".join(flight.pieces).count(b'"role":"assistant"') == 1


async def test_pieces_are_whole_events_as_the_origin_sent_them(client: Connections, origin: MockOrigin):
    origin.use({"fault": ["comment;after=2;times=3", "split;size=3"], "tpot": "1ms"})
    flight = Flight()
    recording = await relay(client, attempt(origin), flight)
    assert all(piece.endswith(b"\n\n") for piece in flight.pieces)
    assert isinstance(recording, Recording)
    assert recording.verdict.unfit is None
    assert b"\n: " not in recording.body


async def test_a_compressed_stream_arrives_plain_and_is_recorded_plain(client: Connections, origin: MockOrigin):
    origin.use({"fault": "gzip"})
    flight = Flight()
    recording = await relay(client, attempt(origin), flight)
    assert recording is not None
    assert recording.body.startswith(b"data: ")
    assert b"".join(flight.pieces).startswith(b"data: ")
    assert not any(name in (b"content-encoding", b"content-length") for name, _ in flight.headers)


@pytest.mark.parametrize(
    ("fault", "completeness", "fit"),
    [
        ("no-done", "strict", False),
        ("no-done", "no-done", True),
        ("no-finish", "no-done", False),
        ("no-finish", "no-finish-reason", True),
        ("truncate;tokens=3", "no-done", False),
        ("truncate;tokens=3", "no-finish-reason", False),
        ("cut;tokens=3", "no-done", False),
    ],
)
async def test_a_named_exception_forgives_one_mark_of_the_end_and_no_other(
    client: Connections, origin: MockOrigin, fault: str, completeness: str, fit: bool
):
    origin.use({"fault": fault, "tpot": "5ms"})
    flight = Flight()
    recording = await relay(client, attempt(origin, completeness=completeness), flight)
    assert (flight.failure is None) is fit
    assert (recording is not None and recording.verdict.unfit is None) is fit


async def test_who_lost_the_race_passes_nothing_on(client: Connections, origin: MockOrigin):
    for body in (chat(stream=True), chat()):
        flight = Flight()
        with pytest.raises(Beaten):
            await relay(client, attempt(origin, body, claim=lambda: False), flight)
        assert not flight.committed
        assert flight.first_token_at is None
    await origin.until_idle(within_s=1.0)


@pytest.mark.parametrize(
    ("script", "limits", "cause"),
    [
        ({"headers_delay": "9s"}, {"ttft": 0.2}, "timeout"),
        ({"fault": "stall;tokens=0"}, {"ttft": 0.2}, "timeout"),
        ({"fault": "stall;after=0"}, {"total": 0.2}, "timeout"),
        ({"fault": "cut;after=0"}, {}, "bad-answer"),
        ({"fault": "503"}, {}, "503"),
        ({"fault": "soft-error"}, {}, "bad-answer"),
        ({"fault": "garbage"}, {}, "bad-answer"),
    ],
)
async def test_the_cause_is_the_word_of_the_config(
    client: Connections, origin: MockOrigin, script: dict[str, Any], limits: dict[str, float], cause: str
):
    origin.use(script)
    with pytest.raises(AttemptFailed) as failed:
        await relay(client, attempt(origin, hold=True, timeouts=limits), Flight())
    assert failed.value.cause == cause
    await origin.until_idle(within_s=1.0)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_an_answer_larger_than_what_is_stored_passes_and_is_not_recorded(
    client: Connections, origin: MockOrigin, stream: bool
):
    origin.use({"answer": {"pieces": ["x" * 100_000] * 95}})
    flight = Flight()
    recording = await relay(client, attempt(origin, chat(stream=stream)), flight)
    assert recording is None
    assert flight.unfit == "larger than what is stored"
    assert flight.sent_bytes > 9_000_000


async def test_tokens_are_told_once_and_after_the_claim(client: Connections, origin: MockOrigin):
    heard: list[str] = []

    def claim() -> bool:
        heard.append("claim")
        return True

    given = attempt(origin, hold=True, claim=claim, answered=lambda: heard.append("answered"))
    await relay(client, given, Flight())
    assert heard == ["claim", "answered"]
