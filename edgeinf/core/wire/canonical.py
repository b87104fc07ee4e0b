"""Read JSON strictly and write it in one form, so that equal requests are equal bytes.

Reading refuses what two parsers could understand differently: duplicate object keys, NaN and Infinity, lone
surrogates, invalid UTF-8 (RFC 8259 section 4 leaves duplicates undefined; RFC 7493 forbids them). Integers stay
integers of any size; a float with an integral value becomes that integer, so that ``1`` equals ``1.0``.

Writing sorts object keys at every depth, except inside a JSON Schema's ``properties``, whose order constrained
decoding emits. Array order is kept; there is no insignificant white space.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from edgeinf.core.errors import CallError

__all__ = ["JsonObject", "canonical", "parse", "parse_object"]

JsonObject = dict[str, Any]

_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_encode_as_is = msgspec.json.Encoder().encode

# A body nested deeper than this is refused: it is no request, and recursion over it would be ours to survive.
MAX_DEPTH = 200


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def _float(text: str) -> float | int:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return int(value) if value.is_integer() else value


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


# A surrogate comes as an escape only, since UTF-8 has none; whether it stands alone is found out by writing the value.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_decode = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant).decode


def parse(raw: bytes) -> Any:
    """Parse JSON strictly. Raise CallError 400 with the reason."""
    try:
        value = _decode(raw.decode())
        if _SURROGATE.search(raw) is not None:
            _encode_as_is(value)
        return value
    except UnicodeEncodeError:
        raise _lone_surrogate() from None
    except UnicodeDecodeError as error:
        raise CallError(f"the body is not UTF-8 (byte {error.start})", code="invalid_json") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise CallError(f"the body is not JSON: {error.msg.lower()} ({where})", code="invalid_json") from None
    except ValueError as error:
        raise CallError(f"the body is not usable JSON: {error}", code="invalid_json") from None
    except RecursionError:
        raise CallError("the body is nested too deeply", code="invalid_json") from None


def parse_object(raw: bytes) -> JsonObject:
    """Parse a JSON object strictly. Raise CallError 400 with the reason."""
    value = parse(raw)
    if not isinstance(value, dict):
        raise CallError("the body is not a JSON object", code="invalid_json")
    return value


def canonical(value: Any, *, keep_properties_order: bool = True) -> bytes:
    """Write a parsed value in the one form. Raise CallError 400 on a lone surrogate or endless depth."""
    try:
        plain = _encode_sorted(value)
        if keep_properties_order and b'"properties":' in plain:
            return _encode_as_is(_ordered(value, in_properties=False, depth=0))
    except UnicodeEncodeError:
        raise _lone_surrogate() from None
    except RecursionError:
        raise CallError("the body is nested too deeply", code="invalid_json") from None
    return plain


def _lone_surrogate() -> CallError:
    return CallError("the body holds a lone surrogate, which is not text", code="invalid_json")


def _ordered(value: Any, *, in_properties: bool, depth: int) -> Any:
    """Return the tree with sorted keys, but for objects under the key ``properties``."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        keys = value if in_properties else sorted(value)
        return {
            key: _ordered(value[key], in_properties=key == "properties" and not in_properties, depth=depth + 1)
            for key in keys
        }
    if isinstance(value, list):
        return [_ordered(item, in_properties=False, depth=depth + 1) for item in value]
    return value
