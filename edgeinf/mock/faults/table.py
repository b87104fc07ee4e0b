"""The table of faults: a new fault is one function and one line here.

A function's keyword parameters are the fault's arguments; one that ends in ``_s`` is a duration and is written
without that ending (``stall;for=2s``). Faults on shapes run first, then those that replace the answer, then
those of the bytes and the connection, each group in the order given.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from edgeinf.core.errors import UsageError
from edgeinf.core.units import parse_duration
from edgeinf.mock.faults import answers, shapes, spelling, wire
from edgeinf.mock.faults.context import Context
from edgeinf.mock.script import Fault, Shape

__all__ = ["FAULTS", "apply", "checked", "reshape"]

_SHAPES: dict[str, Callable[..., Shape]] = {
    "empty-choices": shapes.empty_choices,
    "no-done": shapes.no_done,
    "no-finish": shapes.no_finish,
    "finish-first-only": shapes.finish_first_only,
    "finish": shapes.finish,
    "usage": shapes.usage,
    "hidden-reasoning": shapes.hidden_reasoning,
    "fat": shapes.fat,
    "no-role": shapes.no_role,
}
_ANSWERS: dict[str, Callable[..., None]] = {
    "status": answers.status,
    "soft-error": answers.soft_error,
    "malformed": answers.malformed,
    "redirect": answers.redirect,
    "html": answers.html,
    "garbage": answers.garbage,
}
_WIRE: dict[str, Callable[..., None]] = {
    "comment": spelling.comment,
    "fields": spelling.fields,
    "junk-tail": spelling.junk_tail,
    "no-blank": spelling.no_blank,
    "crlf": spelling.crlf,
    "cr": spelling.cr,
    "bom": spelling.bom,
    "cut": wire.cut,
    "truncate": wire.truncate,
    "reset": wire.reset,
    "stall": wire.stall,
    "gzip": spelling.gzip,
    "split": spelling.split,
    "slow-headers": wire.slow_headers,
    "length": wire.length,
    "eof": wire.eof,
    "close": wire.close,
    "freeze": wire.freeze,
    "down": wire.down,
}
FAULTS: dict[str, Callable[..., Any]] = {**_SHAPES, **_ANSWERS, **_WIRE}


def reshape(shape: Shape, faults: tuple[Fault, ...]) -> Shape:
    """Apply the faults on shapes."""
    for fault in faults:
        if fault.kind in _SHAPES:
            shape = _SHAPES[fault.kind](shape, **fault.arguments)
    return shape


def apply(context: Context, faults: tuple[Fault, ...]) -> None:
    """Apply the faults that edit the planned answer."""
    for table in (_ANSWERS, _WIRE):
        for fault in faults:
            if fault.kind in table:
                table[fault.kind](context, **fault.arguments)


def checked(kind: str, arguments: Mapping[str, Any]) -> Fault:
    """Return a fault with typed arguments. A number from 400 to 599 is a status. Raise UsageError otherwise."""
    if kind.isdigit() and 400 <= int(kind) <= 599:
        return replace(
            checked("status", arguments), arguments={**checked("status", arguments).arguments, "status": int(kind)}
        )
    if kind not in FAULTS:
        near = difflib.get_close_matches(kind, FAULTS, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"one of: 400 to 599, {', '.join(FAULTS)}"
        raise UsageError(f"there is no fault {kind!r}", hint=hint)
    parameters = _parameters(kind)
    typed = {}
    for name, value in arguments.items():
        key = name.replace("-", "_")
        key = key if key in parameters else f"{key}_s"
        if key not in parameters:
            names = ", ".join(p.removesuffix("_s") for p in parameters) or "none"
            raise UsageError(f"the fault {kind!r} has no argument {name!r}", hint=f"its arguments: {names}")
        typed[key] = _typed(kind, name, value, key, str(parameters[key].annotation))
    missing = [n for n, p in parameters.items() if p.default is p.empty and n not in typed]
    if missing:
        raise UsageError(f"the fault {kind!r} needs {missing[0]!r}", hint=f"{kind};{missing[0]}=…")
    return Fault(kind=kind, arguments=typed)


def _parameters(kind: str) -> dict[str, inspect.Parameter]:
    signature = inspect.signature(FAULTS[kind])
    return {n: p for n, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY}


def _typed(kind: str, name: str, value: Any, key: str, annotation: str) -> Any:
    try:
        if key.endswith("_s"):
            seconds = parse_duration(value) if isinstance(value, str) else float(value)
            return -1.0 if math.isinf(seconds) else seconds
        if annotation.startswith("bool"):
            return value if isinstance(value, bool) else {"": True, "true": True, "false": False}[str(value)]
        if annotation.startswith("int"):
            return int(value)
    except (ValueError, KeyError) as error:
        raise UsageError(f"{name}={value!r} does not fit the fault {kind!r}") from error
    return str(value)
