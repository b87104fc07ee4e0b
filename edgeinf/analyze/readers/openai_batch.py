"""OpenAI batch files: requests (``body``), answers (``response``), or both, joined on ``custom_id``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from edgeinf.analyze.readers.base import Sample, count, json_lines, text
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.analyze.usage import usage_of

__all__ = ["READER"]


class OpenAIBatch:
    """Reads batch input and output files together; the output's order is not the input's, so the input's is kept."""

    name = "openai-batch"

    def sniff(self, sample: Sample) -> float:
        return max(0.97 * sample.share("custom_id", "url", "body"), 0.97 * sample.share("custom_id", "response"))

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        answers: dict[str, dict[str, Any]] = {}
        inputs = []
        for path in paths:
            kind = next((row for _, row in json_lines([path]) if isinstance(row, dict)), {})
            if "body" in kind:
                inputs.append(path)
                continue
            for _, row in json_lines([path]):
                if isinstance(row, Damaged):
                    yield row
                elif isinstance(row.get("custom_id"), str):
                    answers[row["custom_id"]] = row
        for number, row in json_lines(inputs):
            if isinstance(row, Damaged):
                yield row
            elif not isinstance(row.get("body"), dict) or not isinstance(row.get("custom_id"), str):
                yield Damaged("no body or custom_id")
            else:
                yield _record(row, answers.pop(row["custom_id"], None), number)
        for _ in answers:
            yield NotARequest("an answer whose request is not in the files")


def _record(row: dict[str, Any], answer: dict[str, Any] | None, number: int) -> Record:
    response = (answer or {}).get("response")
    response = response if isinstance(response, dict) else {}
    body = response.get("body")
    body = body if isinstance(body, dict) else None
    usage = usage_of(body)
    failed = answer is not None and (answer.get("error") is not None or not response)
    return Record(
        route=None,
        path=text(row.get("url")),
        request=row["body"],
        model=text(row["body"].get("model")),
        answer=body,
        status=count(response.get("status_code")) or (500 if failed else None),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        id=row["custom_id"],
        line=number,
    )


READER = OpenAIBatch()
