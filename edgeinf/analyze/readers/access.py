"""Access logs of nginx and Envoy as JSON, and any JSON or CSV log whose fields are named with ``--map``."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.readers.base import Sample, count, decode_line, embedded, milliseconds, number, text
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.analyze.times import instant
from edgeinf.core.errors import UsageError

__all__ = ["READER", "Access"]

# Record field -> names under which access logs carry it, best first. ``end`` is the time of the answer's end.
_NAMES: dict[str, tuple[str, ...]] = {
    "at": ("start_time", "ts", "timestamp", "time_iso8601", "time", "@timestamp"),
    "end": ("msec",),
    "tenant": ("tenant", "http_x_tenant", "x_tenant"),
    "team": ("team",),
    "key_id": ("key_id",),
    "user": ("user", "http_x_user"),
    "session": ("session", "http_x_session"),
    "route": ("route",),
    "model": ("model",),
    "path": ("path", "uri", "request_uri"),
    "method": ("method", "request_method"),
    "request": ("request_body", "request", "body"),
    "answer": ("response_body", "response"),
    "status": ("status", "response_code", "status_code"),
    "latency_s": ("request_time",),
    "latency_ms": ("duration", "latency_ms", "duration_ms"),
    "ttft_ms": ("ttft_ms",),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cached_tokens": ("cached_tokens",),
    "usd": ("usd", "cost_usd", "cost"),
    "cache": ("upstream_cache_status", "cache"),
    "id": ("request_id", "x_request_id", "id"),
}
# In ``--map`` these times are seconds where the log's field is known to be, else the unit that the name says.
_SECOND_FIELDS = frozenset({"request_time", "upstream_response_time"})


class Access:
    """Reads JSON access logs; ``mapping`` names the fields of any other."""

    name = "access-log"

    def __init__(self, mapping: dict[str, str] | None = None) -> None:
        self._mapping = mapping or {}
        unknown = sorted(set(self._mapping) - set(_NAMES))
        if unknown:
            raise UsageError(f"--map: there is no field {unknown[0]!r}", hint=f"one of: {', '.join(_NAMES)}")

    def sniff(self, sample: Sample) -> float:
        return max(
            0.85 * sample.share("request_body", "request_method"),
            0.85 * sample.share("request_body", "response_code"),
            0.85 * sample.share("request_body", "method", "path"),
            0.3 * sample.share("request_body"),
        )

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        method = text(self._of(row, "method"))
        if method is not None and method != "POST":
            raise NotARequest(f"a {method} request")
        body = embedded(self._of(row, "request"))
        if isinstance(body, str):
            raise Damaged("its request body is not JSON" if body not in ("", "-") else "no request body in it")
        if body is not None and not isinstance(body, dict):
            raise Damaged("its request body is not a JSON object")
        latency = self._latency_ms(row)
        at = instant(self._of(row, "at"))
        end = instant(self._of(row, "end"))
        if end is not None and (at is None or "at" not in self._mapping):
            at = end - (latency or 0.0) / 1000  # finer than the whole seconds of an ISO time
        if "at" in self._mapping and self._mapping["at"] == "msec" and at is not None:
            at -= (latency or 0.0) / 1000  # nginx writes the time of the end
        cache = text(self._of(row, "cache"))
        return Record(
            at=None if at is None else round(at, 6),
            tenant=text(self._of(row, "tenant")),
            team=text(self._of(row, "team")),
            key_id=text(self._of(row, "key_id")),
            user=text(self._of(row, "user")),
            session=text(self._of(row, "session")),
            route=text(self._of(row, "route")),
            model=text(self._of(row, "model")) or (text(body.get("model")) if body else None),
            path=text(self._of(row, "path")),
            request=body,
            answer=embedded(self._of(row, "answer")),
            status=count(self._of(row, "status")),
            latency_ms=latency,
            ttft_ms=number(self._of(row, "ttft_ms")),
            input_tokens=count(self._of(row, "input_tokens")),
            output_tokens=count(self._of(row, "output_tokens")),
            cached_tokens=count(self._of(row, "cached_tokens")),
            usd=number(self._of(row, "usd")),
            cache=cache.lower() if cache and cache != "-" else None,
            id=text(self._of(row, "id")),
        )

    def _of(self, row: dict[str, Any], field: str) -> Any:
        if field in self._mapping:
            return _deep(row, self._mapping[field])
        for name in _NAMES[field]:
            if name in row:
                return row[name]
        return None

    def _latency_ms(self, row: dict[str, Any]) -> float | None:
        if "latency_ms" in self._mapping:
            value = number(_deep(row, self._mapping["latency_ms"]))
            return milliseconds(value) if self._mapping["latency_ms"] in _SECOND_FIELDS else value
        seconds = number(self._of(row, "latency_s"))
        return milliseconds(seconds) if seconds is not None else number(self._of(row, "latency_ms"))


def _deep(row: dict[str, Any], name: str) -> Any:
    """Return a field by its name, or by a dotted path through objects."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


READER = Access()
