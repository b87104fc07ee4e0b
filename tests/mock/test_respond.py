"""From a request to a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.mock.load import load
from edgeinf.mock.respond import Responder
from edgeinf.mock.values import Ask, Plan
from tests.mock.http_client import chat


def plan(script: dict[str, Any], *, headers: dict[str, str] | None = None, number: int = 1, **body: Any) -> Plan:
    raw = [(k.encode(), v.encode()) for k, v in (headers or {}).items()]
    ask = Ask("POST", "/v1/chat/completions", "", raw, json.dumps(chat(**body)).encode(), number=number)
    return Responder(load(script)).plan(ask)[0]


def body_of(plan: Plan) -> bytes:
    return b"".join(piece.data for piece in plan.pieces)


def test_fixed_ids_make_equal_requests_equal_byte_for_byte() -> None:
    fixed = [body_of(plan({"fixed_ids": True}, number=number, stream=True)) for number in (1, 2)]
    free = [body_of(plan({}, number=number)) for number in (1, 2)]

    assert fixed[0] == fixed[1]
    assert free[0] != free[1]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer right"}, 200),
        ({"x-api-key": "right"}, 200),
        ({"authorization": "Bearer wrong"}, 401),
        ({}, 401),
    ],
    ids=["bearer", "x-api-key", "wrong", "none"],
)
def test_a_script_can_ask_for_a_credential(headers: dict[str, str], status: int) -> None:
    assert plan({"api_key": "right"}, headers=headers).status == status


def test_strict_models_refuse_an_unknown_name() -> None:
    script = {"strict_models": True, "models": ["known"]}

    assert [plan(script, model=model).status for model in ("known", "other")] == [200, 404]


def test_a_bad_wish_is_answered_with_what_is_wrong_with_it() -> None:
    refused = plan({}, headers={"x-mock-fault": "cutt"})

    assert refused.status == 400
    assert b"did you mean 'cut'?" in body_of(refused)


def test_headers_of_the_script_are_added_to_every_answer() -> None:
    headers = dict(plan({"headers": {"set-cookie": "a=b"}, "name": "east"}).headers)

    assert headers["set-cookie"] == "a=b"
    assert headers["x-mock-region"] == "east"


def test_sampled_answers_differ_and_others_do_not() -> None:
    def texts(**answer: Any) -> set[str]:
        script = {"answer": answer}
        bodies = [json.loads(body_of(plan(script, number=number))) for number in (1, 2, 3)]
        return {body["choices"][0]["message"]["content"] for body in bodies}

    assert len(texts(sampled=True)) == 3
    assert len(texts(sampled=False)) == 1


def test_the_names_of_faults_are_reported() -> None:
    responder = Responder(load({"fault": ["gzip", "crlf"]}))
    ask = Ask("POST", "/v1/chat/completions", "", [], b"{}")

    assert responder.plan(ask)[1] == ("gzip", "crlf")


def test_an_answer_can_be_given_byte_for_byte() -> None:
    script = {"answer": {"raw": [": hello\n\n", "data: [DONE]\n\n"]}}

    assert [piece.data for piece in plan(script, stream=True).pieces] == [b": hello\n\n", b"data: [DONE]\n\n"]
    assert body_of(plan(script)) == b": hello\n\ndata: [DONE]\n\n"
