"""Where a URL leads: host, port, path of a call, address of one family."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from edgeinf.core.errors import UsageError
from edgeinf.probe.values import Failure

__all__ = ["Address", "Place", "call_path", "origin_of", "parse_url", "resolve"]

_FAMILIES = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}
_VERSION = re.compile(r"v\d+(?:alpha|beta)?\d*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The parts of a URL that a connection needs."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Return what the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One resolved address."""

    family: int  # 4 or 6
    ip: str
    sockaddr: tuple[object, ...]


def parse_url(url: str) -> Place:
    """Split an http(s) URL. Raise UsageError naming what is wrong."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not a URL", hint="write it as https://api.example.com/v1")
    if parts.username or parts.password:
        raise UsageError(f"a credential in a URL ({parts.hostname})", hint="use --key-env NAME")
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} carries a query or a fragment", hint="end it with its path")
    secure = parts.scheme == "https"
    return Place(secure=secure, host=parts.hostname, port=port or (443 if secure else 80), path=parts.path.rstrip("/"))


def origin_of(url: str) -> str:
    """Return scheme, host and port: what a credential is bound to."""
    place = parse_url(url)
    return f"{'https' if place.secure else 'http'}://{place.host}:{place.port}"


def call_path(base: str, path: str) -> str:
    """Join a base path and a call's path; a base that names an API version is complete."""
    versioned = any(_VERSION.fullmatch(segment) for segment in base.split("/"))
    return base + (path.removeprefix("/v1") if versioned else path)


def resolve(host: str, port: int, family: int | None) -> Address:
    """Return the first address that the system gives, of one family if asked. Raise Failure ``dns``."""
    try:
        found = socket.getaddrinfo(host, port, _FAMILIES[family], socket.SOCK_STREAM)
    except OSError as error:
        asked = f" for IPv{family}" if family else ""
        raise Failure("dns", f"{host} has no address{asked}: {error.strerror}") from None
    kind, _, _, _, sockaddr = found[0]
    return Address(family=6 if kind == socket.AF_INET6 else 4, ip=str(sockaddr[0]), sockaddr=sockaddr)
