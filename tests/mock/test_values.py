"""The digest that answers are made from."""

from __future__ import annotations

import gzip
import json

import pytest

from edgeinf.mock.values import Ask
from tests.mock.http_client import chat


def digest(body: object, *, headers: tuple[tuple[bytes, bytes], ...] = (), number: int = 1) -> int:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    ask = Ask("POST", "/v1/chat/completions", "", list(headers), raw, number=number)
    ask.read()
    return ask.digest


@pytest.mark.parametrize("field", ["stream", "stream_options", "user", "metadata", "prompt_cache_key", "mock"])
def test_what_cannot_change_an_answer_is_not_in_the_digest(field: str) -> None:
    assert digest(chat(**{field: {"x": 1}})) == digest(chat())


@pytest.mark.parametrize("field", ["temperature", "max_tokens", "n", "num_ctx", "anything"])
def test_every_other_field_is(field: str) -> None:
    assert digest(chat(**{field: 2})) != digest(chat())


def test_the_order_of_keys_and_cache_marks_do_not_count() -> None:
    marked = {"messages": [{"cache_control": {"type": "ephemeral"}, "content": "hi", "role": "user"}], "model": "m"}

    assert digest(marked) == digest(chat())


def test_a_compressed_request_has_the_digest_of_the_plain_one() -> None:
    packed = gzip.compress(json.dumps(chat()).encode())

    assert digest(packed, headers=((b"content-encoding", b"gzip"),)) == digest(chat())


def test_a_damaged_compressed_request_is_taken_as_bytes() -> None:
    assert digest(b"not gzip", headers=((b"content-encoding", b"gzip"),)) != digest(b"")


def test_sampled_answers_differ_from_call_to_call() -> None:
    ask = Ask("POST", "/", "", [], b"{}", number=1)
    ask.read(sampled=True)
    first = ask.digest
    ask.number = 2
    ask.read(sampled=True)

    assert ask.digest != first


def test_headers_are_found_by_lower_case_name_and_fields_only_in_objects() -> None:
    ask = Ask("GET", "/", "", [(b"a", b"1"), (b"a", b"2")], b"[1]")
    ask.read()

    assert (ask.header(b"a"), ask.header(b"b"), ask.field("x", 7)) == ("1", None, 7)
