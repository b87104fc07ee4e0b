"""The HTTP surface: what is where, and what becomes of a request that cannot be meant."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from edgeinf.core.config.schema import Cache, Dashboard, Events, Listen
from edgeinf.core.dialects import dialects
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, chat, messages, proxying, region
from tests.serve.wire import post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/v1/chat/completions"
MEGABYTE = 2**20
DIALECT_PATHS = sorted(path for dialect in dialects().values() for path in dialect.paths)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def origin() -> AsyncIterator[MockOrigin]:
    async with MockOrigin() as own:
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxy(origin: MockOrigin) -> AsyncIterator[Proxy]:
    listen = Listen(max_body=MEGABYTE, max_upload=2 * MEGABYTE)
    async with proxying(region(origin, "only", passthrough=True), cache=Cache(disk=None), listen=listen) as running:
        yield running


def error_of(body: Any) -> dict[str, Any]:
    """Return the error of an answer in the OpenAI or the Anthropic form."""
    found = body["error"]
    assert isinstance(found["message"], str)
    assert found["type"]
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize(("path", "said"), [("/healthz", "ok"), ("/readyz", "ready")])
async def test_a_balancer_learns_how_it_is(proxy: Proxy, path: str, said: str) -> None:
    answer = await proxy.client.get(path)
    assert (answer.status_code, answer.json()) == (200, {"status": said})
    head = await proxy.client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    wrong = await proxy.client.post(path)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")


async def test_it_is_not_ready_without_a_region_that_answers(origin: MockOrigin) -> None:
    async with proxying(region("http://127.0.0.1:9", "down")) as broken:
        for number in range(30):
            await broken.post(CHAT, chat(str(number)))
            if (await broken.client.get("/readyz")).status_code == 503:
                break
        answer = await broken.client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "no usable region"})
        assert (await broken.client.get("/healthz")).status_code == 200


async def test_it_says_what_it_is(proxy: Proxy) -> None:
    home = (await proxy.client.get("/")).json()
    assert home["name"] == "edgeinf"
    assert CHAT in home["paths"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/chat/completions", "end the base url with /v1"),
        ("/messages", "/v1/messages"),
        ("/embeddings", "/v1/embeddings"),
        ("/nothing", None),
        ("/v2/chat/completions", None),
        ("/_edgeinf/nothing", None),
        ("/%2e%2e/etc/passwd", None),
        ("/\u00e4\u2028", None),
        ("//v1/chat/completions", None),
        ("/metrics/x", None),
    ],
)
async def test_a_path_that_is_nothing_is_404_and_says_what_was_meant(proxy: Proxy, path: str, hint: str | None) -> None:
    for method in ("GET", "POST"):
        answer = await proxy.client.request(method, path)
        assert answer.status_code == 404
        assert error_of(answer.json())["code"] == "unknown_path"
        assert (hint is None) or (hint in answer.text)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        (method, path)
        for path in DIALECT_PATHS
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND")
        if (method, path) != ("GET", CHAT)
    ],
)
async def test_a_dialect_is_asked_by_post(proxy: Proxy, origin: MockOrigin, path: str, method: str) -> None:
    calls = len(origin.calls)
    answer = await proxy.client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.headers["x-edgeinf-request-id"]
    assert len(origin.calls) == calls


async def test_the_list_of_stored_completions_is_the_origins(proxy: Proxy, origin: MockOrigin) -> None:
    for _ in range(2):
        answer = await proxy.client.get(f"{CHAT}?limit=2", headers={"authorization": "Bearer own"})
        call = origin.calls[-1]
        assert (call.method, call.path, call.headers["authorization"]) == ("GET", CHAT, "Bearer own")
        assert answer.headers["x-edgeinf-cache"] == "bypass"
    assert origin.calls[-2].method == "GET"


@pytest.mark.parametrize("path", DIALECT_PATHS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b'"x"', b"\x00", b'{"model":"a","model":"b"}'], ids=repr)
async def test_what_is_no_call_is_400_in_the_dialects_own_form(
    proxy: Proxy, origin: MockOrigin, path: str, body: bytes
) -> None:
    calls = len(origin.calls)
    answer = await proxy.client.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    error = error_of(answer.json())
    assert (answer.json().get("type") == "error") == (path == "/v1/messages")
    assert not error["message"][0].isupper()
    assert len(origin.calls) == calls


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, chat(user="\ud800")),
        (CHAT, chat(metadata={"a": "\udc00"})),
        (CHAT, chat(stream=True, stream_options={"\ud800": 1})),
        (CHAT, {**chat(), "model": "\ud800"}),
        ("/v1/responses", {"model": "m", "input": "hi", "prompt_cache_key": "\ud800"}),
        ("/v1/messages", messages(metadata={"user_id": "\ud800"})),
        ("/v1/embeddings", {"model": "m", "input": "hi", "encoding_format": "\ud800"}),
        ("/v1/moderations", {"model": "\ud800", "input": "hi"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_no_text_is_refused_wherever_it_stands(
    proxy: Proxy, origin: MockOrigin, path: str, body: dict[str, Any]
) -> None:
    calls = len(origin.calls)
    for _ in range(3):  # the third is one that may be remembered
        answer = await proxy.client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert error_of(answer.json())["code"] == "invalid_json"
    assert len(origin.calls) == calls


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON", 200),
        ("application/vnd.x+json", 200),
        (None, 200),
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/x-www-form-urlencoded", 415),
        ("\xff", 415),
    ],
)
async def test_the_content_type_says_json_or_nothing(proxy: Proxy, kind: str | None, status: int) -> None:
    headers = {} if kind is None else {"content-type": kind.encode("latin-1")}
    answer = await proxy.client.post(CHAT, content=json.dumps(chat()), headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == status
    assert status == 200 or error_of(answer.json())["code"] == "unsupported_media_type"


# --- size ---


async def test_a_body_that_announces_too_much_is_refused_before_it_is_sent(proxy: Proxy) -> None:
    async with wired(proxy.url) as wire:
        await wire.send(f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {MEGABYTE + 1}\r\n\r\n".encode())
        answer = await wire.answer()
    assert answer.status == 413
    error = error_of(answer.json)
    assert (error["code"], str(MEGABYTE) in error["message"], "listen.max_body" in error["message"]) == (
        "too_large",
        True,
        True,
    )


async def test_a_body_in_chunks_that_becomes_too_large_is_refused(proxy: Proxy) -> None:
    async with wired(proxy.url) as wire:
        await wire.send(post(b"", headers=[("transfer-encoding", "chunked")], length=False))
        chunk = b"%x\r\n%b\r\n" % (100_000, b"x" * 100_000)
        await wire.send(*[chunk] * 12)
        assert (await wire.answer()).status == 413


async def test_a_body_of_just_the_size_is_read(proxy: Proxy) -> None:
    room = MEGABYTE - len(json.dumps(chat("")).encode())
    async with wired(proxy.url) as wire:
        await wire.send(post(chat("x" * room)))
        assert (await wire.answer()).status == 200
        await wire.send(post(chat("x" * (room + 1))))
        assert (await wire.answer()).status == 413


# --- compressed bodies ---

BODY = json.dumps(chat("compressed")).encode()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(BODY)),
        ("GZIP", gzip.compress(BODY)),
        ("x-gzip", gzip.compress(BODY)),
        ("deflate", zlib.compress(BODY)),
        ("identity", BODY),
        ("", BODY),
    ],
    ids=["gzip", "upper", "x-gzip", "deflate", "identity", "none"],
)
async def test_a_compressed_body_is_the_same_question(proxy: Proxy, coding: str, body: bytes) -> None:
    await proxy.post(CHAT, chat("compressed"))
    for _ in range(3):
        answer = await proxy.client.post(
            CHAT, content=body, headers={"content-encoding": coding, "content-type": "application/json"}
        )
        assert (answer.status_code, answer.headers["x-edgeinf-cache"]) == (200, "hit")


@pytest.mark.parametrize(
    ("coding", "body", "status"),
    [
        ("br", BODY, 415),
        ("zstd", BODY, 415),
        ("gzip, gzip", gzip.compress(gzip.compress(BODY)), 415),
        ("compress", BODY, 415),
        ("gzip", BODY, 400),
        ("gzip", b"", 400),
        ("gzip", gzip.compress(BODY)[:-9], 400),
        ("gzip", gzip.compress(BODY)[:20], 400),
        ("gzip", gzip.compress(b"{"), 400),
        ("gzip", gzip.compress(b"x" * 300 * MEGABYTE, 9), 413),
        ("deflate", zlib.compress(b"x" * 300 * MEGABYTE, 9), 413),
    ],
    ids=["br", "zstd", "twice", "compress", "not-gzip", "empty", "cut", "cut-early", "no-json", "bomb", "zlib-bomb"],
)
async def test_a_compressed_body_that_is_none_is_refused(
    proxy: Proxy, origin: MockOrigin, coding: str, body: bytes, status: int
) -> None:
    """A bomb of 300 MB in 300 KB is given up at the limit."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = len(origin.calls)
    answer = await proxy.client.post(
        CHAT, content=body, headers={"content-encoding": coding, "content-type": "application/json"}
    )
    assert answer.status_code == status
    assert error_of(answer.json())["message"]
    assert len(origin.calls) == calls
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB


