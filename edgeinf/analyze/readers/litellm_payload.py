"""LiteLLM's StandardLoggingPayload, as its callbacks write it to S3, GCS or files."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.litellm import PATHS, cache_word, ttft_ms
from edgeinf.analyze.readers.base import Sample, count, decode_line, embedded, milliseconds, number, obj, text
from edgeinf.analyze.record import CHAT, Damaged, NotARequest, Record
from edgeinf.analyze.times import instant, seconds_between

__all__ = ["READER"]


class LiteLLMPayload:
    """Reads the payload; failures are logged too, and ``cache_hit`` marks what a cache answered."""

    name = "litellm-payload"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("call_type", "startTime", "model_parameters", "hidden_params")

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        if "call_type" not in row:
            raise NotARequest("no call_type")
        path = PATHS.get(str(row["call_type"]), CHAT)
        content = embedded(row.get("messages"))
        if not content:
            raise Damaged("no messages in it")
        metadata = obj(row.get("metadata"))
        request: dict[str, Any] = {
            "model": row.get("model_group") or row.get("model"),
            **obj(row.get("model_parameters")),
        }
        request["messages" if path == CHAT else "input"] = content
        usage = obj(obj(obj(row.get("response")).get("usage")).get("prompt_tokens_details"))
        return Record(
            at=instant(row.get("startTime")),
            tenant=text(metadata.get("user_api_key_team_id")),
            team=text(metadata.get("user_api_key_team_id")),
            key_id=text(metadata.get("user_api_key_hash")),
            user=text(row.get("end_user")) or text(metadata.get("user_api_key_end_user_id")),
            session=text(row.get("trace_id")),
            route=_first(row.get("request_tags")),
            model=text(row.get("model")),
            path=path,
            request=request,
            answer=embedded(row.get("response")),
            status=500 if row.get("status") == "failure" else 200,
            latency_ms=milliseconds(seconds_between(row.get("startTime"), row.get("endTime"))),
            ttft_ms=ttft_ms(row),
            input_tokens=count(row.get("prompt_tokens")),
            cached_tokens=count(usage.get("cached_tokens")),
            output_tokens=count(row.get("completion_tokens")),
            usd=number(row.get("response_cost")),
            cache=cache_word(row.get("cache_hit")),
            trace_id=text(row.get("trace_id")),
            id=text(row.get("id")),
        )


def _first(tags: Any) -> str | None:
    return text(tags[0]) if isinstance(tags, list) and tags else None


READER = LiteLLMPayload()
