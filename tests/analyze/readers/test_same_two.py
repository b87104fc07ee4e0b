"""Formats that carry the same two logical requests give the same two."""

from __future__ import annotations

import pytest

from edgeinf.analyze.record import Record, answer_text, call_of
from tests.analyze.readers.reading import read

SYSTEM, QUESTION, ANSWER = "You are the Acme support bot.", "What is your return policy?", "30 days with receipt."
AT = (1793527200.0, 1793527207.0)

# Files, and which of the times, tokens and answers the format carries.
WITH_ALL = (
    "edgeinf_generic.jsonl",
    "helicone_export.jsonl",
    "langfuse_observation_api.jsonl",
    "langfuse_observations_v2.jsonl",
    "langsmith_runs.jsonl",
    "litellm_spend_logs.jsonl",
    "litellm_standard_logging.jsonl",
    "otel_genai_otlp.jsonl",
    "portkey_export.jsonl",
    "azure_apim_llm_log.jsonl",
)
WITHOUT_ANSWERS = ("nginx_access_json.log", "envoy_access.jsonl")
WITHOUT_TIMES = ("openai_batch_input.jsonl", "anthropic_messages_pairs.jsonl")


def _said(record: Record) -> list[tuple[str, str]]:
    call = call_of(record)
    assert call is not None
    system = [("system", call.body["system"])] if "system" in call.body else []
    return system + [(m["role"], m["content"]) for m in call.body["messages"]]


@pytest.mark.parametrize("name", [*WITH_ALL, *WITHOUT_ANSWERS, *WITHOUT_TIMES])
def test_both_requests_are_there(name: str) -> None:
    records = sorted(read(name), key=lambda r: r.at or 0.0)
    assert [_said(r) for r in records] == [
        [("system", SYSTEM), ("user", QUESTION)],
        [("system", SYSTEM), ("user", QUESTION + " ")],
    ]


@pytest.mark.parametrize("name", [*WITH_ALL, *WITHOUT_ANSWERS])
def test_they_come_at_the_same_times(name: str) -> None:
    assert sorted(r.at or 0.0 for r in read(name)) == list(AT)


@pytest.mark.parametrize("name", WITH_ALL)
def test_they_have_the_same_answers_and_tokens(name: str) -> None:
    assert [(answer_text(r.answer), r.input_tokens, r.output_tokens) for r in read(name)] == [(ANSWER, 24, 6)] * 2


@pytest.mark.parametrize("name", [n for n in WITH_ALL if "azure" not in n] + list(WITHOUT_ANSWERS))
def test_they_took_as_long(name: str) -> None:
    assert sorted(r.latency_ms or 0.0 for r in read(name)) == [790.0, 820.0]
