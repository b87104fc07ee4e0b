"""Generic JSON lines: ``ts, tenant, route, model, request, response, latency_ms, …``, or bare request bodies."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

from edgeinf.analyze.readers.base import Sample, count, number, text
from edgeinf.analyze.record import Damaged, Record
from edgeinf.analyze.times import instant

__all__ = ["READER"]

# The name first in each row is ours; the others are what people write for the same thing.
_FIELDS = {
    "at": ("ts", "at", "timestamp", "time", "created_at", "start_time"),
    "latency_ms": ("latency_ms", "total_ms", "duration_ms", "response_time_ms"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "usd": ("cost_usd", "usd", "cost"),
    "status": ("status", "status_code"),
}


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)] | None


class _Line(msgspec.Struct):
    request: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    messages: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    prompt: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    path: Any = None
    endpoint: Any = None
    model: Any = None
    route: Any = None
    team: Any = None
    key_id: Any = None
    ts: Any = None
    at: Any = None
    timestamp: Any = None
    time: Any = None
    created_at: Any = None
    start_time: Any = None
    tenant: Any = None
    tenant_id: Any = None
    org: Any = None
    customer: Any = None
    user: Any = None
    user_id: Any = None
    end_user: Any = None
    session: Any = None
    session_id: Any = None
    conversation_id: Any = None
    latency_ms: Any = None
    total_ms: Any = None
    duration_ms: Any = None
    response_time_ms: Any = None
    ttft_ms: Any = None
    input_tokens: Any = None
    prompt_tokens: Any = None
    output_tokens: Any = None
    completion_tokens: Any = None
    cached_tokens: Any = None
    cache_write_tokens: Any = None
    cost_usd: Any = None
    usd: Any = None
    cost: Any = None
    status: Any = None
    status_code: Any = None
    cache: Any = None
    reason: Any = None
    trace_id: Any = None
    id: Any = None


class _Plain(msgspec.Struct):
    """The names that we document, with the types that they should have: nothing needs to be looked at again."""

    request: msgspec.Raw
    response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    ts: float | str | None = None
    tenant: str | None = None
    team: str | None = None
    key_id: str | None = None
    user: str | None = None
    session: str | None = None
    route: str | None = None
    model: str | None = None
    path: str | None = None
    status: Count = None
    latency_ms: float | None = None
    ttft_ms: float | None = None
    input_tokens: Count = None
    output_tokens: Count = None
    cached_tokens: Count = None
    cache_write_tokens: Count = None
    cost_usd: float | None = None
    cache: str | None = None
    reason: str | None = None
    trace_id: str | None = None
    id: str | None = None


_decode = msgspec.json.Decoder(_Line).decode
_decode_plain = msgspec.json.Decoder(_Plain).decode


class EdgeinfGeneric:
    """Reads the format that edgeinf documents for everyone else's logs."""

    name = "edgeinf-generic"

    def sniff(self, sample: Sample) -> float:
        if sample.document:
            return 0.0
        return max(
            0.9 * sample.share("request", "ts"),
            0.6 * sample.share("request"),
            0.5 * sample.share("messages", "model"),
            0.5 * sample.share("body", "path"),
        )

    def read_line(self, line: bytes) -> Record:
        try:
            row = _decode_plain(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._read_with_care(line)
        request = bytes(row.request)
        if row.ts is None or request[:1] != b"{":
            return self._read_with_care(line)
        if row.latency_ms is None or row.input_tokens is None or row.output_tokens is None or row.status is None:
            return self._read_with_care(line)
        return Record(
            at=row.ts if isinstance(row.ts, float) and row.ts < 1e11 else instant(row.ts),
            tenant=row.tenant or None,
            team=row.team or None,
            key_id=row.key_id or None,
            user=row.user or None,
            session=row.session or None,
            route=row.route or None,
            model=row.model or None,
            path=row.path or None,
            request=request,
            answer=None if isinstance(row.response, msgspec.UnsetType) else bytes(row.response),
            status=row.status,
            latency_ms=row.latency_ms,
            ttft_ms=row.ttft_ms,
            input_tokens=row.input_tokens,
            cached_tokens=row.cached_tokens,
            cache_write_tokens=row.cache_write_tokens,
            output_tokens=row.output_tokens,
            usd=row.cost_usd,
            cache=row.cache or None,
            reason=row.reason or None,
            trace_id=row.trace_id or None,
            id=row.id or None,
        )

    def _read_with_care(self, line: bytes) -> Record:
        """Read a line that names or types a field otherwise, or leaves one out."""
        try:
            row = _decode(line)
        except msgspec.DecodeError as error:
            raise Damaged(_reason(error)) from None
        except UnicodeDecodeError:
            raise Damaged("not UTF-8") from None
        raw = row.request if row.request is not msgspec.UNSET else row.body
        bare = False
        if isinstance(raw, msgspec.UnsetType):
            if row.messages is row.input is row.prompt is msgspec.UNSET:
                raise Damaged("no request in it")
            request: bytes | None = bytes(line)
            bare = True
        else:
            request = bytes(raw)
            if request[:1] == b'"':
                request = msgspec.json.decode(request, type=str).encode()
            elif request[:1] != b"{":
                request = None
        path = text(row.path) or (row.endpoint if isinstance(row.endpoint, str) and "/v1/" in row.endpoint else None)
        return Record(
            at=instant(row.ts if row.ts is not None else _first(row, "at")),
            tenant=text(row.tenant or row.tenant_id or row.org or row.customer),
            team=text(row.team),
            key_id=text(row.key_id),
            user=None if bare else text(row.user or row.user_id or row.end_user),
            session=text(row.session or row.session_id or row.conversation_id),
            route=text(row.route),
            model=text(row.model),
            path=path,
            request=request,
            answer=None if isinstance(row.response, msgspec.UnsetType) else bytes(row.response),
            status=count(row.status if row.status is not None else row.status_code),
            latency_ms=number(row.latency_ms if row.latency_ms is not None else _first(row, "latency_ms")),
            ttft_ms=number(row.ttft_ms),
            input_tokens=count(row.input_tokens if row.input_tokens is not None else row.prompt_tokens),
            cached_tokens=count(row.cached_tokens),
            cache_write_tokens=count(row.cache_write_tokens),
            output_tokens=count(row.output_tokens if row.output_tokens is not None else row.completion_tokens),
            usd=number(row.cost_usd if row.cost_usd is not None else _first(row, "usd")),
            cache=text(row.cache),
            reason=text(row.reason),
            trace_id=text(row.trace_id),
            id=text(row.id),
        )


def _first(row: _Line, field: str) -> Any:
    for name in _FIELDS[field]:
        value = getattr(row, name)
        if value is not None:
            return value
    return None


def _reason(error: msgspec.DecodeError) -> str:
    message = str(error)
    if "truncated" in message:
        return "cut off"
    return "not a JSON object" if isinstance(error, msgspec.ValidationError) else "not JSON"


READER = EdgeinfGeneric()
