from __future__ import annotations

from edgeinf.validate.foreign.note import at, list_of, mapping


def test_values_of_any_shape_can_be_walked() -> None:
    assert mapping({"a": 1}) == {"a": 1}
    assert mapping([1]) == mapping(None) == {}
    assert list(list_of(["x"], ("a",))) == [(("a", 0), "x")]
    assert list(list_of({"x": 1}, ())) == []
    assert at({"a": {"b": 1}}, "a", "b") == 1
    assert at({"a": 1}, "a", "b") is None
