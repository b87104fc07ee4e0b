"""Who may see the figures and forget answers: somebody at this machine, or the holder of the admin key."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress

from edgeinf.core.config.schema import Config
from edgeinf.core.errors import CallError
from edgeinf.serve.admission import admit
from edgeinf.serve.exchange import Exchange

__all__ = ["at_this_machine", "require_private"]

# What proxies add: with one of these the peer is a proxy, whoever it speaks for.
_FORWARDING = (
    b"forwarded",
    b"via",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-real-ip",
    b"cf-connecting-ip",
    b"true-client-ip",
    b"x-client-ip",
)


def require_private(x: Exchange, config: Config) -> None:
    """Raise CallError 401 or 403 unless the request may see what belongs to the operator."""
    admit(x, config, private=True)
    if at_this_machine(x):
        return
    admin = config.auth.admin if config.auth is not None else None
    if admin is None:
        raise CallError(
            "only this machine may see that",
            status=403,
            code="not_local",
            hint="auth.admin sets a key that opens it from afar; a request through a proxy counts as from afar",
        )
    given = _credential(x)
    if given is None or not hmac.compare_digest(hashlib.sha256(given).hexdigest(), admin.sha256.lower()):
        raise CallError(
            "the admin key opens this",
            status=401,
            code="admin_key_needed",
            hint="send it as Authorization: Bearer",
            headers=(("www-authenticate", "Bearer"),),
        )


def at_this_machine(x: Exchange) -> bool:
    """Return whether the peer is a loopback address and no proxy speaks for another."""
    if any(name in x.headers for name in _FORWARDING):
        return False
    try:
        address = ipaddress.ip_address(x.client)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _credential(x: Exchange) -> bytes | None:
    scheme, _, token = x.headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and token.strip():
        return token.strip()
    return x.headers.get(b"x-api-key")
