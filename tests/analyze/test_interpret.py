"""What a request is to the cache: its keys, and what it asks apart from everything volatile."""

from __future__ import annotations

import json

import pytest

from edgeinf.analyze.interpret import Interpreter
from edgeinf.analyze.record import Record, call_of
from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.dialects import by_name
from edgeinf.core.key import canonical_forms
from edgeinf.core.normalize.levels import LEVELS
from tests.analyze.making import ask


def _record(question: str = "What is it?", **fields: object) -> Record:
    return Record(request=json.dumps(ask(question, **fields)["request"]).encode())  # type: ignore[arg-type]


def _interpreter() -> Interpreter:
    return Interpreter(CachePolicy(), tuple(LEVELS))


def test_keys_are_those_of_the_core_at_every_level() -> None:
    record = _record("What  is it? ", system="Now: 2026-11-01 10:00\nYou help.")
    call = call_of(record)
    assert call is not None
    wanted = [
        (int.from_bytes(canonical_forms(call, by_name(call.dialect), level)[0].digest[:8], "big"),)
        for level in LEVELS.values()
    ]
    assert list(_interpreter().meaning(record).keys) == wanted


def test_a_body_seen_before_means_the_same() -> None:
    interpreter = _interpreter()
    first = interpreter.meaning(_record())
    assert interpreter.meaning(_record()) is first


@pytest.mark.parametrize(
    "request_",
    [b'{"model": "m", "model": "n", "messages": []}', b'{"model": "m", "messages": 1}', b'{"messages": []}'],
    ids=["a key twice", "no list", "no model"],
)
def test_what_serve_refuses_is_not_eligible(request_: bytes) -> None:
    assert str(_interpreter().meaning(Record(request=request_)).reason).startswith("refused")
