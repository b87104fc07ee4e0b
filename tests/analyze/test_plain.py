"""The short way for plain chats finds what the long way finds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeinf.analyze.coarse import coarse_levels
from edgeinf.analyze.interpret import Interpreter
from edgeinf.analyze.meaning import Meaning
from edgeinf.analyze.plain import PlainChats
from edgeinf.analyze.record import Record
from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.normalize.levels import LEVELS
from tests.core.normalize.texts import nasty_texts

NAMES = tuple(LEVELS)
POLICY = CachePolicy(max_temperature=0.5)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
MESSAGES = st.lists(
    st.builds(lambda role, said: {"role": role, "content": said}, ROLES, st.text() | nasty_texts), max_size=4
)
FIELDS = st.dictionaries(
    st.sampled_from(["temperature", "seed", "user", "store", "n", "stream", "x_tag", "system"]),
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    max_size=3,
)


def _tool(day: int, order: dict[str, int]) -> dict[str, Any]:
    function = {"name": "f", "description": f"At 2026-11-0{day}  10:00", "parameters": {"properties": order}}
    return {"tools": [{"type": "function", "function": function}]}


TOOLS = st.sampled_from([{}, {}, _tool(1, {"a": 1, "b": 2}), _tool(2, {"b": 2, "a": 1})])
MORE = st.builds(lambda fields, tools: {**fields, **tools}, FIELDS, TOOLS)


def _record(messages: list[dict[str, Any]], more: dict[str, Any], compact: bool, route: str | None) -> Record:
    apart = (",", ":") if compact else None
    body = json.dumps({"model": "m", "messages": messages, **more}, ensure_ascii=compact, separators=apart)
    return Record(request=body.encode("utf-8", "surrogatepass"), route=route)


RECORDS = st.builds(_record, MESSAGES, MORE, st.booleans(), st.sampled_from([None, "r"]))


def _short(*records: Record) -> list[Meaning | None]:
    plain = PlainChats(POLICY, coarse_levels(NAMES, None))
    found: list[Meaning | None] = []
    for record in records:
        assert isinstance(record.request, bytes)
        found.append(plain.meaning(record, record.request))
    return found


def _chat(*messages: dict[str, Any], **more: Any) -> Record:
    return Record(request=json.dumps({"model": "m", "messages": messages, **more}).encode())


@settings(deadline=None, max_examples=300)
@example(records=[Record(request=b'{"model":"m","messages":[{"role":"user","content":"\\u0022"}]}')])
@given(records=st.lists(RECORDS, min_size=1, max_size=4))
def test_any_chat_means_what_it_means_by_the_long_way(records: list[Record]) -> None:
    for record, found in zip(records, _short(*records), strict=True):
        long = Interpreter(POLICY, NAMES, coarse=True)
        long._plain = None
        assert found is None or found == long.meaning(record)


def test_plain_chats_go_the_short_way() -> None:
    said = {"role": "user", "content": "Where is it, then, on such a day?"}
    records = [_chat({"role": "system", "content": "Be kind."}, said, temperature=0, seed=n) for n in (1, 2, 1)]
    assert None not in _short(*records)


@pytest.mark.parametrize(
    "record",
    [
        _chat({"role": "user", "content": [{"type": "text", "text": "Hi"}]}),
        _chat({"role": "user", "content": "Hi", "name": "n"}),
        Record(request=b'{"model": "m", "messages": [{"role": "user", "content": "a"}], "seed": 1, "seed": 2}'),
        Record(request=b'{"model": "m", "messages": [{"role": "user", "content": "a", "content": "b"}]}'),
        Record(request=b'{"model": "m", "model": "m", "messages": []}'),
        Record(request=b'{"model": "m", "messages": [{"role": "user", "content": "a"}]}', path="/v1/messages"),
        Record(request=b'{"messages": [{"role": "user", "content": "a"}]}'),
        Record(request=b'{"model": "m", "messages": {}}'),
    ],
    ids=[
        "parts", "a third field", "a key twice", "a text twice", "a model twice",
        "another dialect", "refused", "no list",
    ],
)  # fmt: skip
def test_what_is_more_than_plain_goes_the_long_way(record: Record) -> None:
    assert _short(record) == [None]
