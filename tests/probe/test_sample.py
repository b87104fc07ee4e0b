"""Figures against the instants that the scripted origin stamped on the same clock."""

import contextlib
import random
import statistics
from pathlib import Path

import pytest

from edgeinf.mock import Kind, ThreadedOrigin
from edgeinf.probe.figures import figures
from edgeinf.probe.request import Asked, make_request
from edgeinf.probe.sample import Client
from edgeinf.probe.transport import Route
from tests.probe.made import QUICK, ask, raw_origin, sent_ms, target_of

_STREAMS = {
    "role chunk first": ({"ttft": "60ms", "tpot": "3ms"}, "openai-chat"),
    "message_start first": ({"ttft": "60ms", "tpot": "3ms"}, "anthropic-messages"),
    "response.created first": ({"ttft": "60ms", "tpot": "3ms"}, "openai-responses"),
    "reasoning events of responses": (
        {"ttft": "40ms", "tpot": "3ms", "answer": {"reasoning": 8, "tokens": 8}},
        "openai-responses",
    ),
    "thinking before the text": (
        {"ttft": "40ms", "tpot": "3ms", "answer": {"reasoning": 8, "tokens": 8}},
        "anthropic-messages",
    ),
    "tool arguments of messages": (
        {"ttft": "40ms", "tpot": "3ms", "answer": {"tool_calls": [{}]}},
        "anthropic-messages",
    ),
    "refusal": ({"ttft": "40ms", "tpot": "3ms", "answer": {"refusal": "I will not do that, sorry"}}, "openai-chat"),
    "reasoning before the answer": (
        {"ttft": "40ms", "tpot": "3ms", "answer": {"reasoning": 8, "tokens": 8}},
        "openai-chat",
    ),
    "reasoning in another field": (
        {"ttft": "40ms", "tpot": "3ms", "answer": {"reasoning": 8, "tokens": 8, "reasoning_field": "reasoning"}},
        "openai-chat",
    ),
    "tool call only": ({"ttft": "40ms", "tpot": "3ms", "answer": {"tool_calls": [{}]}}, "openai-chat"),
    "fat first chunk": ({"ttft": "40ms", "tpot": "3ms", "fault": "fat;tokens=6"}, "openai-chat"),
    "CRLF": ({"ttft": "40ms", "tpot": "3ms", "fault": "crlf"}, "openai-chat"),
    "CR": ({"ttft": "40ms", "tpot": "3ms", "fault": "cr"}, "openai-chat"),
    "usage on every chunk": ({"ttft": "40ms", "tpot": "3ms", "answer": {"usage": "every"}}, "openai-chat"),
    "without a role chunk": ({"ttft": "40ms", "tpot": "3ms", "fault": "no-role"}, "openai-chat"),
    "line separators inside strings": ({"ttft": "40ms", "tpot": "3ms", "answer": {"unicode": True}}, "openai-chat"),
}


@pytest.mark.parametrize(("script", "dialect"), _STREAMS.values(), ids=_STREAMS.keys())
def test_first_and_last_token_are_those_the_origin_stamped(script, dialect):
    late, end = [], []
    with ThreadedOrigin(script) as origin:
        for _ in range(7):
            attempt = ask(origin.url, dialect)
            assert attempt.error is None, attempt.detail
            sent = sent_ms(origin, attempt)
            got = figures(attempt)
            ttft = got["ttft_ms"] - (attempt.instants.request_start - attempt.instants.start) / 1e6
            late.append(ttft - sent[0])
            end.append(got["e2e_ms"] - sent[-1])
            assert attempt.chunks == len(sent)
    assert -0.05 <= statistics.median(late) < 1.0
    assert -0.05 <= statistics.median(end) < 1.0


def test_the_first_answer_is_later_than_the_first_reasoning():
    with ThreadedOrigin({"ttft": "20ms", "tpot": "5ms", "answer": {"reasoning": 8, "tokens": 4}}) as origin:
        attempt = ask(origin.url)
    at = attempt.instants
    assert (at.first_answer - at.first_token) / 1e6 > 30


def test_an_answer_of_tools_alone_has_a_first_token_and_no_first_answer():
    with ThreadedOrigin({"answer": {"tool_calls": [{}]}}) as origin:
        attempt = ask(origin.url)
    assert attempt.instants.first_token is not None
    assert attempt.instants.first_answer is None


