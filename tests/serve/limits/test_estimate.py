"""How many tokens a call may use, before it is made."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core import tokens
from edgeinf.core.call import Call, Usage
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.limits.estimate import Estimator, input_bound


def call(*texts: str, limit: int | None = None, choices: int = 1) -> Call:
    """Return a chat call with these messages."""
    messages = [{"role": "user", "content": text} for text in texts]
    return Call(
        dialect="openai-chat",
        path="/v1/chat/completions",
        model="gpt-4o",
        body={"model": "gpt-4o", "messages": messages},
        max_output_tokens=limit,
        choices=choices,
    )


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=80), min_size=1, max_size=5))
def test_the_bound_is_never_below_the_count(texts: list[str]) -> None:
    asked = call(*texts)
    nothing: Any = None
    x = Exchange("POST", asked.path, "", {}, "", nothing, nothing)
    for raw in (msgspec.json.encode(asked.body), json.dumps(asked.body).encode()):
        x.raw = raw
        assert input_bound(x) >= tokens.count_call(asked).tokens


async def test_a_count_is_the_count_and_is_made_once() -> None:
    estimator = Estimator()
    asked = call("Say hello to the world, in four languages.")
    first = await estimator.exact_input(asked)
    assert first == tokens.count_call(asked).tokens
    assert await estimator.exact_input(asked) == first
    assert len(estimator._counts) == 1


async def test_text_that_is_not_unicode_is_counted_as_well() -> None:
    assert await Estimator().exact_input(call("a\ud800b")) > 0


@pytest.mark.parametrize(("limit", "choices", "output"), [(100, 1, 100), (100, 3, 300), (0, 1, 0)])
def test_a_bounded_answer_reserves_its_bound(limit: int, choices: int, output: int) -> None:
    assert Estimator().output(call("x", limit=limit, choices=choices)) == output


def test_an_unbounded_answer_reserves_what_such_answers_take() -> None:
    estimator = Estimator()
    assert estimator.output(call("x")) == 512
    for _ in range(50):
        estimator.learn(call("x"), Usage(output_tokens=3000))
    assert estimator.output(call("x")) == 3000
    estimator.learn(call("x", limit=10), Usage(output_tokens=10))
    assert estimator.output(call("x")) == 3000
