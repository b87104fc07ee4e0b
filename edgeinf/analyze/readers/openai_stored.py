"""OpenAI stored completions: the list of answers, and beside it the prompts that a second call returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from edgeinf.analyze.readers.base import Sample, decode, text
from edgeinf.analyze.record import CHAT, Damaged, NotARequest, Record
from edgeinf.analyze.usage import usage_of
from edgeinf.core.dialects.base import as_object

__all__ = ["READER"]

# What the list repeats of the request.
_SETTINGS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "tools", "tool_choice",
             "response_format")  # fmt: skip


class OpenAIStored:
    """Reads pages of ``GET /v1/chat/completions`` with those of ``…/{id}/messages``; ids tell what belongs together."""

    name = "openai-stored"

    def sniff(self, sample: Sample) -> float:
        if not sample.values or sample.values[0].get("object") != "list":
            return 0.0
        rows = sample.values[0].get("data")
        return (
            0.95
            if isinstance(rows, list) and any("choices" in r or "role" in r for r in rows if isinstance(r, dict))
            else 0.0
        )

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        answers: list[dict[str, Any]] = []
        prompts: dict[str, list[dict[str, Any]]] = {}
        for path in paths:
            for row in _rows(path):
                if isinstance(row, Damaged):
                    yield row
                elif "choices" in row:
                    answers.append(row)
                elif isinstance(row.get("id"), str):
                    prompts.setdefault(row["id"].rpartition("-")[0], []).append(row)
        for answer in answers:
            yield _record(answer, prompts.pop(str(answer.get("id")), None))
        for _ in prompts:
            yield NotARequest("a prompt whose answer is not in the files")


def _rows(path: str) -> Iterator[dict[str, Any] | Damaged]:
    with open(path, "rb") as file:
        data = file.read()
    pages: list[Any]
    try:
        pages = [decode(data)]
    except msgspec.DecodeError:
        try:
            pages = _lines(data)
        except msgspec.DecodeError:
            yield Damaged("not JSON")
            return
    for page in pages:
        rows = as_object(page).get("data")
        yield from (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def _lines(data: bytes) -> list[Any]:
    return [decode(line) for line in data.splitlines() if line.strip()]


def _record(answer: dict[str, Any], prompt: list[dict[str, Any]] | None) -> Record:
    metadata = as_object(answer.get("metadata"))
    usage = usage_of(answer)
    request = None
    if prompt is not None:
        prompt.sort(key=lambda m: int(m["id"].rpartition("-")[2]) if m["id"].rpartition("-")[2].isdecimal() else 0)
        request = {
            "model": answer.get("model"),
            "messages": [
                {"role": m.get("role"), "content": m.get("content_parts") or m.get("content")} for m in prompt
            ],
            **{field: answer[field] for field in _SETTINGS if answer.get(field) is not None},
        }
    created = answer.get("created")
    return Record(
        at=float(created) if isinstance(created, int | float) else None,
        tenant=text(metadata.get("tenant")),
        user=text(answer.get("input_user")),
        session=text(metadata.get("session")),
        route=text(metadata.get("route")),
        model=text(answer.get("model")),
        path=CHAT,
        request=request,
        answer=answer,
        status=200,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        id=text(answer.get("id")),
    )


READER = OpenAIStored()