def test_split_bytes_are_stamped_with_the_read_that_completed_the_event():
    with ThreadedOrigin({"ttft": "30ms", "fault": "split"}) as origin:
        attempt = ask(origin.url)
        assert attempt.error is None
        assert attempt.chunks == len(sent_ms(origin, attempt))
    assert figures(attempt)["ttft_ms"] > 29


def test_hidden_reasoning_does_not_make_tokens_faster():
    script = {"tpot": "5ms", "fault": "hidden-reasoning;tokens=20;fat=4", "answer": {"tokens": 12}}
    with ThreadedOrigin(script) as origin:
        attempt = ask(origin.url, max_tokens=256)
        sent = sent_ms(origin, attempt)
    assert attempt.reasoning_tokens == 20
    assert figures(attempt)["tpot_ms"] == pytest.approx((sent[-1] - sent[0]) / 8, rel=0.15)
    assert figures(attempt)["output_tps"] < 1000 / 4


def test_time_per_output_token_holds_no_time_to_first_token():
    with ThreadedOrigin({"ttft": "150ms", "tpot": "4ms", "answer": {"tokens": 10}}) as origin:
        got = [figures(ask(origin.url))["tpot_ms"] for _ in range(5)]
    assert statistics.median(got) == pytest.approx(4.0, abs=1)


def test_the_usage_chunk_and_the_end_marker_are_not_the_last_token():
    with ThreadedOrigin({"ttft": "10ms"}) as origin:
        attempt = ask(origin.url)
        assert attempt.output_tokens == 16
        assert attempt.instants.last_token <= attempt.instants.done
        assert len(sent_ms(origin, attempt, Kind.USAGE)) == 1
        assert attempt.chunks == 16


def test_a_connection_is_reused_and_says_so():
    with ThreadedOrigin({"ttft": "5ms"}) as origin:
        target = target_of(origin.url)
        client = Client(target, Route(timeouts=QUICK))
        made = [
            client.attempt(make_request(target, Asked(), random.Random(n)), round=n, phase="warm") for n in range(3)
        ]
        client.close()
    assert [a.phase for a in made] == ["cold", "warm", "warm"]
    assert [a.reused for a in made] == [False, True, True]
    assert "tcp_ms" in figures(made[0])
    assert "tcp_ms" not in figures(made[1])
    assert {a.connection for a in made} == {1}
    assert made[0].http_version == "1.1"


def test_a_connection_that_the_server_closed_is_not_used_again():
    with ThreadedOrigin({"fault": "close"}) as origin:
        target = target_of(origin.url)
        client = Client(target, Route(timeouts=QUICK))
        made = []
        for number in range(2):
            made.append(
                client.attempt(make_request(target, Asked(), random.Random(number)), round=number, phase="warm")
            )
            origin.until_idle()
        client.close()
    assert [a.error for a in made] == [None, None]
    assert [a.connection for a in made] == [1, 2]


_FAILURES = {
    "redirect": ("redirect;to=https://elsewhere.example/v1", "redirect"),
    "401": ("401", "auth"),
    "429": ("429;retry_after=2s", "rate_limited"),
    "404": ("404", "client_error"),
    "503": ("503", "server_error"),
    "an error in the stream": ("soft-error", "error_in_answer"),
    "no tokens": ("empty-choices", "no_tokens"),
    "stall": ("stall;after=4", "stall"),
    "cut": ("cut;after=4", "truncated"),
    "reset in the body": ("reset;after=4", "truncated"),
    "ended without its end marker": ("truncate;after=4", "truncated"),
    "cut before the headers": ("cut;at=headers", "reset"),
    "reset before the headers": ("reset;at=headers", "reset"),
    "html": ("html", "server_error"),
    "garbage": ("garbage", "protocol"),
    "a broken event": ("malformed", "protocol"),
}


@pytest.mark.parametrize(("fault", "kind"), _FAILURES.values(), ids=_FAILURES.keys())
def test_each_failure_is_its_own_class_and_has_no_latency(fault, kind):
    with ThreadedOrigin({"ttft": "2ms", "fault": fault}) as origin:
        attempt = ask(origin.url)
        asked = origin.count
    assert (attempt.error, attempt.ok) == (kind, False), attempt.detail
    assert attempt.detail
    assert asked == 1, "nothing is retried or followed"


