"""OpenTelemetry GenAI spans: OTLP as JSON, one export request a line, and the flatter ``{"spans": […]}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgeinf.analyze.readers.base import Sample, count, decode_line, embedded, milliseconds, number, text
from edgeinf.analyze.record import CHAT, NotARequest, Record
from edgeinf.core.dialects.base import as_object

__all__ = ["READER"]

_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "seed")
_MOST_DIGITS = 20
_OPERATIONS = frozenset({"chat", "text_completion", "generate_content", "embeddings"})


class OtelGenAI:
    """Reads spans of model calls; content is in them only if the instrumentation was told to keep it."""

    name = "otel-genai"

    def sniff(self, sample: Sample) -> float:
        return max(0.95 * sample.share("resourceSpans"), 0.8 * sample.share("spans"))

    def read_line(self, line: bytes) -> list[Record]:
        row = decode_line(line)
        found = [record for span, tenant in _spans(row) if (record := _record(span, tenant)) is not None]
        if not found:
            raise NotARequest("no span of a model call")
        return found


def _spans(row: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield (span, the attributes of its resource)."""
    if isinstance(row.get("spans"), list):
        yield from ((span, {}) for span in row["spans"] if isinstance(span, dict))
    for resource in _listed(row.get("resourceSpans")):
        around = _attributes(as_object(as_object(resource).get("resource")).get("attributes"))
        for scope in _listed(as_object(resource).get("scopeSpans")):
            yield from ((span, around) for span in _listed(as_object(scope).get("spans")) if isinstance(span, dict))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _attributes(listed: Any) -> dict[str, Any]:
    """Return attributes as a mapping: OTLP lists ``{key, value: {kindValue}}``, others map names to values."""
    if isinstance(listed, dict):
        return listed
    pairs = [a for a in _listed(listed) if isinstance(a, dict)]
    return {a["key"]: _value(a.get("value")) for a in pairs if isinstance(a.get("key"), str)}


def _value(value: Any) -> Any:
    value = as_object(value)
    if "arrayValue" in value:
        return [_value(v) for v in _listed(as_object(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        return _attributes(as_object(value["kvlistValue"]).get("values"))
    if "intValue" in value:
        return _whole(value["intValue"])
    return next(iter(value.values()), None)


def _whole(value: Any) -> int | None:
    """Return a whole number to its last digit, also one written as text; None for anything else."""
    if isinstance(value, str) and len(value) < _MOST_DIGITS and value.removeprefix("-").isdecimal():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = number(value)
    return None if found is None else int(found)


def _record(span: dict[str, Any], around: dict[str, Any]) -> Record | None:
    a = _attributes(span.get("attributes"))
    operation = text(a.get("gen_ai.operation.name"))
    model = text(a.get("gen_ai.request.model"))
    if operation not in _OPERATIONS and not (operation is None and model is not None):
        return None
    start, end = _whole(span.get("startTimeUnixNano")), _whole(span.get("endTimeUnixNano"))
    seconds = None if start is None or end is None else (end - start) / 1e9
    first = number(a.get("gen_ai.response.time_to_first_chunk"))
    failed = as_object(span.get("status")).get("code") in (2, "STATUS_CODE_ERROR") or "error.type" in a
    return Record(
        at=None if start is None else round(start / 1e9, 6),
        tenant=text(a.get("tenant.id")) or text(around.get("tenant.id")),
        user=text(a.get("enduser.id") or a.get("user.id")),
        session=text(a.get("gen_ai.conversation.id") or a.get("session.id")),
        route=text(a.get("gen_ai.agent.name")) or text(around.get("service.name")),
        model=model,
        path=CHAT,
        request=_request(a, model),
        answer=_answer(a),
        status=500 if failed else 200,
        latency_ms=milliseconds(seconds),
        ttft_ms=milliseconds(first),
        input_tokens=count(a.get("gen_ai.usage.input_tokens", a.get("gen_ai.usage.prompt_tokens"))),
        cached_tokens=count(a.get("gen_ai.usage.cache_read.input_tokens")),
        cache_write_tokens=count(a.get("gen_ai.usage.cache_creation.input_tokens")),
        output_tokens=count(a.get("gen_ai.usage.output_tokens", a.get("gen_ai.usage.completion_tokens"))),
        trace_id=text(span.get("traceId")),
    )


def _request(a: dict[str, Any], model: str | None) -> dict[str, Any] | None:
    messages = embedded(a.get("gen_ai.input.messages"))
    messages = [_message(m) for m in messages if isinstance(m, dict)] if isinstance(messages, list) else _numbered(a)
    if not messages:
        return None
    system = embedded(a.get("gen_ai.system_instructions"))
    if system:
        messages = [{"role": "system", "content": system if isinstance(system, str) else _parts(system)}, *messages]
    request: dict[str, Any] = {"model": model, "messages": messages}
    for name in _SETTINGS:
        value = a.get(f"gen_ai.request.{name}")
        if value is not None:
            request[name] = int(value) if isinstance(value, float) and value.is_integer() else value
    tools = embedded(a.get("gen_ai.tool.definitions"))
    if tools:
        request["tools"] = tools
    return request


def _message(message: dict[str, Any]) -> dict[str, Any]:
    parts = message.get("parts")
    return {"role": message.get("role"), "content": _parts(parts) if parts is not None else message.get("content")}


def _parts(parts: Any) -> Any:
    """Return a text where all parts are texts, else the parts as they are."""
    if not isinstance(parts, list):
        return parts
    said = [p.get("content", p.get("text")) for p in parts if isinstance(p, dict) and p.get("type") == "text"]
    texts = [t for t in said if isinstance(t, str)]
    if len(texts) == len(parts):
        return texts[0] if len(texts) == 1 else "\n".join(texts)
    return parts


def _numbered(a: dict[str, Any]) -> list[dict[str, Any]]:
    """Return messages that older instrumentation spread over ``gen_ai.prompt.N.role`` and ``….content``."""
    found: list[dict[str, Any]] = []
    while f"gen_ai.prompt.{len(found)}.content" in a:
        prefix = f"gen_ai.prompt.{len(found)}"
        found.append({"role": a.get(f"{prefix}.role", "user"), "content": a[f"{prefix}.content"]})
    return found


def _answer(a: dict[str, Any]) -> Any:
    said = embedded(a.get("gen_ai.output.messages"))
    if isinstance(said, list):
        return [_message(m) for m in said if isinstance(m, dict)]
    return a.get("gen_ai.completion.0.content")


READER = OtelGenAI()
