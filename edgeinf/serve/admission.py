"""Who may call at all: guards against web pages that would spend the user's tokens through localhost.

A page that rebinds its name to 127.0.0.1 still sends that name as ``Host``; a page of another site is given away by
``Origin`` or ``Sec-Fetch-Site``, which scripts in a browser cannot forge (Fetch Metadata, W3C).
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from edgeinf.core.config.schema import Config
from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange

__all__ = ["admit", "host_allowed"]

# A name or an address, in brackets or bare as some clients send it, and a port.
_HOST = re.compile(r"\[([0-9a-f:.]+)\](?::\d*)?|([0-9a-f:.]*:[0-9a-f.]*:[0-9a-f:.]*)|([^\s,:/@\[\]]*)(?::\d*)?")


def admit(x: Exchange, config: Config, *, private: bool = False) -> None:
    """Raise CallError 403 where the request cannot have been meant for this server.

    ``private`` paths (the dashboard) check the host even where clients authenticate.
    """
    origin = x.headers.get(b"origin")
    site = x.headers.get(b"sec-fetch-site")
    if origin is not None or site is not None:
        _admit_origin(x, config, origin, site)
        if private:
            x.web_origin = None  # what others ask is no other page's to read
    if config.auth is None or not config.auth.keys or private:
        host = x.headers.get(b"host", b"").decode("latin-1")
        if not host_allowed(host, config.listen.allowed_hosts):
            raise CallError(
                f"the host {host!r} is not one of this server's names",
                status=403,
                code="host_not_allowed",
                hint="listen.allowed_hosts names more",
            )


def _admit_origin(x: Exchange, config: Config, origin: bytes | None, site: bytes | None) -> None:
    text = origin.decode("latin-1") if origin is not None else None
    if text is not None and text in config.listen.allowed_origins:
        x.web_origin = origin
        return
    if text is not None:
        host = x.headers.get(b"host", b"").decode("latin-1").lower()
        if host and text.lower() in (f"http://{host}", f"https://{host}"):
            return
    elif site in (b"same-origin", b"none"):
        return
    what = f"the web origin {text!r}" if text is not None else "another web site"
    raise CallError(
        f"{what} may not call this server",
        status=403,
        code="origin_not_allowed",
        hint="listen.allowed_origins names more",
    )


@lru_cache(maxsize=256)
def host_allowed(host: str, allowed: tuple[str, ...]) -> bool:
    """Return whether a ``Host`` value is loopback, an address, or one of the allowed names.

    None at all is fine: every browser sends one.
    """
    found = _HOST.fullmatch(host.strip().lower())
    if found is None:
        return False
    name = found[1] or found[2] or found[3] or ""
    if name == "localhost" or name.endswith(".localhost") or not name:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in {entry.lower() for entry in allowed}
    return True
