"""OpenAI embeddings: ``POST /v1/embeddings``, one Key for each input.

Source: openai-python ``types/embedding_create_params.py`` and ``types/create_embedding_response.py``. ``float`` and
``base64`` are two renderings of one vector of 32-bit floats, so one entry serves both; other values of
``encoding_format`` (some servers quantise) are other answers. Inputs are exact at every level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.call import Call, Usage
from edgeinf.core.dialects import openai_common
from edgeinf.core.dialects.base import (
    Defaults,
    Rewrite,
    Verdict,
    as_object,
    read_answer,
    require,
    str_or_none,
    whole_or_value_error,
)
from edgeinf.core.dialects.openai_common import UNKEYED, read_usage
from edgeinf.core.dialects.vectors import rendered, shared_out, width_of
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["DIALECT"]

_RENDERINGS = (None, "float", "base64")
_Item = dict[str, msgspec.Raw]


class _Answer(msgspec.Struct):
    """An answer whose vectors stay as the bytes that came."""

    data: list[_Item]


_decode_answer = msgspec.json.Decoder(_Answer).decode


class OpenAIEmbeddings(Defaults):
    """The embeddings dialect."""

    name = "openai-embeddings"
    family = "openai"
    paths = frozenset({"/v1/embeddings"})
    unkeyed = UNKEYED | {"encoding_format"}
    keyed_fields = frozenset({"input", "model", "dimensions"})

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        model = require(body, "model", str, "a text")
        value = require(body, "input", (str, list, dict), "a text, a list of texts or tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model,
            body=body,
            choices=len(_items(value)),
            user=str_or_none(body.get("user")),
            max_output_tokens=0,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        format_ = call.body.get("encoding_format")
        rest = {field: value for field, value in call.body.items() if field not in self.unkeyed and field != "input"}
        if format_ not in _RENDERINGS:
            rest["encoding_format"] = format_
        return [{**rest, "input": item} for item in _items(call.body["input"])]

    def bypass(self, call: Call) -> list[str]:
        return ["url-inputs"] if any(_names_url(item) for item in _items(call.body["input"])) else []

    def deterministic(self, call: Call) -> bool:
        return True

    def judge(self, call: Call, body: bytes) -> Verdict:
        document = read_answer(body)
        if isinstance(document, Verdict):
            return document
        document = as_object(document)
        usage = read_usage(document.get("usage"))
        return Verdict(
            unfit=_unfit(document.get("data"), call),
            usage=msgspec.structs.replace(usage, output_tokens=0) if usage.input_tokens is not None else Usage(),
            model=str_or_none(document.get("model")),
        )

    def split_call(self, call: Call, wanted: Sequence[int]) -> JsonObject:
        value = call.body["input"]
        items = _items(value)
        if len(wanted) == len(items) or not isinstance(value, list):
            return call.body
        return {**call.body, "input": [items[number] for number in wanted]}

    @whole_or_value_error
    def split_answer(self, call: Call, body: bytes) -> list[bytes]:
        items = _items(call.body["input"])
        data = _in_order(_decode_answer(body).data, len(items))
        rest = {field: value for field, value in msgspec.json.decode(body).items() if field not in ("data", "usage")}
        usages = shared_out(msgspec.json.decode(body).get("usage"), [_weight(item) for item in items])
        parts = []
        for item, usage in zip(data, usages, strict=True):
            whole = {**rest, "data": [{**item, "index": msgspec.Raw(b"0")}]}
            parts.append(msgspec.json.encode(whole if usage is None else {**whole, "usage": usage}))
        return parts

    @whole_or_value_error
    def join_answers(self, call: Call, parts: Sequence[bytes]) -> bytes:
        answers = [msgspec.json.decode(part, type=dict[str, msgspec.Raw]) for part in parts]
        data: list[_Item] = []
        totals: dict[str, Any] = {}
        for index, part in enumerate(parts):
            (item,) = _decode_answer(part).data
            data.append({**item, "index": msgspec.Raw(b"%d" % index)})
            usage = msgspec.json.decode(answers[index].get("usage", b"null"))
            for field, value in as_object(usage).items():
                known = isinstance(value, int) and isinstance(totals.get(field, 0), int)
                totals[field] = totals.get(field, 0) + value if known else value
        whole: dict[str, Any] = {**answers[0], "data": data}
        if totals:
            whole["usage"] = totals
        return self.render_whole(call, msgspec.json.encode(whole))

    def render_whole(self, call: Call, body: bytes) -> bytes:
        wanted = call.body.get("encoding_format")
        if wanted not in _RENDERINGS:
            return body
        try:
            data = _decode_answer(body).data
        except msgspec.DecodeError:
            return body
        vectors = [rendered(item["embedding"], wanted == "base64") for item in data if "embedding" in item]
        if len(vectors) != len(data) or all(vector is None for vector in vectors):
            return body
        whole: dict[str, Any] = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        whole["data"] = [
            item if vector is None else {**item, "embedding": vector}
            for item, vector in zip(data, vectors, strict=True)
        ]
        return msgspec.json.encode(whole)

    def error_body(self, error: CallError, request_id: str) -> bytes:
        return openai_common.error_body(error, request_id)

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        return openai_common.error_events(error, request_id)


def _items(value: Any) -> list[Any]:
    """Return the inputs one by one; a list of token numbers is one input."""
    if not isinstance(value, list):
        return [value]
    if value and all(isinstance(token, int) and not isinstance(token, bool) for token in value):
        return [value]
    return value


def _weight(item: Any) -> int:
    size = len(item.encode()) if isinstance(item, str) else len(item) if isinstance(item, list) else 1
    return max(1, size)


def _names_url(item: Any) -> bool:
    return isinstance(item, dict) and any(
        isinstance(value, str) and value[:8].lower().startswith(("http://", "https://")) for value in item.values()
    )


def _in_order(data: list[_Item], count: int) -> list[_Item]:
    """Return the items by their index. Raise ValueError unless each index from 0 is there once."""
    by_index = {msgspec.json.decode(item["index"]): item for item in data if "index" in item}
    if len(data) != count or sorted(by_index) != list(range(count)):
        raise ValueError("the answer's indices do not match the inputs")
    return [by_index[index] for index in range(count)]


def _unfit(data: Any, call: Call) -> str | None:
    if not isinstance(data, list) or not data:
        return "no embeddings"
    items = [as_object(item) for item in data]
    if len(items) != call.choices or sorted(str(item.get("index")) for item in items) != sorted(
        map(str, range(call.choices))
    ):
        return "embeddings do not match the inputs"
    widths = {width_of(item.get("embedding")) for item in items}
    if len(widths) != 1 or not min(widths):
        return "embeddings of unequal width"
    wanted = call.body.get("dimensions")
    if isinstance(wanted, int) and call.body.get("encoding_format") in _RENDERINGS and widths != {wanted}:
        return "embeddings of another width than asked for"
    return None


DIALECT = OpenAIEmbeddings()
