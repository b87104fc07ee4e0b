"""Rows of LiteLLM's table ``LiteLLM_SpendLogs``, one JSON object a line."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.litellm import PATHS, cache_word, ttft_ms
from edgeinf.analyze.readers.base import Sample, count, decode_line, embedded, milliseconds, number, obj, text
from edgeinf.analyze.record import CHAT, Damaged, NotARequest, Record
from edgeinf.analyze.times import instant, seconds_between

__all__ = ["READER"]


class LiteLLMSpend:
    """Reads spend logs; prompts are in them only with ``store_prompts_in_spend_logs``, cut at 1,000 characters."""

    name = "litellm-spend"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("call_type", "startTime", "spend", "request_id")

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        if "call_type" not in row:
            raise NotARequest("no call_type")
        sent = obj(row.get("proxy_server_request"))
        content = embedded(row.get("messages"))
        path = PATHS.get(str(row["call_type"]), CHAT)
        request: dict[str, Any] | None = None
        if "messages" in sent or "input" in sent:
            request = sent
        elif content:
            request = {"model": row.get("model_group") or row.get("model")}
            request["messages" if path in (CHAT, "/v1/messages") else "input"] = content
        elif content is None:
            raise Damaged("no messages in it")
        tags = embedded(row.get("request_tags"))
        answer = embedded(row.get("response"))
        details = obj(obj(obj(answer).get("usage")).get("prompt_tokens_details"))
        return Record(
            at=instant(row.get("startTime")),
            tenant=text(row.get("team_id")),
            team=text(row.get("team_id")),
            key_id=text(row.get("api_key")),
            user=text(row.get("end_user")) or text(row.get("user")),
            session=text(row.get("session_id")),
            route=text(tags[0]) if isinstance(tags, list) and tags else None,
            model=text(row.get("model")),
            path=path,
            request=request,
            answer=answer or None,
            status=200 if row.get("status") in (None, "success") else 500,
            latency_ms=number(row.get("request_duration_ms"))
            or milliseconds(seconds_between(row.get("startTime"), row.get("endTime"))),
            ttft_ms=ttft_ms(row),
            input_tokens=count(row.get("prompt_tokens")),
            cached_tokens=count(details.get("cached_tokens")),
            output_tokens=count(row.get("completion_tokens")),
            usd=number(row.get("spend")),
            cache=cache_word(row.get("cache_hit")),
            id=text(row.get("request_id")),
        )


READER = LiteLLMSpend()