# --- who may ---


@pytest.mark.parametrize("path", [CHAT, "/v1/files", "/v1/anything", "/healthz", "/", "/metrics", "/nothing"])
async def test_another_web_site_gets_nothing_on_any_path(proxy: Proxy, origin: MockOrigin, path: str) -> None:
    calls = len(origin.calls)
    for headers in (
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"host": "evil.example"},
        {"origin": "http://["},
    ):
        for method in ("GET", "POST", "OPTIONS"):
            answer = await proxy.client.request(method, path, headers=headers)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
    assert len(origin.calls) == calls


async def test_the_dashboard_can_be_left_out(origin: MockOrigin) -> None:
    async with proxying(region(origin, "only"), dashboard=Dashboard(enabled=False)) as running:
        assert (await running.client.get("/_edgeinf/")).status_code == 404
        assert (await running.client.get("/healthz")).status_code == 200


async def test_headers_that_come_twice_are_read_as_one_list(proxy: Proxy, origin: MockOrigin) -> None:
    async with wired(proxy.url) as wire:
        betas = [("anthropic-beta", "a-1"), ("anthropic-beta", "b-2")]
        await wire.send(post(messages("betas"), path="/v1/messages", headers=[*betas, ("anthropic-version", "1")]))
        assert (await wire.answer()).status == 200
    sent = origin.calls[-1].headers["anthropic-beta"]
    assert [part.strip() for part in sent.split(",")] == ["a-1", "b-2"]


