"""Portkey's log export; ``request`` may be the whole HTTP object or only the body, cost is in cents."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.readers.base import Sample, count, decode_line, number, obj, path_of, text
from edgeinf.analyze.record import Record
from edgeinf.analyze.times import instant
from edgeinf.analyze.usage import usage_of

__all__ = ["READER"]

_CENTS = 100.0


class Portkey:
    """Reads exported logs, in the newer form and in the older one with dotted names."""

    name = "portkey"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * max(
            sample.share("created_at", "ai_org", "ai_model", "res_units"), sample.share("request.body", "response.body")
        )

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        sent, got = obj(row.get("request")), obj(row.get("response"))
        request = obj(row.get("request.body")) or obj(sent.get("body")) or (sent if "model" in sent else {})
        answer = obj(row.get("response.body")) or obj(got.get("body")) or got
        metadata = obj(row.get("metadata"))
        usage = usage_of(answer)
        url = text(row.get("request_url")) or text(sent.get("url")) or ""
        cents = number(row.get("cost")) if row.get("cost_currency", "USD") == "USD" else None
        return Record(
            at=instant(row.get("created_at")),
            tenant=text(metadata.get("tenant")) or text(metadata.get("_organisation")),
            user=text(metadata.get("_user")),
            session=text(metadata.get("session")),
            route=text(metadata.get("route")) or text(row.get("prompt_slug")),
            model=text(row.get("ai_model")),
            path=path_of(url),
            request=request or None,
            answer=answer or None,
            status=count(row.get("response_status_code")),
            latency_ms=number(row.get("response_time")),
            input_tokens=count(row.get("req_units")),
            cached_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=count(row.get("res_units")),
            usd=None if cents is None else cents / _CENTS,
            cache=_cache(row.get("cache_status")),
            trace_id=text(row.get("trace_id")),
            id=text(row.get("id")),
        )


def _cache(status: Any) -> str | None:
    said = str(status or "").upper()
    return "hit" if "HIT" in said else "miss" if "MISS" in said else None


READER = Portkey()
