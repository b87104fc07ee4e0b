"""OpenAI Responses: ``POST /v1/responses``.

Source: openai-python ``types/responses/response_create_params.py`` and ``response_stream_event.py``. An absent
``store`` means true there: the origin then keeps the answer under its id, so :meth:`OpenAIResponses.pinned` says that
only one origin credential may share it. Fields that the answer echoes from the request are the asker's own on a replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects import openai_common
from edgeinf.core.dialects.base import (
    Defaults,
    Rewrite,
    Verdict,
    as_object,
    read_answer,
    require,
    require_stream,
    str_or_none,
    whole_or_value_error,
)
from edgeinf.core.dialects.hosted import hosted_tools, live_model, live_search
from edgeinf.core.dialects.openai_common import UNKEYED, rewritten, url_inputs
from edgeinf.core.dialects.responses_folding import fold_response, unfold_response
from edgeinf.core.dialects.responses_watching import ResponsesWatcher, read_usage, unfit_status
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["DIALECT"]

_KEYED = frozenset(
    {
        "access_programs", "background", "background_options", "context_management", "conversation", "image",
        "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "model", "moderation",
        "parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_options", "reasoning", "service_tier",
        "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation",
    }
)  # fmt: skip

# What the answer echoes of the unkeyed fields, with what it says where the request said nothing.
_ECHOED: dict[str, Any] = {
    "metadata": {},
    "user": None,
    "safety_identifier": None,
    "prompt_cache_key": None,
    "prompt_cache_retention": None,
}


# Events that echo the request, or hold padding.
_MARKS = (b'"response":', b'"obfuscation"')


class OpenAIResponses(Defaults):
    """The Responses dialect."""

    name = "openai-responses"
    family = "openai"
    paths = frozenset({"/v1/responses"})
    unkeyed = UNKEYED
    keyed_fields = _KEYED

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        # a stored prompt brings its model and input along
        model = body.get("model", "") if body.get("prompt") else require(body, "model", str, "a text")
        value = body.get("input")
        if value is not None and not isinstance(value, str | list):
            raise CallError("'input' must be a text or a list", code="invalid_value", param="input")
        limit = body.get("max_output_tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model if isinstance(model, str) else "",
            body=body,
            stream=require_stream(body),
            user=str_or_none(body.get("user")) or str_or_none(body.get("safety_identifier")),
            max_output_tokens=limit if isinstance(limit, int) else None,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        body = {field: value for field, value in call.body.items() if field not in UNKEYED}
        if rewrite.identity:
            return [body]
        if isinstance(body.get("instructions"), str):
            body["instructions"] = rewrite.content("developer", body["instructions"])
        value = body.get("input")
        if isinstance(value, str):
            body["input"] = rewrite.content("user", value)
        elif isinstance(value, list):
            body["input"] = [
                rewritten(item, rewrite)
                if isinstance(item, dict) and item.get("type", "message") == "message"
                else item
                for item in value
            ]
        if "tools" in body:
            body["tools"] = rewrite.tools(body["tools"])
        return [body]

    def bypass(self, call: Call) -> list[str]:
        body = call.body
        reasons = []
        if body.get("previous_response_id") is not None:
            reasons.append("previous-response")
        if body.get("conversation") is not None:
            reasons.append("conversation")
        if body.get("background"):
            reasons.append("background")
        if body.get("prompt") is not None and not as_object(body["prompt"]).get("version"):
            reasons.append("stored-prompt")
        if live_search(body) or live_model(call.model):
            reasons.append("web-search")
        if body.get("plugins"):
            reasons.append("plugins")
        if body.get("search_parameters") is not None:
            reasons.append("search-parameters")
        reasons += hosted_tools(body.get("tools"))
        value = body.get("input")
        for item in map(as_object, value if isinstance(value, list) else ()):
            reasons += _item_reasons(item)
        if _variables_by_url(body.get("prompt")):
            reasons.append("url-inputs")
        return list(dict.fromkeys(reasons))

    def pinned(self, call: Call) -> bool:
        return call.body.get("store") is not False

    def answer_id(self, body: bytes) -> str | None:
        try:
            document = as_object(msgspec.json.decode(body))
        except msgspec.DecodeError:
            return None
        return None if document.get("store") is False else str_or_none(document.get("id"))

    def watch(self, call: Call) -> ResponsesWatcher:
        return ResponsesWatcher()

    def judge(self, call: Call, body: bytes) -> Verdict:
        document = read_answer(body)
        if isinstance(document, Verdict):
            return document
        document = as_object(document)
        return Verdict(
            unfit=unfit_status(document),
            usage=read_usage(document.get("usage")),
            model=str_or_none(document.get("model")),
        )

    @whole_or_value_error
    def fold(self, events: Sequence[Event]) -> bytes:
        return fold_response(events)

    @whole_or_value_error
    def unfold(self, body: bytes) -> list[Event]:
        return unfold_response(body)

    def marks(self, call: Call) -> tuple[bytes, ...]:
        return _MARKS

    def render_event(self, call: Call, event: Event) -> Event | None:
        if not any(mark in event.data for mark in _MARKS):
            return event
        try:
            data = as_object(msgspec.json.decode(event.data))
        except msgspec.DecodeError:
            return event
        changed = "obfuscation" in data
        data.pop("obfuscation", None)
        if isinstance(data.get("response"), dict):
            changed = _echo(data["response"], call) or changed
        return Event(event.name, msgspec.json.encode(data)) if changed else event

    def render_whole(self, call: Call, body: bytes) -> bytes:
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return body
        return msgspec.json.encode(document) if isinstance(document, dict) and _echo(document, call) else body

    def error_body(self, error: CallError, request_id: str) -> bytes:
        return openai_common.error_body(error, request_id)

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        inner = openai_common.error_object(error, request_id)
        flat = {"code": inner["code"], "message": inner["message"], "param": inner["param"], "sequence_number": 0}
        # the flat form is the API's; the nested object beside it is what makes the SDK raise
        ending = b"event: error\ndata: %b\n\n" % msgspec.json.encode({"type": "error", **flat, "error": inner})
        if not started:
            return ending
        failed = {
            "type": "response.failed",
            "sequence_number": 0,
            "response": {
                "id": request_id,
                "object": "response",
                "status": "failed",
                "error": {"code": "server_error", "message": inner["message"]},
                "output": [],
            },
        }
        return b"event: response.failed\ndata: %b\n\n%b" % (msgspec.json.encode(failed), ending)


def _echo(response: JsonObject, call: Call) -> bool:
    """Give a response the asker's own echoed fields, in place; return whether anything changed."""
    changed = False
    for field, silent in _ECHOED.items():
        if field not in response:
            continue
        own = call.body.get(field)
        own = silent if own is None else own
        if response[field] != own and not (own is None and field == "prompt_cache_retention"):
            response[field] = own
            changed = True
    return changed


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type", "message") == "message"


def _item_reasons(item: JsonObject) -> list[str]:
    reasons = []
    kind = item.get("type")
    if kind == "item_reference" or (kind is None and "role" not in item and "id" in item):
        reasons.append("previous-response")
    if kind == "additional_tools":
        reasons += hosted_tools(item.get("tools"))
    if any(url_inputs(item.get(field)) for field in ("content", "output")) or url_inputs([item.get("output")]):
        reasons.append("url-inputs")
    return reasons


def _variables_by_url(prompt: Any) -> bool:
    variables = as_object(as_object(prompt).get("variables"))
    return url_inputs([value for value in variables.values() if isinstance(value, dict)])


DIALECT = OpenAIResponses()