async def test_no_header_value_breaks_the_server(proxy: Proxy) -> None:
    """Bytes that are no text, in every header that is looked at somewhere."""
    names = [
        "authorization", "x-api-key", "api-key", "openai-organization", "cookie", "user-agent", "x-forwarded-for",
        "traceparent", "tracestate", "idempotency-key", "openai-beta", "anthropic-beta", "anthropic-version",
        "x-edgeinf-session", "x-edgeinf-route", "x-edgeinf-namespace", "accept", "accept-encoding", "te", "range",
        "if-none-match", "content-encoding", "content-type", "cache-control", "x-edgeinf-ttl", "origin", "host",
    ]  # fmt: skip
    for name in names:
        for value in ("\xff\xfe", "\xb2", "", "a" * 5000, "max-age=\xb2", "http://[", '"', "%", "\\", "{{"):
            async with wired(proxy.url) as wire:
                head = [(name, value)]
                body = chat(f"odd {name}")
                if name in ("host", "content-type"):
                    data = json.dumps(body).encode()
                    lines = [f"POST {CHAT} HTTP/1.1", f"{name}: {value}", f"content-length: {len(data)}"]
                    await wire.send("\r\n".join([*lines, "", ""]).encode("latin-1") + data)
                else:
                    await wire.send(post(body, headers=head))
                answer = await wire.answer()
            assert answer.status in (200, 400, 403, 415), (name, value, answer)
            assert answer.header("content-type").startswith("application/json"), (name, value, answer)


async def test_what_is_refused_at_the_door_is_recorded_too(origin: MockOrigin, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    async with proxying(region(origin, "r"), events=Events(file=file)) as proxy:
        await proxy.client.put("/v1/chat/completions")
        await proxy.client.post("/v1/chat/completions", json=chat(), headers={"origin": "https://evil.example"})
        await proxy.client.post("/v1/chat/completions", json=chat())
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(e["status"], e["error"]) for e in events] == [
        (405, "method_not_allowed"),
        (403, "origin_not_allowed"),
        (200, None),
    ]


async def test_the_nearest_server_of_our_kind_speaks_for_itself(origin: MockOrigin) -> None:
    far = {"x-edgeinf-cache": "hit", "x-edgeinf-region": "far", "x-edgeinf-request-id": "req-far", "age": "50"}
    origin.use({"headers": {**far, "cache-status": "edgeinf; hit"}})
    async with proxying(region(origin, "near"), cache=Cache(disk=None)) as proxy:
        answers = [await proxy.client.post(CHAT, json=chat("chained", stream=stream)) for stream in (False, True)]
        answers.append(await proxy.client.get("/v1/files"))
    for answer, cache in zip(answers, ("miss", "hit", "bypass"), strict=True):
        assert answer.headers.get_list("x-edgeinf-cache") == [cache]
        assert answer.headers.get_list("x-edgeinf-region") == ["near"]
        assert len(answer.headers.get_list("x-edgeinf-request-id")) == 1
