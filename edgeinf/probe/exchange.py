"""One request over one connection: bytes out, bytes in, each read stamped before it is parsed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TypeAlias

import h11

from edgeinf.probe.request import Request
from edgeinf.probe.transport import Connection
from edgeinf.probe.values import Failure, Instants, Timeouts

__all__ = ["Body", "End", "Head", "Pace", "Part", "exchange"]

_AFTER_END_NS = 2_000_000_000  # how long a finished answer may take to end its framing


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Status and headers, names in lower case."""

    status: int
    version: str
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Bytes of the body and the instant of the read that brought them."""

    data: bytes
    stamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The body is complete by its framing."""

    stamp: int


Part: TypeAlias = Head | Body | End


class Pace:
    """Until when the next read must bring something; the reader says what counts as progress."""

    def __init__(self, timeouts: Timeouts, start: int) -> None:
        self._total = start + int(timeouts.total_s * 1e9)
        self._idle = int(timeouts.idle_s * 1e9)
        self.deadline = min(self._total, start + int(timeouts.first_s * 1e9))

    def progress(self, stamp: int) -> None:
        """Count the time from here."""
        self.deadline = min(self._total, stamp + self._idle)

    def finished(self, stamp: int) -> None:
        """Wait only for the framing to end."""
        self.deadline = min(self._total, stamp + _AFTER_END_NS)


def exchange(
    connection: Connection, request: Request, url: str, instants: Instants, timeouts: Timeouts
) -> tuple[Iterator[Part], Pace]:
    """Send a request; return the parts of its answer as they come, and the pace that the reader must keep up.

    Raise Failure, here and while iterating.
    """
    http, target, headers = connection.http, request.path, [*request.headers]
    if http.our_state is not h11.IDLE:
        http.start_next_cycle()
    if connection.forward_proxy:
        target = url + request.path
        headers += connection.forward_proxy.headers
    if request.body:
        headers.append(("Content-Length", str(len(request.body))))
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    data = "\r\n".join(lines).encode("latin-1") + request.body
    instants.request_start = perf_counter_ns()
    connection.send(data)
    instants.request_written = perf_counter_ns()
    _account(http, request, target, headers)  # while the request travels, so that it is part of no figure
    connection.exchanges += 1
    pace = Pace(timeouts, instants.request_start)
    return _parts(connection, pace, instants), pace


def _account(http: h11.Connection, request: Request, target: str, headers: list[tuple[str, str]]) -> None:
    """Tell the parser what was sent, so that it knows which answer to expect."""
    http.send(h11.Request(method=request.method, target=target, headers=headers))
    if request.body:
        http.send(h11.Data(data=request.body))
    http.send(h11.EndOfMessage())


def _parts(connection: Connection, pace: Pace, instants: Instants) -> Iterator[Part]:
    http, stamp, unzip, received, ended = connection.http, 0, None, False, False
    while True:
        try:
            event = http.next_event()
        except h11.RemoteProtocolError as error:
            raise _broken(str(error), instants, received, ended) from None
        if event is h11.NEED_DATA:
            try:
                data, stamp, ended = connection.receive(pace.deadline)
            except TimeoutError:
                said = "no answer in time" if instants.headers is None else "output stopped"
                raise Failure("timeout" if instants.headers is None else "stall", said) from None
            except OSError as error:
                raise _broken(error.strerror or "reset", instants, received, True) from None
            received = received or bool(data)
            if data:
                http.receive_data(data)
            if ended:
                http.receive_data(b"")
        elif isinstance(event, h11.Response):
            instants.headers = stamp
            named = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
            if named.get("content-encoding") in ("gzip", "deflate"):
                unzip = zlib.decompressobj(47)
            yield Head(status=event.status_code, version=event.http_version.decode(), headers=named)
        elif isinstance(event, h11.Data):
            body = bytes(event.data)
            try:
                yield Body(data=unzip.decompress(body) if unzip else body, stamp=stamp)
            except zlib.error as error:
                raise Failure("protocol", f"the body is not what its encoding says: {error}") from None
        elif isinstance(event, h11.EndOfMessage):
            yield End(stamp=stamp)
            if http.their_state is h11.DONE:
                http.start_next_cycle()
            return
        elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            raise _broken("closed", instants, received, True)


def _broken(text: str, instants: Instants, received: bool, closed: bool) -> Failure:
    if instants.headers is not None:
        return Failure("truncated" if closed else "protocol", f"the answer ended early: {text.lower()}")
    if received:
        return Failure("protocol", f"not an HTTP/1.1 answer: {text.lower()}")
    return Failure("reset", f"closed before any answer: {text.lower()}")
