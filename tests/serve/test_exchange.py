"""One request's state: its ids, what its client is told, and what happens however it ends."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from edgeinf.core.config.schema import Limit
from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange, Message
from edgeinf.serve.limits.base import Level
from edgeinf.serve.limits.terms import Terms


def exchange(said: list[Message] | None = None, heard: asyncio.Queue[Message] | None = None) -> Exchange:
    async def receive() -> Message:
        assert heard is not None
        return await heard.get()

    async def send(message: Message) -> None:
        assert said is not None
        said.append(message)

    return Exchange("POST", "/", "", {b"x": b"caf\xe9"}, "192.0.2.1", receive, send)


_FORKS = """
import os
from edgeinf.serve.exchange import Exchange
ids = lambda: [Exchange("POST", "/", "", {}, "", None, None).id for _ in range(100)]
for _ in range(3):
    if os.fork() == 0:
        os.write(1, ("\\n".join(ids()) + "\\n").encode())
        os._exit(0)
for _ in range(3):
    os.wait()
os.write(1, "\\n".join(ids()).encode())
"""


def test_ids_are_all_different_in_forked_processes_too() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=60, check=True)
    seen = done.stdout.split("\n")
    assert len(set(seen)) == len(seen) == 400


async def test_a_whole_answer_goes_out_with_its_length() -> None:
    said: list[Message] = []
    x = exchange(said)
    await x.answer(418, [(b"a", b"b")], b"tea")
    assert said[0] == {
        "type": "http.response.start",
        "status": 418,
        "headers": [(b"a", b"b"), (b"content-length", b"3")],
    }
    assert said[1] == {"type": "http.response.body", "body": b"tea", "more_body": False}
    assert x.status == 418
    assert x.first_byte_at is not None


async def test_the_limits_a_client_is_told_are_this_servers() -> None:
    """What an origin says of the account behind it is not the client's."""
    said: list[Message] = []
    x = exchange(said)
    (term,) = Terms([Limit(name="each", requests=(5.0, 60.0))]).early.terms
    x.told = [(term, Level(1.0, 12.0))]
    await x.start(200, [(b"x-ratelimit-limit-requests", b"9000"), (b"a", b"b")])
    assert said[0]["headers"] == [
        (b"a", b"b"),
        (b"ratelimit-policy", b'"each-requests";q=5;w=60'),
        (b"ratelimit", b'"each-requests";r=4;t=12'),
        (b"x-ratelimit-limit-requests", b"5"),
        (b"x-ratelimit-remaining-requests", b"4"),
        (b"x-ratelimit-reset-requests", b"12s"),
    ]


async def test_waiting_for_a_body_has_an_end() -> None:
    heard: asyncio.Queue[Message] = asyncio.Queue()
    x = exchange(heard=heard)
    with pytest.raises(CallError) as late:
        await x.within(0.01)
    assert late.value.status == 408
    heard.put_nowait({"type": "http.request", "body": b"x"})
    assert (await x.within(10))["body"] == b"x"


async def test_a_client_is_gone_when_it_has_closed_and_not_when_it_has_sent_more() -> None:
    heard: asyncio.Queue[Message] = asyncio.Queue()
    gone = asyncio.ensure_future(exchange(heard=heard).gone())
    heard.put_nowait({"type": "http.request", "body": b"x"})
    await asyncio.sleep(0.01)
    assert not gone.done()
    heard.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(gone, 10)


def test_what_must_happen_at_the_end_happens_once() -> None:
    x, seen = exchange(), []
    x.on_end.append(lambda ended: seen.append(("first", ended)))
    x.on_end.append(lambda ended: seen.append(("second", ended)))
    x.end()
    x.end()
    assert seen == [("second", x), ("first", x)]


def test_one_that_breaks_keeps_no_other_from_happening(caplog: pytest.LogCaptureFixture) -> None:
    x, seen = exchange(), []

    def broken(ended: Exchange) -> None:
        raise RuntimeError("broken")

    x.on_end += [lambda ended: seen.append("slot given back"), broken]
    x.end()
    assert seen == ["slot given back"]
    assert "a bug at the end of a request" in caplog.text


def test_a_header_is_text_whatever_its_bytes() -> None:
    assert exchange().header(b"x") == "caf\xe9"
    assert exchange().header(b"y") is None
