"""Speech and transcriptions."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask


@pytest.fixture
async def client(origin: MockOrigin) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{origin.url}/v1", api_key="k", max_retries=0) as sdk:
        yield sdk


async def test_speech_is_bytes_made_from_the_text(origin: MockOrigin) -> None:
    origin.use({"answer": {"bytes": 5000}})
    replies = [
        await ask(origin, "/v1/audio/speech", {"model": "t", "voice": "v", "input": text, "response_format": "wav"})
        for text in ("a", "a", "b")
    ]

    assert {len(reply.body) for reply in replies} == {5000}
    assert replies[0].body == replies[1].body != replies[2].body
    assert replies[0].headers["content-type"] == "audio/wav"


async def test_the_bytes_of_an_upload_decide_and_not_its_name(client: openai.AsyncOpenAI) -> None:
    texts = [
        (await client.audio.transcriptions.create(model="w", file=(name, data))).text
        for name, data in (("a.wav", b"1"), ("b.wav", b"1"), ("a.wav", b"2"))
    ]

    assert texts[0] == texts[1] != texts[2]


async def test_a_transcription_streams_the_same_text(client: openai.AsyncOpenAI) -> None:
    whole = await client.audio.transcriptions.create(model="w", file=("a.wav", b"1"))
    stream = await client.audio.transcriptions.create(model="w", file=("a.wav", b"1"), stream=True)
    events = [event async for event in stream]
    plain = await client.audio.transcriptions.create(model="w", file=("a.wav", b"1"), response_format="text")
    verbose = await client.audio.transcriptions.create(model="w", file=("a.wav", b"1"), response_format="verbose_json")

    deltas = "".join(event.delta for event in events[:-1])  # type: ignore[union-attr]
    assert deltas == events[-1].text == whole.text == str(plain).strip() == verbose.text  # type: ignore[union-attr]


async def test_a_missing_upload_is_an_error(origin: MockOrigin) -> None:
    assert (await ask(origin, "/v1/audio/transcriptions", {"model": "w"})).status == 400
