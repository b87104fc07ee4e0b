from time import perf_counter_ns

import pytest

from edgeinf.probe.address import parse_url
from edgeinf.probe.transport import Route, connect
from edgeinf.probe.values import Failure, Instants
from tests.probe.made import QUICK, raw_origin


def test_phases_are_stamped_in_their_order():
    instants = Instants(start=perf_counter_ns())
    with raw_origin(close=False) as url:
        connection = connect(parse_url(url), Route(timeouts=QUICK), instants, number=3)
        assert connection.idle()
        connection.close()
    assert instants.start < instants.dns < instants.tcp
    assert instants.tls is None
    assert (connection.number, connection.ip, connection.family) == (3, "127.0.0.1", 4)


def test_a_connection_on_which_something_waits_is_not_idle():
    with raw_origin(b"HTTP/1.1 200 OK\r\n\r\n") as url:
        connection = connect(parse_url(url), Route(timeouts=QUICK), Instants(), number=1)
        connection.send(b"x")
        data, _, _ = connection.receive(perf_counter_ns() + 5 * 10**9)
        assert data.startswith(b"HTTP/1.1")
        assert connection.receive(perf_counter_ns() + 5 * 10**9)[2]
        assert not connection.idle()
        connection.close()


def test_a_read_waits_no_longer_than_its_deadline():
    with raw_origin(close=False) as url:
        connection = connect(parse_url(url), Route(timeouts=QUICK), Instants(), number=1)
        with pytest.raises(TimeoutError):
            connection.receive(perf_counter_ns() + 10**8)
        connection.close()


def test_a_family_that_the_host_has_not_is_a_failure():
    with pytest.raises(Failure) as caught:
        connect(parse_url("http://127.0.0.1:9"), Route(family=6, timeouts=QUICK), Instants(), number=1)
    assert caught.value.kind == "dns"
