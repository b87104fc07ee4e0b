from __future__ import annotations

import inspect
from typing import Any

import pytest

from edgeinf.core.dialects import by_name, dialects, for_path
from edgeinf.core.dialects.base import Dialect, Verdict, as_object, read_answer, require, soft_error, str_or_none
from edgeinf.core.errors import CallError


@pytest.mark.parametrize("name", sorted(dialects()))
def test_every_dialect_says_all_that_a_dialect_must(name: str) -> None:
    dialect = by_name(name)
    for member, value in vars(Dialect).items():
        if member.startswith("_") or not inspect.isfunction(value):
            continue
        own = getattr(dialect, member)
        assert list(inspect.signature(own).parameters) == list(inspect.signature(value).parameters)[1:]
    assert dialect.name == name
    assert dialect.family in ("openai", "anthropic", "rerank")
    assert all(for_path(path) is dialect for path in dialect.paths)


def test_no_path_is_claimed_twice() -> None:
    paths = [path for dialect in dialects().values() for path in dialect.paths]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("body", "said"), [({}, "is missing"), ({"n": None}, "must be a text"), ({"n": True}, "must be a text")]
)
def test_a_missing_field_is_named(body: dict[str, Any], said: str) -> None:
    with pytest.raises(CallError, match=said) as caught:
        require(body, "n", str, "a text")
    assert caught.value.param == "n"


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"error": {"message": "x"}}, {"message": "x"}),
        ({"error": "x"}, {"message": "x"}),
        ({"error": None}, None),
        ({"error": {}}, None),
        ({"error": ""}, None),
        ([], None),
        (None, None),
    ],
)
def test_an_error_is_what_the_sdks_take_for_one(document: Any, error: Any) -> None:
    assert soft_error(document) == error


def test_what_may_be_malformed_is_read_with_care() -> None:
    assert as_object([1]) == {}
    assert str_or_none("") is None
    assert str_or_none(5) is None


@pytest.mark.parametrize("name", sorted(dialects()))
def test_a_call_with_one_key_is_its_own_only_part(name: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "openai-completions": {"model": "m", "prompt": "a"},
        "openai-responses": {"model": "m", "input": "a"},
        "openai-embeddings": {"model": "m", "input": "a"},
        "rerank": {"model": "m", "query": "q", "documents": []},
    }
    body = bodies.get(name, {"model": "m", "max_tokens": 1, "messages": []})
    dialect = by_name(name)
    call = dialect.read(sorted(dialect.paths)[0], "", body)
    assert dialect.split_call(call, [0]) == body
    if name != "openai-embeddings":
        assert dialect.split_answer(call, b"x") == [b"x"]


@pytest.mark.parametrize(
    ("body", "unfit"),
    [
        (b"{", "malformed answer"),
        (b'{"error": "no"}', "error in the answer"),
        (b'{"error": {"code": 1}}', "error in the answer"),
    ],
    ids=["cut off", "an error in words", "an error object"],
)
def test_what_is_no_answer_is_judged_at_once(body: bytes, unfit: str) -> None:
    verdict = read_answer(body)
    assert isinstance(verdict, Verdict)
    assert verdict.unfit == unfit


def test_an_answer_is_read_to_its_document() -> None:
    assert read_answer(b'[{"error": null}]') == [{"error": None}]
