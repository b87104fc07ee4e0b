"""Generic JSON lines: ``ts, tenant, route, model, request, response, latency_ms, …``, or bare request bodies."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

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


Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Count: TypeAlias = Whole | None
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)] | None


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


class _Plain(Record, kw_only=True, gc=False):
    """A record as it stands in a line, in the names that we document and the types that they should have.

    Nothing of it needs to be looked at again; any other line is refused here, and read with care.
    """

    at: float | str = msgspec.field(name="ts")  # type: ignore[assignment]  # a number before it leaves this module
    request: msgspec.Raw
    answer: msgspec.Raw = msgspec.field(name="response", default=None)  # type: ignore[assignment]  # an absent one
    status: Whole
    latency_ms: float
    input_tokens: Whole
    output_tokens: Whole
    tenant: Name = None
    team: Name = None
    key_id: Name = None
    user: Name = None
    session: Name = None
    route: Name = None
    model: Name = None
    path: Name = None
    cached_tokens: Count = None
    cache_write_tokens: Count = None
    usd: float | None = msgspec.field(name="cost_usd", default=None)
    cache: Name = None
    reason: Name = None
    trace_id: Name = None
    id: Name = None
    # What no line says of itself, under names that none has.
    blocks: None = msgspec.field(name="#blocks", default=None)
    block_tokens: Literal[0] = msgspec.field(name="#block_tokens", default=0)
    keys: None = msgspec.field(name="#keys", default=None)
    scope: None = msgspec.field(name="#scope", default=None)
    line: Literal[0] = msgspec.field(name="#line", default=0)


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
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._read_with_care(line)
        request = bytes(row.request)
        at = row.at if isinstance(row.at, float) and row.at < 1e11 else instant(row.at)
        if request[:1] != b"{" or at is None:
            return self._read_with_care(line)
        row.at, row.request = at, request  # type: ignore[assignment]  # as in any record
        return row

    def _read_with_care(self, line: bytes) -> Record:
        """Read a line that names or types a field otherwise, or leaves one out."""
        try:
            row = _decode(line)
        except msgspec.DecodeError as error:
            raise Damaged(_reason(error)) from None
        except UnicodeDecodeError:
            raise Damaged("not UTF-8") from None
        except RecursionError:
            raise Damaged("nested too deeply") from None
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
