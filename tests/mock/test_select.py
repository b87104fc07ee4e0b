"""Which rules hold for a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.errors import UsageError
from edgeinf.mock.load import load
from edgeinf.mock.select import Choice, Selector
from edgeinf.mock.values import Ask
from tests.mock.http_client import chat


def asked(path: str = "/v1/chat/completions", headers: dict[str, str] | None = None, **body: Any) -> Ask:
    raw = [(k.encode(), v.encode()) for k, v in (headers or {}).items()]
    ask = Ask("POST", path, "", raw, json.dumps(chat(**body)).encode())
    ask.read()
    return ask


def selector(*rules: dict[str, Any], **script: Any) -> Selector:
    return Selector(load({"rules": list(rules), **script}), FakeClock().monotonic)


def kinds(choice: Choice) -> list[str]:
    return [fault.kind for fault in choice.faults]


@pytest.mark.parametrize(
    ("when", "ask", "holds"),
    [
        pytest.param({"path": "/v1/chat/*"}, asked(), True, id="path"),
        pytest.param({"path": "/v1/messages"}, asked(), False, id="other-path"),
        pytest.param({"model": "gpt-*"}, asked(model="gpt-x"), True, id="model"),
        pytest.param({"model": "gpt-*"}, asked(model="llama"), False, id="other-model"),
        pytest.param({"headers": {"X-Team": "a*"}}, asked(headers={"x-team": "abc"}), True, id="header"),
        pytest.param({"headers": {"X-Team": "a*"}}, asked(), False, id="no-header"),
        pytest.param({"stream": True}, asked(stream=True), True, id="stream"),
        pytest.param({"stream": False}, asked(stream=True), False, id="not-stream"),
        pytest.param({"method": "GET"}, asked(), False, id="method"),
        pytest.param({"contains": "temperature"}, asked(temperature=1), True, id="contains"),
        pytest.param({"region": "e*"}, asked(), True, id="region"),
        pytest.param({"region": "w*"}, asked(), False, id="other-region"),
    ],
)
def test_every_condition_must_hold(when: dict[str, Any], ask: Ask, holds: bool) -> None:
    choice = selector({"when": when, "fault": "gzip"}, name="east").choose(ask)

    assert kinds(choice) == (["gzip"] if holds else [])


def test_calls_are_counted_among_those_that_fulfil_the_other_conditions() -> None:
    chooser = selector({"when": {"model": "a", "nth": [2, "4-"]}, "fault": "gzip"})

    got = [bool(chooser.choose(asked(model=model)).faults) for model in "abaabaa"]

    assert got == [False, False, True, False, False, True, True]


def test_every_third_call_is_every_third_call() -> None:
    chooser = selector({"when": {"every": 3}, "fault": "gzip"})

    assert [bool(chooser.choose(asked()).faults) for _ in range(7)] == [False, False, True] * 2 + [False]


def test_a_rate_is_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        chooser = selector({"when": {"rate": "30%"}, "fault": "gzip"}, seed=seed)
        return [bool(chooser.choose(asked()).faults) for _ in range(1000)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 250 < sum(drawn(1)) < 350


def test_a_rule_can_hold_for_a_span_of_time() -> None:
    clock = FakeClock()
    chooser = Selector(load({"rules": [{"when": {"after": "5s", "until": "10s"}, "fault": "gzip"}]}), clock.monotonic)
    seen = []
    for _ in range(4):
        seen.append(bool(chooser.choose(asked()).faults))
        clock.advance(4)

    assert seen == [False, False, True, False]


def test_rules_that_match_add_up_and_the_later_one_wins() -> None:
    chooser = selector(
        {"answer": {"tokens": 3}, "ttft": "1s", "fault": "gzip", "headers": {"a": "1"}},
        {"answer": {"reasoning": 2}, "ttft": "2s", "fault": "crlf", "headers": {"b": "2"}},
    )

    choice = chooser.choose(asked())

    assert (choice.shape.tokens, choice.shape.reasoning, choice.timing.ttft_s) == (3, 2, 2.0)
    assert kinds(choice) == ["gzip", "crlf"]
    assert choice.headers == (("a", "1"), ("b", "2"))


def test_a_request_can_ask_for_its_own_fault_by_header_or_body() -> None:
    chooser = selector()

    by_header = chooser.choose(asked(headers={"x-mock-fault": "cut;after=2,gzip"}))
    by_body = chooser.choose(asked(mock={"fault": "503", "answer": {"tokens": 1}, "ttft": "5ms"}))

    assert kinds(by_header) == ["cut", "gzip"]
    assert kinds(by_body) == ["status"]
    assert (by_body.shape.tokens, by_body.timing.ttft_s) == (1, 0.005)


def test_a_wish_that_is_not_understood_is_refused() -> None:
    with pytest.raises(UsageError, match="no fault 'nope'"):
        selector().choose(asked(headers={"x-mock-fault": "nope"}))
