"""Own sockets: each phase is stamped when the system call that ended it returned, before any byte is looked at.

Blocking sockets, one request at a time per connection. Nothing is retried, no address is raced against another:
the first address of the chosen family is used, so no timer of ours can become part of a latency.
"""

from __future__ import annotations

import errno
import select
import socket
from dataclasses import dataclass
from time import perf_counter_ns

import h11

from edgeinf.probe.address import Place, resolve
from edgeinf.probe.proxy import Proxy, proxy_for
from edgeinf.probe.trust import Tls
from edgeinf.probe.values import Failure, Instants, Timeouts

__all__ = ["READ_BYTES", "Connection", "Route", "connect"]

READ_BYTES = 1 << 18
_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How to get there: address family (None: the system's first), proxy, certificate authorities, time-outs."""

    family: int | None = None
    proxy: str | None = None
    ca: str | None = None
    timeouts: Timeouts = _TIMEOUTS


class Connection:
    """One TCP connection, perhaps with TLS, and its HTTP/1.1 state."""

    def __init__(self, sock: socket.socket, *, number: int, ip: str, family: int) -> None:
        self._socket = sock
        self.tls: Tls | None = None
        self.number = number
        self.ip = ip
        self.family = family
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        self.exchanges = 0
        self.full_reads = 0
        self.forward_proxy: Proxy | None = None  # plain HTTP through a proxy names the whole URL
        self.certificate_expires: str | None = None

    def send(self, data: bytes) -> None:
        """Write everything. Raise Failure ``reset`` or ``timeout``."""
        try:
            self._socket.sendall(self.tls.seal(data) if self.tls else data)
        except TimeoutError:
            raise Failure("timeout", "the request could not be written in time") from None
        except OSError as error:
            raise Failure("reset", f"while writing the request: {_say(error)}") from None

    def receive(self, deadline: int) -> tuple[bytes, int, bool]:
        """Return (plain bytes, instant of the read, ended). Raise OSError, TimeoutError at ``deadline`` (ns)."""
        while True:
            left_s = (deadline - perf_counter_ns()) / 1e9
            if left_s <= 0:
                raise TimeoutError
            self._socket.settimeout(left_s)
            raw = self._socket.recv(READ_BYTES)
            stamp = perf_counter_ns()
            self.full_reads += len(raw) == READ_BYTES
            if self.tls is None:
                return raw, stamp, not raw
            self.tls.feed(raw)
            plain, ended = self.tls.open()
            if plain or ended:
                return plain, stamp, ended

    def handshake(self, tls: Tls, deadline: int) -> int:
        """Make the connection secure; return the instant of the read that completed it."""
        stamp = perf_counter_ns()
        while not tls.handshake():
            stamp = self._exchange(tls, deadline)
        if rest := tls.pending():
            self._socket.sendall(rest)
        self.tls = tls
        self.certificate_expires = tls.certificate_expires()
        return stamp

    def _exchange(self, tls: Tls, deadline: int) -> int:
        try:
            if out := tls.pending():
                self._socket.sendall(out)
            left_s = (deadline - perf_counter_ns()) / 1e9
            self._socket.settimeout(max(0.001, left_s))
            raw = self._socket.recv(READ_BYTES)
        except TimeoutError:
            raise Failure("tls", "the handshake did not end in time") from None
        except OSError as error:
            raise Failure("tls", f"during the handshake: {_say(error)}") from None
        stamp = perf_counter_ns()
        if not raw:
            raise Failure("tls", "the peer closed the connection during the handshake")
        tls.feed(raw)
        return stamp

    def idle(self) -> bool:
        """Return whether a new request may be sent: the last answer is complete and the peer has not hung up."""
        if self.http.our_state is not h11.IDLE or self.http.their_state is not h11.IDLE:
            return False
        readable, _, _ = select.select([self._socket], [], [], 0)
        while readable:  # TLS tickets may wait here, or the end
            try:
                self._socket.setblocking(False)
                raw = self._socket.recv(READ_BYTES)
                if not raw or self.tls is None:
                    return False
                self.tls.feed(raw)
                plain, ended = self.tls.open()
            except (OSError, Failure):
                return False
            finally:
                self._socket.setblocking(True)
            if plain or ended:
                return False
            readable, _, _ = select.select([self._socket], [], [], 0)
        return True

    def close(self) -> None:
        """Close it; safe to call again."""
        self._socket.close()


def connect(place: Place, route: Route, instants: Instants, *, number: int) -> Connection:
    """Open a connection and stamp its phases. Raise Failure."""
    proxy = proxy_for(place, route.proxy)
    hop = proxy.place if proxy else place
    deadline = perf_counter_ns() + int(route.timeouts.connect_s * 1e9)
    address = resolve(hop.host, hop.port, route.family)
    instants.dns = perf_counter_ns()
    sock = socket.socket(socket.AF_INET6 if address.family == 6 else socket.AF_INET, socket.SOCK_STREAM)
    connection = Connection(sock, number=number, ip=address.ip, family=address.family)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(max(0.001, (deadline - perf_counter_ns()) / 1e9))
        _connect(sock, address.sockaddr, f"{address.ip} port {hop.port}")
        instants.tcp = perf_counter_ns()
        if proxy and place.secure:
            instants.proxy = _tunnel(connection, place, proxy, deadline)
        elif proxy:
            connection.forward_proxy = proxy
        if place.secure:
            instants.tls = connection.handshake(Tls(place.host, route.ca), deadline)
    except BaseException as error:
        connection.close()
        if isinstance(error, Failure):
            error.ip, error.family = address.ip, address.family
        raise
    return connection


def _connect(sock: socket.socket, sockaddr: tuple[object, ...], where: str) -> None:
    try:
        sock.connect(sockaddr)
    except TimeoutError:
        raise Failure("connect_timeout", f"no connection to {where} in time") from None
    except OSError as error:
        raise Failure("connect", f"{where}: {_say(error)}") from None


def _tunnel(connection: Connection, place: Place, proxy: Proxy, deadline: int) -> int:
    """Ask the proxy for a tunnel; return the instant of its consent."""
    host = f"[{place.host}]" if ":" in place.host else place.host
    where = f"{host}:{place.port}"
    asking = h11.Connection(h11.CLIENT)
    connection.send(
        asking.send(h11.Request(method="CONNECT", target=where, headers=[("Host", where), *proxy.headers])) or b""
    )
    connection.send(asking.send(h11.EndOfMessage()) or b"")
    try:
        while (event := asking.next_event()) is h11.NEED_DATA:
            data, stamp, ended = connection.receive(deadline)
            asking.receive_data(data)
            if ended:
                raise Failure("proxy", f"{proxy.shown} closed the connection")
    except TimeoutError:
        raise Failure("proxy", f"{proxy.shown} did not answer in time") from None
    except (OSError, h11.RemoteProtocolError) as error:
        raise Failure("proxy", f"{proxy.shown}: {error}") from None
    if not isinstance(event, h11.Response) or not 200 <= event.status_code < 300:
        status = getattr(event, "status_code", "no status")
        raise Failure("proxy", f"{proxy.shown} refused the tunnel with {status}")
    return stamp


def _say(error: OSError) -> str:
    text = error.strerror or (errno.errorcode.get(error.errno, "") if error.errno else "") or str(error)
    return text.lower()
