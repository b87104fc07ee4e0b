"""The HTTP surface: which path is what, and who may call at all. Plain ASGI, since every request passes here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import msgspec

from edgeinf import __version__
from edgeinf.core import dialects
from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.admission import admit
from edgeinf.serve.cross_origin import is_preflight, leave_to_call
from edgeinf.serve.exchange import ClientGone, Exchange, Message, Receive, Send
from edgeinf.serve.observe.endpoints import answer_operator, is_operators
from edgeinf.serve.origin.decoding import inflate_body
from edgeinf.serve.pipeline import answer_call, internal
from edgeinf.serve.replay import send_error
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.opaque import relay_opaque
from edgeinf.serve.steps.record import record
from edgeinf.serve.turn import EXTENSION, Turn

__all__ = ["App"]

_log = logging.getLogger("edgeinf.serve")

# Between two reads of a body may pass this many times what a request's head may take.
_PATIENCE = 3
# Where GET lists what the origin has stored.
_LISTS = frozenset({"/v1/chat/completions"})
_JSON: Headers = [(b"content-type", b"application/json")]
_HOME = msgspec.json.encode(
    {
        "name": "edgeinf",
        "version": __version__,
        "paths": ["/v1/chat/completions", "/v1/messages", "/healthz", "/readyz"],
    }
)


class App:
    """The ASGI application of one process."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        turn: Turn | None = scope.get("extensions", {}).get(EXTENSION)
        x: Exchange | None = None if turn is None else turn.asked
        if x is not None:
            x.attend(receive, send, turn)
            await self._answer(x, answer_call(x, self.runtime))
            return
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            headers[name] = value if name not in headers else headers[name] + b", " + value
        client = scope["client"][0] if scope.get("client") else ""
        query = scope["query_string"].decode("latin-1")
        x = Exchange(scope["method"], scope["path"], query, headers, client, receive, send)
        x.turn = turn
        if self.runtime.generation.config.events.bodies:
            x.capture()
        await self._answer(x, self._take(x))

    async def _answer(self, x: Exchange, answering: Coroutine[Any, Any, None]) -> None:
        """Run what answers a request, and answer with an error where that raises one."""
        try:
            await answering
        except CallError as error:
            await send_error(x, error, self.runtime)
            if x.path.startswith("/v1/"):
                record(x, self.runtime)
        except ClientGone:
            pass
        except Exception as bug:
            _log.exception("a bug while answering %s", x.path)
            if x.status:
                raise  # what has begun is cut, so that nobody takes it for whole
            await send_error(x, internal(bug), self.runtime)

    async def _take(self, x: Exchange) -> None:
        """Answer a request by its path."""
        admit(x, self.runtime.generation.config)
        if x.web_origin is not None and is_preflight(x.method, x.headers) and not is_operators(x.path):
            await x.answer(200, leave_to_call(x.headers), b"")
            return
        dialect = dialects.for_path(x.path)
        if dialect is not None and not (x.method == "GET" and x.path in _LISTS):
            x.dialect = dialect
            if x.method != "POST":
                raise _method_not_allowed(x.method, "POST")
            bearers = self.runtime.generation.bearers
            if bearers is None or bearers.knows(x.headers):
                # What a stranger sends is not even read.
                x.raw = await self._body(x)
            await answer_call(x, self.runtime)
        elif x.path.startswith("/v1/"):
            await relay_opaque(x, self.runtime)
        else:
            await self._own_path(x)

    async def _body(self, x: Exchange) -> bytes:
        """Read the request's body, bounded. Raise CallError 413, ClientGone."""
        limit = self.runtime.generation.config.listen.max_body
        if int(x.headers.get(b"content-length", b"0") or b"0") > limit:
            raise _too_large(limit)
        message: Message = await x.receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body"):
            parts = [body]
            size = len(body)
            patience_s = _PATIENCE * self.runtime.generation.config.listen.header_timeout
            while message.get("more_body"):
                message = await x.within(patience_s)
                if message["type"] == "http.disconnect":
                    raise ClientGone
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > limit:
                    raise _too_large(limit)
            body = b"".join(parts)
        elif message["type"] == "http.disconnect":
            raise ClientGone
        coding = x.headers.get(b"content-encoding")
        if coding is not None and coding.strip().lower() not in (b"", b"identity"):
            return await asyncio.to_thread(inflate_body, body, coding.decode("latin-1"), limit)
        return body

    async def _own_path(self, x: Exchange) -> None:
        if x.path in ("/healthz", "/readyz", "/"):
            if x.method not in ("GET", "HEAD"):
                raise _method_not_allowed(x.method, "GET")
            status, body = self._health(x.path)
            await x.answer(status, _JSON, b"" if x.method == "HEAD" else body)
            return
        if is_operators(x.path):
            await answer_operator(x, self.runtime)
            return
        hint = None
        if dialects.for_path("/v1" + x.path) is not None:
            hint = f"the path is /v1{x.path}: end the base url with /v1"
        raise CallError(f"there is nothing at {x.path!r}", status=404, code="unknown_path", hint=hint)

    def _health(self, path: str) -> tuple[int, bytes]:
        if path == "/":
            return 200, _HOME
        if path == "/healthz":
            return 200, b'{"status":"ok"}'
        if self.runtime.draining:
            return 503, b'{"status":"draining"}'
        if not self.runtime.regions.usable(self.runtime.generation.origins):
            return 503, b'{"status":"no usable region"}'
        return 200, b'{"status":"ready"}'


def _method_not_allowed(method: str, allowed: str) -> CallError:
    return CallError(
        f"{method} is not understood here", status=405, code="method_not_allowed", headers=(("allow", allowed),)
    )


def _too_large(limit: int) -> CallError:
    return CallError(
        f"the body is larger than {limit} bytes", status=413, code="too_large", hint="listen.max_body raises the limit"
    )
