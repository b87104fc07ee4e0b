"""Validate plain values against the schema, all faults at once; the one file that knows pydantic.

Where there are faults, the values around them are still made into a config, so that the rules can say in the same
run what else is wrong: what is faulty is left out, with a note of what was left out where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from edgeinf.core.config import shape
from edgeinf.core.config.diagnostic import KeyPath, dotted, value_at
from edgeinf.core.config.interpolate import Touched
from edgeinf.core.config.scalar import Bad
from edgeinf.core.config.schema import Config

__all__ = ["Checked", "Fault", "check", "json_schema"]

_MAX_ROUNDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One value that the schema refuses. ``at_key`` says that the key is wrong, not the value."""

    code: str
    path: KeyPath
    message: str
    label: str | None = None
    help: str | None = None
    at_key: bool = False
    near: str | None = None
    """The key that an unknown one is probably meant to be."""
    missing: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The config as far as it can be made, its faults, and how its lists relate to the file's."""

    config: Config | None
    faults: tuple[Fault, ...]
    removed: frozenset[KeyPath] = frozenset()
    meant: frozenset[KeyPath] = frozenset()
    """Where a misspelt key was meant to be: its default is not what the file says."""
    indices: Mapping[KeyPath, list[int]] = field(default_factory=dict)
    """For each list with items left out: the file's index of each item that stayed."""


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Config)


def check(tree: dict[str, Any], *, base: Path, touched: Mapping[KeyPath, Touched] | None = None) -> Checked:
    """Return the config in ``tree``; files in it are relative to ``base``. Never raises on any values."""
    touched = touched or {}
    tree = _as_text(tree, touched, base)
    faults: tuple[Fault, ...] = ()
    removed: set[KeyPath] = set()
    for round_ in range(_MAX_ROUNDS):
        indices: dict[KeyPath, list[int]] = {}
        pruned = _prune(tree, (), removed, indices) if removed else tree
        config, errors = _validate(pruned, base)
        if config is not None:
            meant = frozenset((*f.path[:-1], f.near) for f in faults if f.near is not None)
            return Checked(config=config, faults=faults, removed=frozenset(removed), meant=meant, indices=indices)
        found = [(_original(_real(error["loc"], pruned), indices), error) for error in errors]
        if round_ == 0:
            faults = tuple(_without_echoes([_fault(path, error, tree, touched) for path, error in found]))
        removed |= {path for path, _ in found if path}
    return Checked(config=None, faults=faults, removed=frozenset(removed))


def _validate(tree: dict[str, Any], base: Path) -> tuple[Config | None, list[dict[str, Any]]]:
    from pydantic import ValidationError

    try:
        return _adapter().validate_json(json.dumps(tree), context={"base": base}), []
    except ValidationError as error:
        return None, list(error.errors(include_input=False, include_url=False))  # type: ignore[arg-type]


def _as_text(tree: dict[str, Any], touched: Mapping[KeyPath, Touched], base: Path) -> dict[str, Any]:
    """Give back its text to a plain scalar that a variable made a number where the schema wants text.

    A value that an empty default leaves empty counts as not written, where the schema does not take it.
    """
    texts = {
        p: t for p, t in touched.items() if t.plain and t.text is not None and not isinstance(value_at(tree, p), str)
    }
    blanks = {p for p, t in touched.items() if t.defaulted and t.text == "" and isinstance(p[-1], str)}
    if not texts and not blanks:
        return tree
    _, errors = _validate(tree, base)
    wrong = {_real(e["loc"], tree) for e in errors if e["type"] not in ("unexpected_keyword_argument", "missing")}
    for path in wrong & set(texts):
        value_at(tree, path[:-1])[path[-1]] = texts[path].text
    for path in wrong & blanks:
        del value_at(tree, path[:-1])[path[-1]]
    return tree


def _real(loc: Iterable[str | int], tree: Any) -> KeyPath:
    """Return the part of pydantic's path that is in the tree: it names union arms and absent keys besides."""
    path: list[str | int] = []
    for part in loc:
        if isinstance(tree, dict) and part in tree:
            tree = tree[str(part)]
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def _prune(value: Any, path: KeyPath, removed: set[KeyPath], indices: dict[KeyPath, list[int]]) -> Any:
    if isinstance(value, dict):
        return {k: _prune(v, (*path, k), removed, indices) for k, v in value.items() if (*path, k) not in removed}
    if isinstance(value, list):
        stay = [i for i in range(len(value)) if (*path, i) not in removed]
        if len(stay) < len(value):
            indices[path] = stay
        return [_prune(value[i], (*path, i), removed, indices) for i in stay]
    return value


