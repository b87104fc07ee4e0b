"""The head of an answer: what happened to the request, said in headers (RFC 9211 and our own)."""

from __future__ import annotations

import time

from edgeinf.core.errors import CallError
from edgeinf.core.key import Key
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.exchange import Exchange

__all__ = ["MOVING", "SPOKEN_FOR", "cache_headers", "error_answer", "hit_headers", "moving_headers", "quoted"]

# What RFC 9111 (section 1.2.2) has endless or very long times written as.
_ENDLESS_S = 2**31

SPOKEN_FOR = frozenset({b"x-edgeinf-cache", b"x-edgeinf-region", b"x-edgeinf-request-id"})
"""What only the server nearest to a client says. An origin may be another of our kind."""

_FWD = {"miss": "miss", "bypass": "bypass", "stale": "stale", "collapsed": "miss"}


def quoted(text: str) -> str:
    """Return a structured-field string (RFC 8941 section 3.3.3); what it cannot hold is replaced."""
    plain = "".join(c if " " <= c <= "~" else "?" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def cache_headers(
    x: Exchange, *, ttl_s: float | None = None, stored: bool = False, why_not: str | None = None
) -> Headers:
    """Return the headers that say what the cache did, and how long each side took so far."""
    parts = ["edgeinf"]
    if x.cache == "hit":
        parts.append("hit")
    else:
        fwd = "request" if x.cache == "miss" and x.controls.no_cache else _FWD.get(x.cache, "bypass")
        parts.append(f"fwd={fwd}")
        if stored:
            parts.append("stored")
        if x.cache == "collapsed":
            parts.append("collapsed")
    if ttl_s is not None:
        parts.append(f"ttl={int(min(ttl_s, _ENDLESS_S))}")
    if x.keys and x.cache != "bypass":
        parts.append(f'key="{x.keys[0].find.hex()}"')
    if why_not:
        parts.append(f"detail={quoted(why_not)}")
    own_ms = (time.perf_counter() - x.started) * 1000 - x.origin_ms
    timing = f"edgeinf;dur={own_ms:.2f}"
    if x.origin_ms:
        timing += f", origin;dur={x.origin_ms:.1f}"
    headers = [
        (b"cache-status", "; ".join(parts).encode("latin-1", "replace")),
        (b"x-edgeinf-cache", x.cache.encode()),
        (b"x-edgeinf-request-id", x.id.encode()),
        (b"server-timing", timing.encode()),
    ]
    if x.region is not None:
        headers.append((b"x-edgeinf-region", x.region.encode("latin-1", "replace")))
    if x.entry_age_s is not None:
        headers.append((b"age", b"%d" % min(x.entry_age_s, _ENDLESS_S)))
    return headers


def hit_headers(x: Exchange, ttl_s: float) -> Headers:
    """Return what :func:`cache_headers` says of a hit, in a fraction of the time."""
    headers = [(b"x-edgeinf-cache", b"hit"), *moving_headers(x.id, x.keys[0], ttl_s, x.entry_age_s or 0.0, x.started)]
    if x.region is not None:
        headers.append((b"x-edgeinf-region", x.region.encode("latin-1", "replace")))
    return headers


# Those of a hit's headers that differ from one hit to the next.
MOVING = frozenset({b"cache-status", b"x-edgeinf-request-id", b"server-timing", b"age"})


def moving_headers(request_id: str, key: Key, ttl_s: float, age_s: float, started: float) -> Headers:
    """Return the headers named in ``MOVING``."""
    return [
        (b"cache-status", b'edgeinf; hit; ttl=%d; key="%b"' % (min(ttl_s, _ENDLESS_S), key.find.hex().encode())),
        (b"x-edgeinf-request-id", request_id.encode()),
        (b"server-timing", b"edgeinf;dur=%.2f" % ((time.perf_counter() - started) * 1000)),
        (b"age", b"%d" % min(age_s, _ENDLESS_S)),
    ]


def error_answer(x: Exchange, error: CallError) -> tuple[int, Headers, bytes]:
    """Return status, headers and body of an error of our own, in the dialect's form."""
    from edgeinf.core.dialects import by_name

    dialect = x.dialect or by_name("openai-chat")
    headers: Headers = [(b"content-type", b"application/json"), *cache_headers(x, why_not=x.reason)]
    if error.status >= 500:
        headers.append((b"x-should-retry", b"false"))
    headers += [(n.lower().encode("latin-1"), v.encode("latin-1", "replace")) for n, v in error.headers]
    return error.status, headers, dialect.error_body(error, x.id)
