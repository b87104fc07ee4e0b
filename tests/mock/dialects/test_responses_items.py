"""The items of a Responses answer."""

from __future__ import annotations

from edgeinf.mock.content import content_of
from edgeinf.mock.dialects.responses_items import items_of
from edgeinf.mock.script import Shape, ToolCall
from edgeinf.mock.values import Ask, Kind


def asked(body: bytes = b'{"model":"m","input":"hi"}') -> Ask:
    ask = Ask("POST", "/v1/responses", "", [], body, identity="x", region="east")
    ask.read()
    return ask


def test_items_stand_in_their_order_and_begin_and_end_with_themselves() -> None:
    shape = Shape(reasoning=2, text="so", tool_calls=(ToolCall(), ToolCall()))
    items = items_of(asked(), shape, content_of(asked(), shape))

    assert [item.whole["type"] for item in items] == ["reasoning", "message", "function_call", "function_call"]
    for item in items:
        assert (item.parts[0].name, item.parts[-1].name) == ("response.output_item.added", "response.output_item.done")
        assert item.parts[-1].body["item"] == item.whole
        assert item.parts[0].body["item"]["id"] == item.whole["id"]


def test_only_deltas_bear_tokens() -> None:
    shape = Shape(reasoning=2, tokens=3)
    items = items_of(asked(), shape, content_of(asked(), shape))

    parts = [part for item in items for part in item.parts]
    assert [part.kind is Kind.TOKEN for part in parts] == [part.name.endswith(".delta") for part in parts]
    assert sum(part.tokens for part in parts) == 5


def test_encrypted_reasoning_names_the_region_that_issued_it_only_on_request() -> None:
    shape = Shape(reasoning=1)
    wanting = asked(b'{"model":"m","input":"hi","include":["reasoning.encrypted_content"]}')

    with_it = items_of(wanting, shape, content_of(wanting, shape))[0].whole
    without = items_of(asked(), shape, content_of(asked(), shape))[0].whole

    assert "encrypted_content" in with_it
    assert "encrypted_content" not in without