def _original(path: KeyPath, indices: Mapping[KeyPath, list[int]]) -> KeyPath:
    """Return the path in the file for a path in what was left after pruning."""
    if not indices:
        return path
    out: KeyPath = ()
    for part in path:
        stay = indices.get(out) if isinstance(part, int) else None
        out = (*out, stay[part] if stay is not None and isinstance(part, int) else part)
    return out


def _without_echoes(faults: list[Fault]) -> list[Fault]:
    """Drop a missing key where a key beside it is that very one misspelt."""
    meant = {(f.path[:-1], f.near) for f in faults if f.near is not None}
    return [f for f in faults if not (f.code == "E105" and (f.path, f.missing) in meant)]


def _fault(path: KeyPath, error: dict[str, Any], tree: dict[str, Any], touched: Mapping[KeyPath, Touched]) -> Fault:
    kind, context = error["type"], error.get("ctx", {})
    value = value_at(tree, path)
    origin = touched.get(path)
    bad = context.get("error")
    name = dotted(path)
    if kind == "unexpected_keyword_argument":
        return _unknown_key(path, tree)
    if kind == "missing":
        key = str(error["loc"][-1])
        message = f'{name or "the file"} lacks the key "{key}"'
        return Fault(code="E105", path=path, message=message, help=f"add {key}: …", at_key=True, missing=key)
    if value is None and path:
        where = (
            "write its keys below it, or remove the line" if kind == "dataclass_type" else "give a value or remove it"
        )
        return Fault(code="E101", path=path, message=f"{name} is empty", help=where, at_key=True)
    if origin is not None and value == "" and not isinstance(bad, Bad | None):
        bad = None
    if origin is not None and value == "":
        message = f"{name} is empty, as the variable {' or '.join(origin.names)} is"
        return Fault(code="E202", path=path, message=message, help="set it, or remove the line")
    if isinstance(bad, Bad):
        return Fault(code=bad.code, path=path, message=_masked(f"{name}: {bad}", value, origin), help=bad.help)
    if kind == "literal_error":
        return _not_a_choice(path, value, context["expected"], origin)
    what = _WANTED.get(kind, error["msg"].lower())
    shown = _masked(_kind(value), value, origin)
    help = "write true or false" if kind == "bool_type" else "put it in quotes" if kind == "string_type" else None
    if kind == "dataclass_type" and (section := shape.section_at(tree, path)) is not None:
        help = f"its keys: {shape.listed(shape.keys_of(section))}"
    if kind == "tuple_type":
        help = "write [a, b], or one item per line after a dash"
    return Fault(code="E101", path=path, message=f"{name} must be {what}, not {shown}", help=help)


_WANTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "dataclass_type": "a mapping of keys",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
}


def _kind(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    return json.dumps(value, ensure_ascii=False)[:80]


def _masked(message: str, value: object, origin: Touched | None) -> str:
    """Show the expression, never what a variable holds: it may be a secret."""
    if origin is None or value is None or value == "":
        return message
    for shown in (repr(value), json.dumps(value, ensure_ascii=False), str(value)):
        if len(shown) > 1:
            message = message.replace(shown, origin.raw)
    return origin.hide(message)


def _unknown_key(path: KeyPath, tree: dict[str, Any]) -> Fault:
    key, parent = str(path[-1]), path[:-1]
    section = shape.section_at(tree, parent)
    allowed = shape.keys_of(section) if section is not None else []
    present = value_at(tree, parent)
    near = shape.nearest(key, [word for word in allowed if word not in (present or {})])
    home = None if near else shape.belongs(key, parent)
    label = f'did you mean "{near}"?' if near else f"{key} belongs under {home}" if home else None
    return Fault(
        code="E104",
        path=path,
        message=f'unknown key "{key}" {shape.where(parent)}',
        label=label,
        help=f"allowed here: {shape.listed(allowed)}" if allowed else None,
        at_key=True,
        near=near,
    )


def _not_a_choice(path: KeyPath, value: object, expected: str, origin: Touched | None) -> Fault:
    words = re.findall(r"'([^']*)'", expected) or re.split(r", | or ", expected)
    near = shape.nearest(value, words) if isinstance(value, str) else None
    return Fault(
        code="E102",
        path=path,
        message=_masked(f"{dotted(path)} cannot be {_kind(value)}", value, origin),
        label=f'did you mean "{near}"?' if near else None,
        help=f"one of: {shape.listed(words)}",
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the config as pydantic draws it."""
    schema: dict[str, Any] = _adapter().json_schema(by_alias=True)
    return schema
