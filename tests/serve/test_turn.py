"""An answer goes out as the application says it, its head with the first of its body, and never more than was said."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn

from edgeinf.serve.front import Front
from edgeinf.serve.turn import EXTENSION, Turn
from tests.serve.wire import Wire

App = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class _Protocol(Front):
    header_timeout_s = 30.0


@contextlib.asynccontextmanager
async def serving(app: App, **settings: Any) -> AsyncIterator[int]:
    """Run an application of the test's own; give its port."""
    sock = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        date_header=False,
        **settings,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    running = asyncio.create_task(server._serve([sock]))
    try:
        yield sock.getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await running


async def asked(app: App, request: bytes = b"GET /a%20b?c=d HTTP/1.1\r\nhost: h\r\n\r\n") -> bytes:
    """Send a request and return every byte until the server closes, or has been silent."""
    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        got = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                while piece := await reader.read(65536):
                    got += piece
        writer.close()
        return got


def start(status: int = 200, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"", *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


def saying(*messages: dict[str, Any]) -> App:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    return app


@pytest.mark.parametrize(
    ("messages", "answer"),
    [
        (
            [start(200, (b"content-length", b"2")), body(b"hi")],
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        ),
        (
            [start(200, (b"content-length", b"4")), body(b"hi", more=True), body(b"ho")],
            b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhiho",
        ),
        (
            [start(404), body(b"a", more=True), body(b"", more=True), body(b"bc", more=True), body()],
            b"HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        ),
        ([start(204), body()], b"HTTP/1.1 204 No Content\r\n\r\n"),
        (
            [start(200, (b"connection", b"close"), (b"content-length", b"1")), body(b"x")],
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx",
        ),
    ],
    ids=["length", "pieces", "chunked", "bodiless", "close"],
)
async def test_an_answer_is_framed_as_it_was_said(messages: list[dict[str, Any]], answer: bytes) -> None:
    assert await asked(saying(*messages)) == answer


async def test_head_asks_for_no_body() -> None:
    app = saying(start(200, (b"content-length", b"5")), body(b"hello"))
    request = b"HEAD / HTTP/1.1\r\nhost: h\r\n\r\n"
    assert await asked(app, request) == b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"


async def test_an_old_client_is_answered_and_left() -> None:
    got = await asked(saying(start(200, (b"content-length", b"1")), body(b"x")), b"GET / HTTP/1.0\r\n\r\n")
    assert got == b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx"


async def test_an_old_client_gets_no_chunks_which_it_does_not_know() -> None:
    app = saying(start(200), body(b"a", more=True), body(b"", more=True), body(b"bc", more=True), body())
    got = await asked(app, b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
    assert got == b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc"


@pytest.mark.parametrize(
    "messages",
    [
        [start(200, (b"a", b"b\r\nset-cookie: c")), body(b"x")],
        [start(200, (b"a", b"b\n")), body(b"x")],
        [start(200, (b"a", b"b\0")), body(b"x")],
        [start(200, (b"a b", b"c")), body(b"x")],
        [start(200, (b"a:b", b"c")), body(b"x")],
        [start(200, (b"", b"c")), body(b"x")],
        [start(200, (b"content-length", b"1")), body(b"xy")],
        [start(200), start(200)],
        [body(b"x")],
    ],
    ids=["line", "newline", "nul", "space", "colon", "nameless", "longer", "twice", "headless"],
)
async def test_what_would_break_the_answer_is_never_sent(messages: list[dict[str, Any]]) -> None:
    got = await asked(saying(*messages))
    assert b"set-cookie" not in got
    assert not got.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "messages",
    [[start(200, (b"content-length", b"3")), body(b"x")], [start(200), body(b"x", more=True)]],
    ids=["shorter", "open"],
)
async def test_an_answer_that_is_not_whole_does_not_look_so(messages: list[dict[str, Any]]) -> None:
    async with serving(saying(*messages)) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        got = await reader.read()  # the end of the connection comes in place of the end of the answer
        writer.close()
    assert got.startswith(b"HTTP/1.1 200")
    assert not got.endswith(b"0\r\n\r\n")


async def test_the_head_waits_for_the_first_of_the_body_and_no_longer() -> None:
    go = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await send(body(b"first", more=True))
        await go.wait()
        await send(body(b"second"))

    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        async with asyncio.timeout(20):
            first = await reader.readuntil(b"first\r\n")
            assert first.startswith(b"HTTP/1.1 200")
            go.set()
            assert (await reader.readuntil(b"0\r\n\r\n")).endswith(b"second\r\n0\r\n\r\n")
        writer.close()


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/a%20b?c=d", "/a b", b"c=d"),
        ("/a?b?c#d", "/a", b"b?c"),
        ("/a?", "/a", b""),
        ("//evil/a", "//evil/a", b""),
        ("http://h/a?b", "/a", b"b"),
        ("http://h", "/", b""),
        ("/%zz", "/%zz", b""),
    ],
)
async def test_a_target_is_path_and_query(target: str, path: str, query: bytes) -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["path"], scope["query_string"]))
        await send(start(200, (b"content-length", b"0")))
        await send(body())

    await asked(app, f"GET {target} HTTP/1.1\r\nhost: h\r\n\r\n".encode())
    assert seen == [(path, query)]


