"""The dashboard: one page that loads nothing, with a policy that allows its own script and style by their hashes."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files

from edgeinf.core.wire.headers import Headers

__all__ = ["page"]


@lru_cache(maxsize=1)
def page() -> tuple[Headers, bytes]:
    """Return the headers and the page."""
    folder = files(__package__)
    script = folder.joinpath("dashboard.js").read_text()
    style = folder.joinpath("dashboard.css").read_text()
    html = folder.joinpath("dashboard.html").read_text()
    body = html.replace("/*style*/", style).replace("/*script*/", script).encode()
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
    headers: Headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    ]
    return headers, body


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
