"""Which proxy stands between, if one was asked for. The environment counts only on request."""

from __future__ import annotations

import ipaddress
import os
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from edgeinf.core.errors import UsageError
from edgeinf.probe.address import Place

__all__ = ["Proxy", "proxy_for"]


class Proxy:
    """An HTTP proxy; its own credential, if any, goes to it alone."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise UsageError(f"the proxy must be an http:// URL ({parts.scheme}://{parts.hostname or ''})")
        self.place = Place(secure=False, host=parts.hostname, port=parts.port or 80, path="")
        self.shown = f"http://{self.place.host}:{self.place.port}"
        self.headers: tuple[tuple[str, str], ...] = ()
        if parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self.headers = (("Proxy-Authorization", "Basic " + b64encode(pair.encode()).decode()),)


def proxy_for(place: Place, asked: str | None, environment: Mapping[str, str] = os.environ) -> Proxy | None:
    """Return the proxy for a place: ``asked`` is None, a URL, or ``env``, which honours ``NO_PROXY``."""
    if asked is None:
        return None
    if asked != "env":
        return Proxy(asked)
    names = ("https_proxy", "all_proxy") if place.secure else ("http_proxy", "all_proxy")
    url = next((v for n in names for key in (n, n.upper()) if (v := environment.get(key))), None)
    excluded = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if url is None or _excluded(place, excluded):
        return None
    return Proxy(url)


def _excluded(place: Place, patterns: str) -> bool:
    try:
        address = ipaddress.ip_address(place.host)
    except ValueError:
        address = None
    if place.host == "localhost" or (address is not None and address.is_loopback):
        return True  # a proxy elsewhere cannot reach this machine's loopback
    for pattern in filter(None, (p.strip().lower() for p in patterns.split(","))):
        host, _, port = pattern.rpartition(":") if pattern.count(":") == 1 else (pattern, "", "")
        if port and port != str(place.port):
            continue
        if host == "*" or _matches(place.host.lower(), address, host.removeprefix("*").removeprefix(".")):
            return True
    return False


def _matches(host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, pattern: str) -> bool:
    if address is not None:
        try:
            return address in ipaddress.ip_network(pattern, strict=False)
        except ValueError:
            return False
    return host == pattern or host.endswith("." + pattern)
