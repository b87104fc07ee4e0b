"""What an answer is taken for, byte by byte, without a network."""

import random
from collections.abc import Iterator

import pytest

from edgeinf.probe.exchange import Body, End, Head, Pace, Part
from edgeinf.probe.follow import follow
from edgeinf.probe.request import Asked, make_request
from edgeinf.probe.values import Attempt, Failure, Instants, Timeouts
from tests.probe.made import target_of

_SSE = {"content-type": "text/event-stream; charset=utf-8"}
_CHUNK = 'data: {"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}\n\n'


def _chunks(*deltas: str, end: str = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}') -> bytes:
    return "".join(_CHUNK % (d, "null") for d in deltas).encode() + f"data: {end}\n\ndata: [DONE]\n\n".encode()


def _parts(raw: bytes, cut: int, headers: dict[str, str], status: int) -> Iterator[Part]:
    yield Head(status=status, version="1.1", headers=headers)
    yield Body(data=raw[:cut], stamp=1000)
    yield Body(data=raw[cut:], stamp=2000)
    yield End(stamp=3000)


def _follow(raw: bytes, cut: int = 0, headers: dict[str, str] | None = None, status: int = 200) -> Attempt:
    attempt = Attempt(target="a", round=0, phase="warm", instants=Instants())
    request = make_request(target_of("http://h"), Asked(), random.Random(1))
    follow(attempt, request, _parts(raw, cut, headers or _SSE, status), Pace(Timeouts(), 0))
    return attempt


def test_a_token_has_the_stamp_of_the_read_that_completed_its_event_at_every_split():
    raw = _chunks('{"role":"assistant","content":""}', '{"content":"a\\u2028b"}')
    first_ends = raw.index(b"\n\n", raw.index(b"u2028")) + 2
    for cut in range(1, len(raw)):
        attempt = _follow(raw, cut)
        assert attempt.instants.first_token == (1000 if cut >= first_ends else 2000)
        assert attempt.chunks == 1


def test_fifty_reasoning_deltas_come_before_the_first_answer():
    attempt = _follow(_chunks(*['{"reasoning":"hm "}'] * 50, '{"content":"a"}'), cut=100)
    assert attempt.chunks == 51
    assert attempt.reasoning_streamed
    assert attempt.instants.first_answer == 2000


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (_chunks('{"role":"assistant"}'), "no_tokens"),
        (_chunks('{"content":"a"}', end='{"error":{"message":"overloaded"}}'), "error_in_answer"),
        (_chunks('{"content":"a"}').replace(b"data: [DONE]\n\n", b""), "truncated"),
        (b"data: {broken\n\n" + _chunks('{"content":"a"}'), "protocol"),
        (b"", "truncated"),
    ],
    ids=["no output", "an error inside", "no end marker", "not JSON", "empty"],
)
def test_what_is_no_whole_answer_is_a_failure(raw, kind):
    with pytest.raises(Failure) as caught:
        _follow(raw)
    assert caught.value.kind in (kind, "no_tokens" if raw == b"" else kind)


def test_a_secret_in_an_error_is_not_repeated():
    with pytest.raises(Failure) as caught:
        _follow(b"wrong key sk-abcdefghijklmnop", headers={}, status=401)
    assert "sk-abc" not in caught.value.detail


def test_the_servers_count_and_our_own_are_both_kept():
    usage = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":7}}'
    attempt = _follow(_chunks('{"content":"hello"}', '{"content":" world"}', end=usage))
    assert attempt.output_tokens == 7
    assert attempt.counted_tokens == 2
    assert attempt.first_chunk_tokens == 1
