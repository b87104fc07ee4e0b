from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from tests.core.dialects.kit import call, reasons

API = by_name("openai-embeddings")
NAME = "openai-embeddings"


def vector(text: Any, width: int = 3) -> list[float]:
    """Return a vector that only this input has."""
    return [len(str(text)) + 0.5, *(ord(c) % 7 / 8 for c in str(text)[: width - 1].ljust(width - 1))]


def answer(inputs: list[Any], *, as_base64: bool = False, **more: Any) -> bytes:
    """Return what an origin says to these inputs."""
    data = []
    for index, item in enumerate(inputs):
        floats: Any = vector(item)
        if as_base64:
            floats = base64.b64encode(struct.pack(f"<{len(floats)}f", *floats)).decode()
        data.append({"object": "embedding", "index": index, "embedding": floats})
    usage = {"prompt_tokens": 7 * len(inputs), "total_tokens": 7 * len(inputs)}
    return json.dumps({"object": "list", "data": data, "model": "m-1", "usage": usage, **more}).encode()


@pytest.mark.parametrize(
    ("value", "items"),
    [("a", 1), (["a", "b"], 2), ([1, 2, 3], 1), ([[1, 2], [3]], 2), (["a", [1]], 2), ([{"text": "a"}], 1), ([], 0)],
)
def test_each_input_has_its_key(value: Any, items: int) -> None:
    read = call(NAME, {"model": "m", "input": value})
    assert read.choices == items == len(API.keyed(read, LEVELS["safe"]))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ({"encoding_format": "float"}, {"encoding_format": "base64"}, True),
        ({}, {"encoding_format": "base64"}, True),
        ({"encoding_format": "float"}, {"encoding_format": "int8"}, False),
        ({"dimensions": 2}, {"dimensions": 3}, False),
        ({"model": "m"}, {"model": "n"}, False),
        ({"user": "a"}, {"user": "b"}, True),
        ({"input": "a "}, {"input": "a"}, False),
        ({"input": "A"}, {"input": "a"}, False),
        ({"input": ["a"]}, {"input": "a"}, True),
        ({"input": [[1, 2]]}, {"input": [1, 2]}, True),
    ],
)
def test_only_what_changes_a_vector_is_in_its_key(a: dict[str, Any], b: dict[str, Any], same: bool) -> None:
    body = {"model": "m", "input": "a"}
    for level in LEVELS.values():
        keys = [API.keyed(call(NAME, {**body, **more}), level) for more in (a, b)]
        assert (keys[0] == keys[1]) is same


@pytest.mark.parametrize(
    "body", [{"input": "a"}, {"model": "m"}, {"model": "m", "input": 5}, {"model": "m", "input": None}]
)
def test_what_is_no_call_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(CallError):
        call(NAME, body)


def test_a_partly_known_list_is_asked_for_in_part_and_put_together_in_order() -> None:
    warm = API.split_answer(call(NAME, {"model": "m", "input": ["a"]}), answer(["a"]))
    asked = call(NAME, {"model": "m", "input": ["b", "a", "c"], "dimensions": 3})
    rest = call(NAME, API.split_call(asked, [0, 2]))
    assert rest.body == {"model": "m", "input": ["b", "c"], "dimensions": 3}
    cold = API.split_answer(rest, answer(["b", "c"]))
    whole = json.loads(API.join_answers(asked, [cold[0], warm[0], cold[1]]))
    assert [item["index"] for item in whole["data"]] == [0, 1, 2]
    assert [item["embedding"] for item in whole["data"]] == [vector("b"), vector("a"), vector("c")]
    assert whole["usage"] == {"prompt_tokens": 21, "total_tokens": 21}
    assert whole["model"] == "m-1"


