"""Talk to a running server's operator paths from a command: what its memory holds follows what the disk is told."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

import msgspec

from edgeinf.core.errors import RemoteError

__all__ = ["ask", "server_url"]

_TIMEOUT_S = 10.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def server_url(host: str, port: int, *, tls: bool) -> str:
    """Return where a server with this config is reached from its own machine."""
    shown = (
        "127.0.0.1" if host in ("0.0.0.0", "") else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
    )
    return f"{'https' if tls else 'http'}://{shown}:{port}"


def ask(
    url: str, path: str, *, body: Mapping[str, Any] | None = None, admin_key: str | None = None
) -> dict[str, Any] | None:
    """Return a server's JSON answer, None where no server listens. Raise RemoteError where it refuses."""
    headers = {"accept": "application/json"}
    if admin_key:
        headers["authorization"] = f"Bearer {admin_key}"
    data = None
    if body is not None:
        headers["content-type"] = "application/json"
        data = msgspec.json.encode(body)
    request = urllib.request.Request(url + path, data=data, headers=headers, method="GET" if data is None else "POST")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as response:
            return msgspec.json.decode(response.read(), type=dict[str, Any])
    except urllib.error.HTTPError as error:
        error.close()
        hint = "EDGEINF_ADMIN_KEY holds the key of auth.admin" if error.code in (401, 403) else None
        raise RemoteError(f"the server at {url} refused: {error.code} {error.reason}", hint=hint) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return None
        raise RemoteError(f"the server at {url} cannot be asked: {error.reason}") from None
    except (OSError, HTTPException, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RemoteError(f"what listens at {url} is no edgeinf: {error}") from None
