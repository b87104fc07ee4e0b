from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.request_ids import MASK, RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize("name", ["req-8f3a2b1c", "trace_01HZX9", "sess-abc123def", "session_4bf92f3577b34da6"])
def test_an_id_is_known_by_its_prefix(name: str) -> None:
    assert RULE.apply(f"[{name}] You are kind") == f"[{MASK}] You are kind"


@pytest.mark.parametrize(
    "label",
    [
        "Request ID: ",
        "request_id=",
        "trace-id: ",
        "x-request-id: ",
        '"session_id": "',
        "Session #",
        "correlation id is ",
    ],
)
@pytest.mark.parametrize("value", ["8f3a2b1c", "550e8400-e29b-41d4-a716-446655440000"])
def test_an_id_is_known_by_its_label(label: str, value: str) -> None:
    assert RULE.apply(f"{label}{value} and on") == f"{label}{MASK} and on"


def test_a_traceparent_is_masked() -> None:
    assert RULE.apply("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") == MASK


@pytest.mark.parametrize(
    "text",
    [
        "session-cookie",
        "request-body",
        "order 4471190",
        "ticket-12345678",
        "request 3",
        "https://x.io/req-8f3a2b1c",
        "trace the 12345",
    ],
)
def test_what_is_no_id_of_a_request_stays(text: str) -> None:
    assert RULE.apply(text) == text


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)


@pytest.mark.parametrize("numbers", [0, 1, 20, 200])
def test_an_id_is_found_behind_many_numbers(numbers: int) -> None:
    before = "version 3.11.7, " * numbers
    assert RULE.apply(f"{before}request id: 8f3a2b1c") == f"{before}request id: {MASK}"
    assert RULE.apply(f"{before}[req-8f3a2b1c]") == f"{before}[{MASK}]"


def test_a_label_may_be_far_from_its_id() -> None:
    assert RULE.apply("trace id" + " " * 200 + "8f3a2b1c") == "trace id" + " " * 200 + MASK
