import random
import zlib
from time import perf_counter_ns

import pytest

from edgeinf.probe.address import parse_url
from edgeinf.probe.exchange import Body, End, Head, exchange
from edgeinf.probe.request import Asked, head_request, make_request
from edgeinf.probe.transport import Route, connect
from edgeinf.probe.values import Failure, Instants
from tests.probe.made import QUICK, raw_origin, target_of


def _exchange(url: str, *, head: bool = False):
    target, instants = target_of(url), Instants(start=perf_counter_ns())
    connection = connect(parse_url(url), Route(timeouts=QUICK), instants, number=1)
    request = head_request(target) if head else make_request(target, Asked(), random.Random(1))
    try:
        parts, _ = exchange(connection, request, url, instants, QUICK)
        return list(parts), instants, connection.idle()
    finally:
        connection.close()


def test_the_parts_come_in_order_each_with_its_stamp():
    with raw_origin(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", b"ab", b"cd", close=False) as url:
        parts, instants, idle = _exchange(url)
    assert [type(p) for p in parts] == [Head, Body, Body, End]
    assert instants.request_start <= instants.request_written <= instants.headers < parts[1].stamp < parts[2].stamp
    assert parts[2].stamp == parts[3].stamp
    assert idle, "a complete answer leaves the connection ready"


def test_a_compressed_body_is_read_all_the_same():
    body = zlib.compress(b"hello", wbits=31)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    with raw_origin(head, body) as url:
        parts, _, _ = _exchange(url)
    assert b"".join(p.data for p in parts if isinstance(p, Body)) == b"hello"


def test_an_answer_to_head_has_no_body():
    with raw_origin(b"HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n", close=False) as url:
        parts, _, idle = _exchange(url, head=True)
    assert [type(p) for p in parts] == [Head, End]
    assert idle


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"half"], "truncated"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4\r\nhalf\r\n"], "truncated"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"what is this\r\n"], "protocol"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "protocol"),
        ([b"HTTP/1.1 200"], "protocol"),
        ([], "reset"),
        ([b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n", b"nope"], "protocol"),
    ],
    ids=["short", "unfinished chunks", "broken chunks", "not HTTP", "half a head", "nothing", "not gzip"],
)
def test_broken_framing_is_told_apart(pieces, kind):
    with raw_origin(*pieces) as url, pytest.raises(Failure) as caught:
        _exchange(url)
    assert caught.value.kind == kind
