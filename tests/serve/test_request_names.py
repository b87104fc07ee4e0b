"""What names one request is told apart from what it asks, and from nothing else."""

from __future__ import annotations

import pytest

from edgeinf.core.config.schema import Cache, Config, Limit
from edgeinf.serve.request_names import RequestNames, trace_id

NAMES = RequestNames(Config())
TRACE = "0af7651916cd43dd8448eb211c80319c"


def request(*lines: bytes, body: bytes = b"{}") -> bytes:
    return b"\r\n".join((b"POST /v1/messages HTTP/1.1", b"host: x", *lines, b"content-length: 2", b"", body))


@pytest.mark.parametrize(
    "lines",
    [
        [b"x-request-id: 1"],
        [b"X-Request-ID: 1", b"TraceParent: 00-a-b-01"],
        [b"Idempotency-Key:1", b"accept: */*", b"tracestate: a=b,c=d"],
        [b"x-request-id:"],
    ],
    ids=["one", "two", "apart", "empty"],
)
def test_lines_that_name_it_are_taken_out(lines: list[bytes]) -> None:
    kept = [line for line in lines if line.startswith(b"accept")]
    gone = [line for line in lines if line not in kept]
    assert NAMES.part(request(*lines)) == (request(*kept), [b"\r\n" + line for line in gone])


@pytest.mark.parametrize(
    "sent",
    [
        request(b"x-request-ids: 1"),
        request(b"my-x-request-id: 1"),
        request(b"x-request-id : 1"),
        request(b"x-request-id: a b"),
        request(b"x-request-id: a\0b"),
        request(b"x-request-id: \xe9"),
        request(b"x-request-id: a\nb: c"),
        request(b"x-request-id: a", b" folded"),
        request(b"x-request-id: " + b"a" * 600),
        request(body=b"\r\nx-request-id: 1\r\n"),
        b"x-request-id: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nx-request-id: 1\r\nhost",
        b"",
    ],
    ids=[
        "longer",
        "part",
        "space before",
        "space within",
        "nul",
        "latin",
        "bare newline",
        "folded",
        "huge",
        "body",
        "first line",
        "no end",
        "nothing",
    ],
)
def test_all_else_is_left_as_it_is(sent: bytes) -> None:
    assert NAMES.part(sent) == (sent, [])


@pytest.mark.parametrize(
    "config",
    [
        Config(limits=(Limit(name="l", per="header:X-Request-Id", requests=(1, 1.0)),)),
        Config(cache=Cache(forward_headers=("X-Request-ID",))),
    ],
    ids=["limit", "forwarded"],
)
def test_what_the_config_names_stays(config: Config) -> None:
    sent = request(b"x-request-id: 1", b"traceparent: 2")
    assert RequestNames(config).part(sent) == (request(b"x-request-id: 1"), [b"\r\ntraceparent: 2"])


def test_what_a_prompt_of_the_config_reads_stays() -> None:
    sent = request(b"X-Request-Id: 1", b"traceparent: 2")
    assert RequestNames(Config(), {"x-request-id"}).part(sent) == (request(b"X-Request-Id: 1"), [b"\r\ntraceparent: 2"])


@pytest.mark.parametrize(
    ("given", "found"),
    [(f"00-{TRACE}-b7ad6b7169203331-01", TRACE), ("00-abc-b7ad6b7169203331-01", None), ("", None), (None, None)],
    ids=["whole", "short", "empty", "none"],
)
def test_a_trace_is_read_from_where_it_is_named(given: str | None, found: str | None) -> None:
    assert trace_id(given) == found
