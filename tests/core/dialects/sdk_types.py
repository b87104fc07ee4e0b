"""Walk the request types that the SDKs publish."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

__all__ = ["fields_of", "nested_types", "type_literals"]


def fields_of(kind: Any) -> set[str]:
    """Return the field names of a request type, or of each member of a union of them."""
    return {field for each in _members(kind) for field in get_type_hints(each)}


def nested_types(kind: Any) -> dict[str, dict[str, Any]]:
    """Return every typed dict inside a type, by name, with its fields and their types."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(_members(kind))
    while waiting:
        each = waiting.pop()
        if each.__name__ in found:
            continue
        found[each.__name__] = get_type_hints(each)
        for inner in found[each.__name__].values():
            waiting += _members(inner)
    return found


def type_literals(kind: Any) -> set[str]:
    """Return the values that ``type`` may have in a union of typed dicts."""
    return {
        value
        for each in _members(kind)
        for value in _literals(get_type_hints(each).get("type"))
        if isinstance(value, str)
    }


def _members(kind: Any) -> Iterator[Any]:
    if is_typeddict(kind):
        yield kind
    for inner in get_args(kind):
        yield from _members(inner)


def _literals(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is typing.Literal:
        yield from get_args(kind)
    else:
        for inner in get_args(kind):
            yield from _literals(inner)
