"""Where a request's url points: the connection that it needs, and what is asked for there."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from edgeinf.serve.origin.client import ConnectFailed

__all__ = ["Address", "locate"]


class Address(NamedTuple):
    """A url taken apart. ``authority`` and ``target`` are as requests carry them."""

    scheme: str
    host: str
    port: int
    authority: bytes
    target: bytes


def locate(url: str) -> Address:
    """Return where an absolute url points. Raise ConnectFailed where no request could go there."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.hostname or ""
    if scheme not in ("http", "https") or not host:
        raise ConnectFailed("the region's url is not http(s)")
    default = 443 if scheme == "https" else 80
    port = parts.port or default
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii() or not target.isprintable() or " " in target:
        raise ConnectFailed("the request's path or query holds characters that no request line can carry")
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port == default else f"{shown}:{port}"
    encoded = authority.encode("ascii" if authority.isascii() else "idna")
    return Address(scheme, host, port, encoded, target.encode("ascii"))