def test_a_silent_server_is_a_timeout():
    timeouts = QUICK.__class__(connect_s=5, first_s=0.2, idle_s=0.2, total_s=5)
    with raw_origin(close=False) as url:
        attempt = ask(url, timeouts=timeouts)
    assert attempt.error == "timeout"


def test_comments_do_not_keep_a_stalled_stream_alive():
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    token = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    with raw_origin(head, token, *[b": still here\n\n"] * 150, close=False) as url:
        attempt = ask(url)
    assert attempt.error == "stall"


def test_both_families_are_measured_and_named():
    with ThreadedOrigin({}, host="::1") as six, ThreadedOrigin({}) as four:
        made = [ask(six.url), ask(four.url)]
    assert [(a.error, a.family, a.ip) for a in made] == [(None, 6, "::1"), (None, 4, "127.0.0.1")]


def test_a_whole_answer_has_no_time_to_first_token():
    body = (
        b'{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}'
    )
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    with raw_origin(head, body) as url:
        attempt = ask(url)
    assert attempt.error is None
    assert "ttft_ms" not in figures(attempt)
    assert "e2e_ms" in figures(attempt)


def test_nobody_listening_is_a_refused_connection():
    with ThreadedOrigin({}) as origin:
        url = origin.url
    attempt = ask(url)
    assert attempt.error == "connect"
    assert "refused" in attempt.detail
    assert (attempt.ip, attempt.family) == ("127.0.0.1", 4)


def test_a_name_that_does_not_resolve_is_its_own_class():
    assert ask("http://nowhere.invalid").error == "dns"


def test_plain_http_where_tls_was_expected_is_a_tls_failure():
    with ThreadedOrigin({}) as origin:
        attempt = ask(origin.url.replace("http://", "https://"))
    assert attempt.error == "tls"


def test_tls_is_a_phase_of_its_own_and_the_certificate_says_until_when(certificate: tuple[Path, object]):
    authority, context = certificate
    with ThreadedOrigin({"ttft": "20ms"}, tls=context) as origin:
        attempt = ask(origin.url, ca=str(authority))
        late = figures(attempt)["ttft_ms"] - sent_ms(origin, attempt)[0]
    got = figures(attempt)
    assert attempt.error is None, attempt.detail
    assert got["tls_ms"] > 0
    assert got["connect_ms"] >= got["tls_ms"] + got["tcp_ms"]
    assert got["connect_ms"] <= late < got["connect_ms"] + 20
    assert attempt.certificate_expires is not None


def test_an_unknown_authority_is_a_tls_failure(certificate: tuple[Path, object]):
    _, context = certificate
    with ThreadedOrigin({}, tls=context) as origin, contextlib.suppress(Exception):
        attempt = ask(origin.url)
    assert attempt.error == "tls"
    assert "certificate" in attempt.detail


def test_a_key_goes_into_the_header_of_its_dialect_and_into_no_repr():
    with ThreadedOrigin({}) as origin:
        for dialect in ("openai-chat", "anthropic-messages"):
            target = target_of(origin.url, dialect, key="sk-abcdefgh12345678")
            client = Client(target, Route(timeouts=QUICK))
            client.attempt(make_request(target, Asked(), random.Random(1)), round=0, phase="cold")
            client.close()
            assert "sk-abc" not in repr(target)
        first, second = origin.calls
    assert first.headers["authorization"] == "Bearer sk-abcdefgh12345678"
    assert second.headers["x-api-key"] == "sk-abcdefgh12345678"
    assert "authorization" not in second.headers


def test_embeddings_have_an_end_and_no_first_token():
    with ThreadedOrigin({"ttft": "30ms"}) as origin:
        attempt = ask(origin.url, "openai-embeddings")
    assert attempt.error is None, attempt.detail
    assert "ttft_ms" not in figures(attempt)
    assert figures(attempt)["e2e_ms"] >= 29
    assert attempt.input_tokens > 0


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic-messages"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [("soft-error;after=4", "error_in_answer"), ("truncate;after=6", "truncated"), ("cut;after=6", "truncated")],
    ids=["error inside", "ended early", "cut"],
)
def test_every_dialect_tells_a_broken_stream(dialect, fault, kind):
    with ThreadedOrigin({"ttft": "2ms", "fault": fault}) as origin:
        attempt = ask(origin.url, dialect)
    assert attempt.error == kind, attempt.detail
