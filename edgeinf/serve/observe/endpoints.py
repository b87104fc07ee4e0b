"""The operator's paths: ``/metrics``, the dashboard under ``/_edgeinf/`` and its JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.admission import admit
from edgeinf.serve.exchange import ClientGone, Exchange
from edgeinf.serve.fleet.purge import apply_purge, read_purge
from edgeinf.serve.observe.access import require_private
from edgeinf.serve.observe.asked import explain_body
from edgeinf.serve.observe.gather import gather

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["answer_operator", "is_operators"]

_JSON: Headers = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_MAX_BODY = 1024 * 1024
_MAX_ROWS = 300


def is_operators(path: str) -> bool:
    """Return whether a path is one of these."""
    return path == "/metrics" or path == "/_edgeinf" or path.startswith("/_edgeinf/")


async def answer_operator(x: Exchange, runtime: Runtime) -> None:
    """Answer an operator's path. Raise CallError where it may not be seen or does not exist."""
    method, handler, open_page = _PATHS.get(x.path, ("GET", None, False))
    if x.method == "POST" and x.path == _EXPLAIN:
        method, handler = "POST", _explain_body
    config = runtime.generation.config
    # The page itself holds no figure: it asks for the admin key where one is needed.
    if open_page and config.auth is not None and config.auth.admin is not None:
        admit(x, config, private=True)
    else:
        require_private(x, config)
    if handler is None or (not config.dashboard.enabled and x.path in _DASHBOARD):
        hint = "dashboard.enabled is false" if x.path in _DASHBOARD else None
        raise CallError(f"there is nothing at {x.path!r}", status=404, code="unknown_path", hint=hint)
    allowed = ("GET", "HEAD") if method == "GET" else (method,)
    if x.method not in allowed:
        allow = ", ".join(allowed)
        raise CallError(
            f"{x.method} is not understood here", status=405, code="method_not_allowed", headers=(("allow", allow),)
        )
    await handler(x, runtime)


async def _metrics(x: Exchange, runtime: Runtime) -> None:
    from edgeinf.serve.observe import metrics

    view = await gather(runtime)
    body = metrics.render(view.cells, view.workers)
    await x.answer(200, [(b"content-type", metrics.CONTENT_TYPE.encode()), (b"cache-control", b"no-store")], body)


async def _page(x: Exchange, runtime: Runtime) -> None:
    from edgeinf.serve.observe.dashboard import page

    headers, body = page()
    await x.answer(200, headers, body)


async def _to_page(x: Exchange, runtime: Runtime) -> None:
    await x.answer(308, [(b"location", b"/_edgeinf/")], b"")


async def _stats(x: Exchange, runtime: Runtime) -> None:
    from edgeinf.serve.observe.stats import stats_document

    await _send(x, stats_document(await gather(runtime, slots=True)))


async def _events(x: Exchange, runtime: Runtime) -> None:
    rows = (await gather(runtime, rows=True)).rows
    limit = min(_MAX_ROWS, _whole_number(x, "limit", 100))
    shown = [
        {**msgspec.to_builtins(row.event), "why": row.why, "nearest": row.nearest, "differs": row.differs}
        for row in reversed(rows[-limit:] if limit else [])
    ]
    for event in shown:
        event.pop("request", None)
        event.pop("response", None)
    await _send(x, {"schema_version": 1, "events": shown})


async def _explain(x: Exchange, runtime: Runtime) -> None:
    wanted = parse_qs(x.query).get("id", [""])[-1]
    rows = {row.event.id: row for row in (await gather(runtime, rows=True)).rows}
    row = rows.get(wanted)
    if row is None:
        raise CallError(f"no recent request is called {wanted!r}", status=404, code="unknown_request", param="id")
    near = rows.get(row.nearest or "")
    parts = []
    if near is not None and near.parts is not None and row.parts is not None:
        for path in dict.fromkeys([*near.parts, *row.parts]):
            mine, its = row.parts.get(path), near.parts.get(path)
            verdict = "only here" if its is None else "only there" if mine is None else "same"
            parts.append({"path": path, "verdict": verdict if verdict != "same" or mine == its else "differs"})
    document = {
        "schema_version": 1,
        "event": msgspec.to_builtins(row.event),
        "why": row.why,
        "nearest": None if near is None else msgspec.to_builtins(near.event),
        "parts": parts,
    }
    await _send(x, document)


async def _explain_body(x: Exchange, runtime: Runtime) -> None:
    _require_json(x)
    raw = await _body(x)
    await _send(x, explain_body(raw, (await gather(runtime, rows=True)).rows, runtime))


def _require_json(x: Exchange) -> None:
    content_type = (x.header(b"content-type") or "").split(";")[0].strip().lower()
    if content_type != "application/json":
        # A form on another site cannot send this type without asking first (CORS), whatever the browser's age.
        raise CallError("the content type is not application/json", status=415, code="unsupported_media_type")


async def _purge(x: Exchange, runtime: Runtime) -> None:
    _require_json(x)
    purge = read_purge(await _body(x))
    gone = await apply_purge(runtime.tiers, purge)
    elsewhere = await runtime.peers.purge(purge)
    await _send(x, {"schema_version": 1, "purged": gone, "elsewhere": elsewhere})


async def _body(x: Exchange) -> bytes:
    parts, size = [], 0
    while True:
        message = await x.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _MAX_BODY:
            raise CallError(f"the body is larger than {_MAX_BODY} bytes", status=413, code="too_large")
        if not message.get("more_body"):
            return b"".join(parts)


async def _send(x: Exchange, document: dict[str, object]) -> None:
    await x.answer(200, _JSON, b"" if x.method == "HEAD" else msgspec.json.encode(document))


def _whole_number(x: Exchange, name: str, default: int) -> int:
    text = parse_qs(x.query).get(name, [str(default)])[-1]
    if not text.isdigit() or len(text) > 9:
        raise CallError(f"{name} needs a whole number", code="invalid_query", param=name)
    return int(text)


_Handler = Callable[[Exchange, "Runtime"], Awaitable[None]]
_EXPLAIN = "/_edgeinf/api/explain"
_PATHS: dict[str, tuple[str, _Handler | None, bool]] = {
    "/metrics": ("GET", _metrics, False),
    "/_edgeinf": ("GET", _to_page, True),
    "/_edgeinf/": ("GET", _page, True),
    "/_edgeinf/api/stats": ("GET", _stats, False),
    "/_edgeinf/api/events": ("GET", _events, False),
    _EXPLAIN: ("GET", _explain, False),
    "/_edgeinf/api/purge": ("POST", _purge, False),
}
_DASHBOARD = frozenset({"/_edgeinf", "/_edgeinf/", "/_edgeinf/api/stats", "/_edgeinf/api/events", _EXPLAIN})
