"""LangSmith runs of type llm; ``session_id`` is the project there, not a chat."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.readers.base import Sample, count, decode_line, milliseconds, number, obj, text
from edgeinf.analyze.record import CHAT, Damaged, NotARequest, Record
from edgeinf.analyze.times import instant, seconds_between

__all__ = ["READER"]

_ROLES = {"human": "user", "ai": "assistant"}


class LangSmith:
    """Reads exported runs; chains, tools and retrievers around the model's runs are left out."""

    name = "langsmith"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("run_type", "inputs", "start_time")

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        if row.get("run_type") != "llm":
            raise NotARequest(f"a run of type {row.get('run_type')}")
        extra = obj(row.get("extra"))
        metadata, parameters = obj(extra.get("metadata")), obj(extra.get("invocation_params"))
        inputs = obj(row.get("inputs"))
        model = text(parameters.get("model")) or text(metadata.get("ls_model_name"))
        tags = row.get("tags")
        return Record(
            at=instant(row.get("start_time")),
            tenant=text(metadata.get("tenant")),
            user=text(metadata.get("user_id")),
            session=text(metadata.get("session_id") or metadata.get("thread_id") or metadata.get("conversation_id")),
            route=text(tags[0]) if isinstance(tags, list) and tags else None,
            model=model,
            path=CHAT,
            request={"model": model, **_sent(parameters), "messages": _messages(inputs)},
            answer=_answer(obj(row.get("outputs"))),
            status=500 if row.get("error") else 200,
            latency_ms=milliseconds(seconds_between(row.get("start_time"), row.get("end_time"))),
            ttft_ms=milliseconds(seconds_between(row.get("start_time"), row.get("first_token_time"))),
            input_tokens=count(row.get("prompt_tokens")),
            output_tokens=count(row.get("completion_tokens")),
            usd=number(row.get("total_cost")),
            trace_id=text(row.get("trace_id")),
            id=text(row.get("id")),
        )


def _sent(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that were sent: LangChain adds its own type, and unset ones as null."""
    return {
        k: v
        for k, v in parameters.items()
        if not k.startswith("_") and k not in ("model", "model_name") and v is not None
    }


def _messages(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    messages = inputs.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[0], list):
        messages = messages[0]  # LangChain sends a batch of one
    if isinstance(messages, list) and messages:
        return [_message(m) for m in messages if isinstance(m, dict)]
    prompts = inputs.get("prompts") or inputs.get("prompt") or inputs.get("input")
    said = prompts[0] if isinstance(prompts, list) and prompts else prompts
    if isinstance(said, str):
        return [{"role": "user", "content": said}]
    raise Damaged("its inputs are neither text nor messages")


def _message(message: dict[str, Any]) -> dict[str, Any]:
    if "role" in message:
        return message
    data = obj(message.get("data") or message.get("kwargs"))
    kind = str(message.get("type") or data.get("type") or "human")
    if kind == "constructor":  # a serialised LangChain object names its class last
        kind = str((message.get("id") or ["human"])[-1]).removesuffix("Message").lower()
    return {"role": _ROLES.get(kind, kind), "content": data.get("content", message.get("content"))}


def _answer(outputs: dict[str, Any]) -> Any:
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, dict):
        return text(generations.get("text")) or obj(obj(generations.get("message")).get("data")).get("content")
    return outputs or None


READER = LangSmith()
