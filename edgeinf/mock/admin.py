"""The mock's own paths: ``/_mock/calls``, ``/_mock/reset``, ``/_mock/script`` and a few levers.

Answers are JSON. Credentials in recorded headers are masked here; in-process users see them.
"""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import parse_qs

import msgspec

from edgeinf.core.errors import UsageError
from edgeinf.core.redact import MASK
from edgeinf.core.units import parse_duration
from edgeinf.mock.record import Call, Record
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["Controlled", "answer", "describe"]

_SECRET = frozenset({"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"})


class Controlled(Protocol):
    """What the paths act on."""

    record: Record

    def use(self, script: Any) -> None:
        """Change the script."""
        ...

    def release(self) -> None:
        """Let every held answer go on."""
        ...

    def affect(self, effect: str, seconds: float) -> None:
        """Freeze the origin or take it down."""
        ...


def answer(origin: Controlled, ask: Ask) -> Plan:
    """Answer one of the mock's own paths."""
    action = (ask.method, ask.path.removeprefix("/_mock/"))
    query = {name: values[-1] for name, values in parse_qs(ask.query).items()}
    try:
        if action == ("GET", "calls"):
            return _json(describe(origin.record, int(query.get("details", "100"))))
        if action == ("POST", "reset"):
            origin.record.clear()
        elif action == ("POST", "script"):
            origin.use(_document(ask.body))
        elif action == ("POST", "release"):
            origin.release()
        elif ask.method == "POST" and action[1] in ("freeze", "down"):
            origin.affect(action[1], parse_duration(query.get("for", "2s")))
        else:
            return _json({"error": f"no such path: {ask.method} {ask.path}"}, status=404)
    except UsageError as error:
        return _json({"error": error.message, "hint": error.hint}, status=400)
    except (ValueError, msgspec.MsgspecError) as error:
        return _json({"error": str(error)}, status=400)
    return _json({"ok": True})


def describe(record: Record, details: int) -> dict[str, Any]:
    """Return the counts, and the latest ``details`` calls in full."""
    latest = list(record.calls)[-details:] if details > 0 else []
    return {
        "schema_version": 1,
        "total": record.total,
        "paths": dict(record.paths),
        "active": len(record.active),
        "peak": record.peak,
        "connections": record.connections,
        "calls": [_call(call) for call in latest],
    }


def _call(call: Call) -> dict[str, Any]:
    headers = {k: MASK if k in _SECRET else v for k, v in call.headers.items()}
    return {
        "number": call.number,
        "method": call.method,
        "path": call.path,
        "query": call.query,
        "headers": headers,
        "model": call.model,
        "stream": call.stream,
        "body": call.body.decode("utf-8", "replace"),
        "body_bytes": len(call.body),
        "faults": list(call.faults),
        "status": call.status,
        "outcome": call.outcome,
        "connection": call.connection,
        "connection_use": call.connection_use,
        "started_ns": call.started_ns,
        "received_ns": call.received_ns,
        "headers_ns": call.headers_ns,
        "event_ns": call.event_ns,
        "event_kinds": [kind.value for kind in call.event_kinds],
        "ended_ns": call.ended_ns,
        "disconnected_ns": call.disconnected_ns,
        "sent_bytes": call.sent_bytes,
    }


def _json(body: dict[str, Any], *, status: int = 200) -> Plan:
    return Plan(pieces=(Piece(Kind.WHOLE, msgspec.json.encode(body)),), status=status)


def _document(body: bytes) -> Any:
    import yaml

    try:
        return yaml.safe_load(body)
    except yaml.YAMLError as error:
        raise UsageError(f"the script is not YAML: {' '.join(str(error).split())}") from error
