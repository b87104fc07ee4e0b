"""Langfuse observations: the blob export (snake case, texts of JSON) and the API's form (camel case, objects)."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.readers.base import Sample, count, decode_line, embedded, milliseconds, number, obj, text
from edgeinf.analyze.record import CHAT, Damaged, NotARequest, Record
from edgeinf.analyze.times import instant, seconds_between

__all__ = ["READER"]


class Langfuse:
    """Reads generations; spans and events around them would count twice and are left out."""

    name = "langfuse"

    def sniff(self, sample: Sample) -> float:
        blob = sample.share("type", "trace_id", "start_time", "provided_model_name")
        api = sample.share("type", "traceId", "startTime", "input")
        return 0.95 * max(blob, api)

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        kind = row.get("type")
        if kind != "GENERATION":
            raise NotARequest(f"an observation of type {str(kind).lower()}")

        def of(snake: str, camel: str) -> Any:
            value = row.get(snake)
            return row.get(camel) if value is None else value

        usage, cost = obj(of("usage_details", "usageDetails")), obj(of("cost_details", "costDetails"))
        start, end = of("start_time", "startTime"), of("end_time", "endTime")
        model = text(of("provided_model_name", "model"))
        metadata = obj(row.get("metadata"))
        cached = count(usage.get("input_cached_tokens", usage.get("cache_read_input_tokens")))
        fresh = count(usage.get("input"))
        tags = row.get("tags")
        latency = number(row.get("latency"))
        ttft = number(of("time_to_first_token", "timeToFirstToken"))
        return Record(
            at=instant(start),
            tenant=text(metadata.get("tenant")) or (text(tags[0]) if isinstance(tags, list) and tags else None),
            user=text(of("user_id", "userId")),
            session=text(of("session_id", "sessionId")),
            route=text(row.get("trace_name")) or text(row.get("name")),
            model=model,
            path=CHAT,
            request=_request(embedded(row.get("input")), model, obj(of("model_parameters", "modelParameters"))),
            answer=embedded(row.get("output")) or None,
            status=500 if row.get("level") == "ERROR" else 200,
            latency_ms=milliseconds(latency if latency is not None else seconds_between(start, end)),
            ttft_ms=milliseconds(
                ttft if ttft is not None else seconds_between(start, of("completion_start_time", "completionStartTime"))
            ),
            input_tokens=None if fresh is None else fresh + (cached or 0),
            cached_tokens=cached,
            output_tokens=count(usage.get("output")),
            usd=number(row.get("total_cost")) if row.get("total_cost") is not None else number(cost.get("total")),
            trace_id=text(of("trace_id", "traceId")),
            id=text(row.get("id")),
        )


def _request(given: Any, model: str | None, parameters: dict[str, Any]) -> dict[str, Any] | None:
    if isinstance(given, dict) and "messages" in given:
        return {"model": model, **parameters, **given}
    if isinstance(given, list):
        return {"model": model, "messages": given, **parameters}
    if isinstance(given, str) and given:
        return {"model": model, "messages": [{"role": "user", "content": given}], **parameters}
    if given is None or given == "":
        return None
    raise Damaged("its input is neither text nor messages")


READER = Langfuse()
