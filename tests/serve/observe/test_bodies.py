"""Bodies are in events only where that is asked for, and never with a credential in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgeinf.core.config.schema import Events, Guard
from edgeinf.core.events import Event, decode
from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.bodies import LIMIT, redaction
from tests.serve.running import config_for, running

SECRET = "sk-abcdefghijklmnop1234"


async def events_of(origin: MockOrigin, folder: Path, text: str, *, bodies: bool, **fields: object) -> list[Event]:
    config = config_for(folder, origin.url)
    config = replace(config, events=Events(file=folder / "e.jsonl", bodies=bodies))
    async with running(config) as proxy:
        for _ in range(2):
            assert (await proxy.ask(text, **fields)).status_code == 200
    return [decode(line) for line in (folder / "e.jsonl").read_bytes().splitlines()]


async def test_unless_asked_for_no_word_of_a_body_is_written(origin: MockOrigin, tmp_path: Path) -> None:
    await events_of(origin, tmp_path, "a word of mine", bodies=False)
    assert b"a word of mine" not in (tmp_path / "e.jsonl").read_bytes()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_where_asked_for_both_are_there_for_misses_and_hits(
    origin: MockOrigin, tmp_path: Path, stream: bool
) -> None:
    origin.use({"answer": {"text": f"the answer with {SECRET}"}})
    events = await events_of(origin, tmp_path, f"my key is {SECRET}", bodies=True, stream=stream)
    assert [event.cache for event in events] == ["miss", "hit"]
    for event in events:
        assert event.request["messages"][0]["content"] == "my key is ***"
        assert event.response["choices"][0]["message"]["content"] == "the answer with ***"
    assert SECRET.encode() not in (tmp_path / "e.jsonl").read_bytes()


def test_the_kinds_of_the_guard_are_taken_out_too() -> None:
    prepare = redaction(Guard(redact=("email",)).redact)
    event = prepare(Event(request=b'{"a":["write to jo@example.org"]}', response=b"plain jo@example.org"))
    assert event.request == {"a": ["write to [email]"]}
    assert event.response == "plain [email]"


async def test_a_large_body_is_cut(origin: MockOrigin, tmp_path: Path) -> None:
    events = await events_of(origin, tmp_path, "x" * (2 * LIMIT), bodies=True)
    assert len(events[0].request) == LIMIT
