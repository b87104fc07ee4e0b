"""Anthropic requests with their responses, one pair a line (a proxy's dump, or batch results joined)."""

from __future__ import annotations

from edgeinf.analyze.readers.base import Sample, decode_line, number, text
from edgeinf.analyze.record import Damaged, Record
from edgeinf.analyze.times import instant
from edgeinf.analyze.usage import usage_of
from edgeinf.core.dialects.base import as_object

__all__ = ["READER"]


class AnthropicPairs:
    """Reads ``{"request": …, "response": …}`` whose response is a message."""

    name = "anthropic-pairs"

    def sniff(self, sample: Sample) -> float:
        if not sample.values:
            return 0.0
        pairs = [as_object(value.get("response")) for value in sample.values if "request" in value]
        return 0.96 * sum(p.get("type") in ("message", "error") for p in pairs) / len(sample.values)

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        request, response = row.get("request"), row.get("response")
        if not isinstance(request, dict):
            raise Damaged("no request in it")
        usage = usage_of(response)
        answer = as_object(response)
        return Record(
            at=instant(row.get("ts") or row.get("timestamp") or row.get("created_at")),
            tenant=text(row.get("tenant")),
            user=text(as_object(request.get("metadata")).get("user_id")),
            session=text(row.get("session")),
            route=text(row.get("route")),
            model=text(request.get("model")),
            path="/v1/messages",
            request=request,
            answer=response,
            status=500 if answer.get("type") == "error" else 200 if answer else None,
            latency_ms=number(row.get("latency_ms")),
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            id=text(answer.get("id")),
        )


READER = AnthropicPairs()
