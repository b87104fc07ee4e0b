"""Helicone's export, with bodies (``--include-body``)."""

from __future__ import annotations

from edgeinf.analyze.readers.base import Sample, count, decode_line, embedded, number, obj, path_of, text
from edgeinf.analyze.record import Record
from edgeinf.analyze.times import instant

__all__ = ["READER"]


class Helicone:
    """Reads exported requests; the export's order is newest first."""

    name = "helicone"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("request_created_at", "request_body", "response_status")

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        properties = {**obj(row.get("request_properties")), **obj(row.get("properties"))}
        request = embedded(row.get("request_body"))
        request = request if isinstance(request, dict) and request else None
        return Record(
            at=instant(row.get("request_created_at")),
            tenant=text(properties.get("tenant")),
            user=text(row.get("request_user_id")),
            session=text(properties.get("Helicone-Session-Id") or properties.get("session")),
            route=text(properties.get("route")),
            model=text(row.get("request_model")) or text(row.get("model")),
            path=path_of(row.get("request_path")),
            request=request,
            answer=embedded(row.get("response_body")),
            status=count(row.get("response_status")),
            latency_ms=number(row.get("delay_ms")),
            ttft_ms=number(row.get("time_to_first_token")),
            input_tokens=count(row.get("prompt_tokens")),
            cached_tokens=count(row.get("prompt_cache_read_tokens")),
            cache_write_tokens=count(row.get("prompt_cache_write_tokens")),
            output_tokens=count(row.get("completion_tokens")),
            usd=number(row.get("costUSD")),
            cache="hit" if row.get("cache_reference_id") and row.get("cache_enabled") else None,
            id=text(row.get("request_id")),
        )


READER = Helicone()
