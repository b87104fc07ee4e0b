"""What a client asks of the cache for one request. A client may only tighten what the config allows."""

from __future__ import annotations

import re

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.core.units import parse_duration

__all__ = ["NO_CONTROLS", "Controls", "read_controls"]

# From the strictest to the loosest: a request may ask for what stands before the configured level.
_ORDER = ("exact", "safe", "loose", "masked")
_MAX_LABEL = 128
_DIGITS = re.compile("[0-9]+")


class Controls(msgspec.Struct, frozen=True, kw_only=True):
    """One request's wishes; ``None`` where it said nothing."""

    no_cache: bool = False
    no_store: bool = False
    only_if_cached: bool = False
    max_age_s: float | None = None
    level: str | None = None
    ttl_s: float | None = None
    namespace: str = ""
    sample: str = ""


NO_CONTROLS = Controls()


def read_controls(headers: dict[bytes, bytes]) -> Controls:
    """Read ``Cache-Control`` and the ``X-Edgeinf-*`` headers. Raise CallError 400 on a value that means nothing."""
    cache_control = headers.get(b"cache-control")
    if cache_control is None and not any(name.startswith(b"x-edgeinf-") for name in headers):
        return NO_CONTROLS
    directives = _directives(cache_control.decode("latin-1")) if cache_control else {}
    return Controls(
        no_cache="no-cache" in directives,
        no_store="no-store" in directives,
        only_if_cached="only-if-cached" in directives,
        max_age_s=_max_age(directives.get("max-age")),
        level=_level(_text(headers, b"x-edgeinf-normalize")),
        ttl_s=_ttl(_text(headers, b"x-edgeinf-ttl")),
        namespace=_text(headers, b"x-edgeinf-namespace") or "",
        sample=_sample(_text(headers, b"x-edgeinf-sample")),
    )


def tightened(configured: str, asked: str | None) -> str:
    """Return the stricter of two level names."""
    if asked is None or configured not in _ORDER:
        return configured
    return _ORDER[min(_ORDER.index(asked), _ORDER.index(configured))]


def _directives(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(","))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs if name}


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    if value is None:
        return None
    text = value.decode("latin-1").strip()
    if len(text) > _MAX_LABEL:
        raise _bad(name, f"at most {_MAX_LABEL} characters")
    return text or None


def _bad(name: bytes, wanted: str) -> CallError:
    header = name.decode().title()
    return CallError(f"the header {header} needs {wanted}", code="invalid_header", param=header)


def _max_age(text: str | None) -> float | None:
    if text is None:
        return None
    if not _DIGITS.fullmatch(text):
        raise CallError("max-age needs whole seconds", code="invalid_header", param="Cache-Control")
    return float(text)


def _level(text: str | None) -> str | None:
    if text is not None and text not in LEVELS:
        raise _bad(b"x-edgeinf-normalize", f"one of {', '.join(LEVELS)}")
    return text


def _ttl(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except ValueError:
        raise _bad(b"x-edgeinf-ttl", "a duration such as 10m") from None


def _sample(text: str | None) -> str:
    if text is None:
        return ""
    if not _DIGITS.fullmatch(text) or len(text) > 9:
        raise _bad(b"x-edgeinf-sample", "a whole number")
    return str(int(text))