@given(st.lists(st.text(max_size=6), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_splitting_and_joining_is_the_answer_in_the_form_asked_for(inputs: list[str], came: bool, wanted: bool) -> None:
    asked = call(NAME, {"model": "m", "input": inputs, "encoding_format": "base64" if wanted else "float"})
    parts = API.split_answer(asked, answer(inputs, as_base64=came))
    assert json.loads(API.join_answers(asked, parts)) == json.loads(answer(inputs, as_base64=wanted))
    assert json.loads(API.render_whole(asked, answer(inputs, as_base64=came))) == json.loads(
        answer(inputs, as_base64=wanted)
    )


def test_an_origin_may_answer_out_of_order() -> None:
    document = json.loads(answer(["a", "b"]))
    document["data"].reverse()
    parts = API.split_answer(call(NAME, {"model": "m", "input": ["a", "b"]}), json.dumps(document).encode())
    assert [json.loads(part)["data"][0]["embedding"] for part in parts] == [vector("a"), vector("b")]


def test_floats_keep_the_digits_that_came() -> None:
    item = b'{"object":"embedding","index":0,"embedding":[0.10000000149011612, -1e-05, 1]}'
    raw = b'{"object":"list","data":[%b],"model":"m"}' % item
    asked = call(NAME, {"model": "m", "input": "a"})
    assert b"[0.10000000149011612, -1e-05, 1]" in API.join_answers(asked, API.split_answer(asked, raw))
    assert API.render_whole(asked, raw) == raw


@pytest.mark.parametrize(
    ("change", "unfit"),
    [
        ({}, None),
        ({"data": []}, "no embeddings"),
        ({"data": None}, "no embeddings"),
        ({"error": {"message": "x"}}, "error in the answer"),
    ],
)
def test_an_answer_without_vectors_is_not_kept(change: dict[str, Any], unfit: str | None) -> None:
    assert API.judge(call(NAME, {"model": "m", "input": ["a", "b"]}), answer(["a", "b"], **change)).unfit == unfit


@pytest.mark.parametrize(
    ("items", "unfit"),
    [
        ([(0, [1.0]), (1, [2.0])], None),
        ([(1, [1.0]), (0, [2.0])], None),
        ([(0, [1.0])], "embeddings do not match the inputs"),
        ([(0, [1.0]), (0, [2.0])], "embeddings do not match the inputs"),
        ([(0, [1.0]), (2, [2.0])], "embeddings do not match the inputs"),
        ([(0, [1.0]), (1, [2.0, 3.0])], "embeddings of unequal width"),
        ([(0, []), (1, [])], "embeddings of unequal width"),
        ([(0, None), (1, None)], "embeddings of unequal width"),
    ],
)
def test_order_and_width_are_looked_at(items: list[tuple[int, Any]], unfit: str | None) -> None:
    document = {"data": [{"index": index, "embedding": value} for index, value in items]}
    verdict = API.judge(call(NAME, {"model": "m", "input": ["a", "b"]}), json.dumps(document).encode())
    assert verdict.unfit == unfit


def test_another_width_than_asked_for_is_not_kept() -> None:
    verdict = API.judge(call(NAME, {"model": "m", "input": "a", "dimensions": 4}), answer(["a"]))
    assert verdict.unfit == "embeddings of another width than asked for"
    assert (
        API.judge(call(NAME, {"model": "m", "input": "a", "dimensions": 3}), answer(["a"], as_base64=True)).unfit
        is None
    )
    assert API.judge(call(NAME, {"model": "m", "input": "a"}), b"{").unfit == "malformed answer"


def test_indices_that_do_not_match_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="do not match"):
        API.split_answer(call(NAME, {"model": "m", "input": ["a", "b"]}), answer(["a"]))


def test_an_input_by_url_bypasses_and_a_text_that_is_one_does_not() -> None:
    assert reasons(NAME, {"model": "m", "input": [{"image": "https://x.io/a.png"}]}) == ["url-inputs"]
    assert reasons(NAME, {"model": "m", "input": ["https://x.io/a.png"]}) == []


def test_there_are_no_streams() -> None:
    with pytest.raises(ValueError, match="no streams"):
        API.unfold(answer(["a"]))
    with pytest.raises(ValueError, match="no streams"):
        API.fold([])
    assert API.watch(call(NAME, {"model": "m", "input": "a"})).verdict().unfit is not None
