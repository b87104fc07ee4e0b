"""The config as it holds, with where each value comes from; credentials are masked."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import typing
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from edgeinf.core.config import types as t
from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.load import Inspection
from edgeinf.core.config.scalar import Secret
from edgeinf.core.redact import MASK, redact
from edgeinf.core.units import format_duration

__all__ = ["effective"]

_MASKED = f'"{MASK}"'

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)


def effective(seen: Inspection) -> str:
    """Return the whole config as YAML with a comment per value: its line, its variable, or default.

    Raise ValueError if there are errors, since no config holds then.
    """
    if seen.config is None or seen.facts is None:
        raise ValueError("the config has errors")
    return "".join(_mapping(seen.config, (), 0, seen))


def _mapping(value: Any, path: KeyPath, depth: int, seen: Inspection) -> Iterator[str]:
    hints = typing.get_type_hints(type(value), include_extras=True)
    for field in dataclasses.fields(value):
        key = field.name.rstrip("_")
        yield from _entry(
            f"{'  ' * depth}{key}:", getattr(value, field.name), hints[field.name], (*path, key), depth, seen
        )


def _entry(head: str, value: Any, hint: Any, path: KeyPath, depth: int, seen: Inspection) -> Iterator[str]:
    if dataclasses.is_dataclass(value):
        yield f"{head}\n"
        yield from _mapping(value, path, depth + 1, seen)
    elif isinstance(value, dict) and value:
        yield f"{head}\n"
        inner = typing.get_args(_plain(hint, dict))[1]
        for key, item in value.items():
            yield from _entry(f"{'  ' * (depth + 1)}{_text(key)}:", item, inner, (*path, key), depth + 1, seen)
    elif isinstance(value, tuple) and value and _is_list(hint):
        yield f"{head}\n"
        inner = typing.get_args(_plain(hint, tuple))[0]
        for index, item in enumerate(value):
            here = (*path, index)
            dash = f"{'  ' * (depth + 1)}-"
            if dataclasses.is_dataclass(item):
                lines = list(_mapping(item, here, depth + 2, seen))
                yield f"{dash} {lines[0].lstrip()}"
                yield from lines[1:]
            else:
                yield from _entry(dash, item, inner, here, depth + 1, seen)
    else:
        shown = _MASKED if _from_secret(path, seen) and not _has(hint, t.Sha256) else _scalar(value, hint, path)
        yield f"{head} {shown}  # {_origin(path, seen)}\n"


def _from_secret(path: KeyPath, seen: Inspection) -> bool:
    """Return whether a variable with the name of a credential is in the value."""
    touched = seen.touched.get(path)
    return touched is not None and any(_SECRET_NAME.search(name) for name in touched.names)


def _is_list(hint: Any) -> bool:
    return _plain(hint, tuple) is not None and ... in typing.get_args(_plain(hint, tuple))


def _plain(hint: Any, wanted: type) -> Any:
    """Return the list or mapping type inside ``hint``."""
    if typing.get_origin(hint) is wanted:
        return hint
    if typing.get_origin(hint) is typing.Annotated and wanted is tuple:
        return None  # a scalar whose value is a pair
    for inner in typing.get_args(hint):
        if (found := _plain(inner, wanted)) is not None:
            return found
    return None


def _scalar(value: Any, hint: Any, path: KeyPath) -> str:
    if isinstance(value, Secret):
        return _MASKED
    if value is None:
        return "null"
    if isinstance(value, tuple | dict) and not value:
        return "[]" if isinstance(value, tuple) else "{}"
    if len(path) > 1 and path[-2] == "headers" and ("auth" in str(path[-1]).lower() or "key" in str(path[-1]).lower()):
        return _MASKED
    for kind, write in _WRITERS:
        if _has(hint, kind) and not isinstance(value, str):
            return write(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return _text(str(value))


def _has(hint: Any, kind: Any) -> bool:
    return hint == kind or any(_has(arm, kind) for arm in typing.get_args(hint) if typing.get_origin(hint) is not tuple)


def _text(value: str) -> str:
    shown = redact(value)
    simple = shown.replace("-", "").replace("_", "").replace("/", "").replace(".", "").isalnum()
    return shown if simple and shown[0].isalpha() and _is_word(shown) else json.dumps(shown, ensure_ascii=False)


def _is_word(text: str) -> bool:
    from edgeinf.core.config.scalars import resolve, trap

    return isinstance(resolve(text), str) and trap(text) is None


def _size(value: int) -> str:
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value and value % scale == 0:
            return f"{value // scale}{unit}"
    return f"{value}B"


def _duration(value: float) -> str:
    text = format_duration(value)
    return text if math.isinf(value) or not text.endswith("ms") else f"{value * 1000:g}ms"


def _rate(value: tuple[float, float]) -> str:
    return f"{value[0]:g}/{ {1.0: 's', 60.0: 'min', 3600.0: 'h', 86400.0: 'd'}[value[1]] }"


_WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (t.Duration, _duration),
    (t.HedgeDelay, _duration),
    (t.Size, _size),
    (t.Rate, _rate),
    (t.Percentage, lambda value: f"{value * 100:g}%"),
    (t.Date, lambda value: f'"{date.isoformat(value)}"'),
    (t.FilePath, lambda value: _text(str(Path(value)))),
)


def _origin(path: KeyPath, seen: Inspection) -> str:
    for length in range(len(path), 0, -1):
        above = path[:length]
        if above in seen.origins:
            return seen.origins[above]
        if above in seen.touched:
            return " ".join(f"${{{name}}}" for name in seen.touched[above].names) + _line(above, seen)
        if length == len(path) and above in seen.source.sites:
            return f"{seen.source.name}{_line(above, seen)}"
    return "default"


def _line(path: KeyPath, seen: Inspection) -> str:
    site = seen.source.sites.get(path)
    return f":{site.value.line}" if site is not None else ""