async def test_the_application_sees_what_was_asked() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append({**scope})
        await send(start(200, (b"content-length", b"0")))
        await send(body())

    await asked(app)
    scope = seen[0]
    assert (scope["method"], scope["path"], scope["query_string"]) == ("GET", "/a b", b"c=d")
    assert scope["raw_path"] == b"/a%20b"
    assert (b"host", b"h") in scope["headers"]
    assert isinstance(scope["extensions"][EXTENSION], Turn)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_whoever_follows_the_client_hears_once_that_it_is_gone(when: str) -> None:
    told: list[str] = []
    came, over = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        turn = scope["extensions"][EXTENSION]
        if when == "before":
            turn.follow(lambda: told.append("gone"))
        came.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        if when == "after":
            turn.follow(lambda: told.append("gone"))
        await asyncio.sleep(0.05)
        over.set()

    async with serving(app) as port, asyncio.timeout(20):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
        await came.wait()
        writer.close()
        await over.wait()
    assert told == ["gone"]


async def test_a_client_that_leaves_is_noticed_though_it_has_asked_for_more_already() -> None:
    """With a second request in the line, the first still hears that nobody waits for it."""
    gone = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"][EXTENSION].follow(gone.set)
        await gone.wait()

    async with serving(app) as port, asyncio.timeout(20):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /a HTTP/1.1\r\nhost: h\r\n\r\nGET /b HTTP/1.1\r\nhost: h\r\n\r\n")
        await asyncio.sleep(0.1)
        writer.close()
        await gone.wait()


async def test_whoever_follows_no_more_hears_nothing() -> None:
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        turn = scope["extensions"][EXTENSION]
        turn.follow(lambda: told.append("gone"))
        turn.unfollow()
        await send(start(200, (b"content-length", b"0")))
        await send(body())

    await asked(app)
    await asyncio.sleep(0.05)
    assert told == []


async def answers(scope: Any, receive: Any, send: Any) -> None:
    await send(start(200, (b"content-length", b"0")))
    await send(body())


@pytest.mark.parametrize("sent", [b"", b"\r\n"], ids=["nothing", "an empty line"])
async def test_a_connection_that_rests_is_closed_in_time_and_one_that_is_used_is_not(sent: bytes) -> None:
    async with serving(answers, timeout_keep_alive=1) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        wire = Wire(reader, writer)
        for _ in range(8):
            writer.write(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n")
            assert (await wire.answer()).status == 200
            await asyncio.sleep(0.25)
        writer.write(sent)
        assert await reader.read() == b""
        writer.close()


async def test_an_answer_may_take_longer_than_a_connection_rests() -> None:
    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(1.6)
        await answers(scope, receive, send)

    async with serving(slow, timeout_keep_alive=1) as port, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: h\r\n\r\nGET / HTTP/1.1\r\nhost: h\r\n\r\n")
        wire = Wire(reader, writer)
        assert [(await wire.answer()).status for _ in range(2)] == [200, 200]
        writer.close()


async def test_requests_in_one_packet_are_answered_in_turn() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.02 if scope["path"] == "/0" else 0.0)
        path = scope["path"].encode()
        await send(start(200, (b"content-length", b"%d" % len(path))))
        await send(body(path))

    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"".join(b"GET /%d HTTP/1.1\r\nhost: h\r\n\r\n" % number for number in range(5)))
        wire = Wire(reader, writer)
        assert [(await wire.answer()).body for _ in range(5)] == [b"/%d" % number for number in range(5)]
        writer.close()
