"""Put variables into scalars, after parsing, so that no value can become structure.

``${NAME}``, ``${NAME:-default}`` (unset or empty), ``${NAME-default}`` (unset), ``${NAME:?message}``; a default may
hold variables itself. ``$${`` is a literal ``${``, and any other ``$`` stands for itself. A plain scalar is resolved
again afterwards, so that ``port: ${PORT:-8787}`` is a number; a quoted one stays text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath
from edgeinf.core.config.scalar import STAND_IN
from edgeinf.core.config.scalars import resolve
from edgeinf.core.config.source import Source

__all__ = ["Interpolated", "Touched", "interpolate", "read_env_file"]

_OPEN = re.compile(r"\$\$\{|\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_NESTING = 8
_LEAST_HIDDEN = 4  # a shorter value is no secret, and would be found in any word


@dataclass(frozen=True, slots=True)
class Touched:
    """A scalar that holds variables: as written, and the text they made of it (None if one is unset)."""

    raw: str
    plain: bool
    names: tuple[str, ...]
    text: str | None = field(repr=False)
    defaulted: bool
    values: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def hide(self, message: str) -> str:
        """Return ``message`` with variables as they are written: what they hold may be a secret, whatever the field."""
        if self.text and len(self.text) >= _LEAST_HIDDEN:
            message = message.replace(self.text, self.raw)
        for name, value in self.values:
            if len(value) >= _LEAST_HIDDEN:
                message = message.replace(value, f"${{{name}}}")
        return message


@dataclass(slots=True)
class Interpolated:
    """The values after interpolation, and what happened on the way."""

    tree: dict[str, Any]
    touched: dict[KeyPath, Touched] = field(default_factory=dict)
    faults: list[Diagnostic] = field(default_factory=list)


class _Unset(Exception):
    def __init__(self, name: str, message: str | None) -> None:
        super().__init__(name)
        self.name = name
        self.message = message


class _Malformed(Exception):
    pass


def interpolate(source: Source, env: Mapping[str, str] | None) -> Interpolated:
    """Return the source's values with variables from ``env``; with None none is asked for (a check without secrets)."""
    result = Interpolated(tree=_copy(source.tree))
    for path, raw in source.raws.items():
        if "${" not in raw.text or path not in source.sites or not _has(result.tree, path):
            continue
        reader = _Reader(env)
        value: Any = STAND_IN
        text: str | None = None
        fault: tuple[str, str, str | None] | None = None
        try:
            text = reader.expand(raw.text)
            value = resolve(text) if raw.plain else text
            if text == "" and not (raw.plain and reader.defaulted):
                value = ""
        except _Unset as unset:
            if env is not None:
                fault = ("E201", _unset_message(unset), _unset_help(unset, env))
        except _Malformed as malformed:
            fault = ("E203", str(malformed), "write ${NAME}, ${NAME:-default} or ${NAME:?message}; $${ is a literal ${")
        if not reader.names and fault is None:
            _set(result.tree, path, value if not raw.plain else text)
            continue
        result.touched[path] = Touched(
            raw.text, raw.plain, tuple(reader.names), text, reader.defaulted, tuple(reader.found.items())
        )
        _set(result.tree, path, value)
        if fault is not None:
            code, message, help = fault
            span = source.sites[path].value
            result.faults.append(
                Diagnostic(code=code, severity="error", message=message, span=span, path=path, help=help)
            )
    return result


def _unset_message(unset: _Unset) -> str:
    return f"the variable {unset.name} is not set" + (f": {unset.message}" if unset.message else "")


def _unset_help(unset: _Unset, env: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(unset.name, list(env), n=1, cutoff=0.8)
    if near:
        return f"did you mean {near[0]}?"
    return f"export {unset.name}=…, name an --env-file, or give a default: ${{{unset.name}:-…}}"


class _Reader:
    """Expand one scalar."""

    def __init__(self, env: Mapping[str, str] | None) -> None:
        self._env = env
        self.names: list[str] = []
        self.found: dict[str, str] = {}
        self.defaulted = False

    def expand(self, text: str, depth: int = 0) -> str:
        if depth > _MAX_NESTING:
            raise _Malformed("defaults are nested too deep")
        out: list[str] = []
        at = 0
        while (found := _OPEN.search(text, at)) is not None:
            out.append(text[at : found.start()])
            if found[0] == "$${":
                out.append("${")
                at = found.end()
                continue
            end = _closing(text, found.end())
            out.append(self._value(text[found.end() : end], depth))
            at = end + 1
        out.append(text[at:])
        return "".join(out)

    def _value(self, inner: str, depth: int) -> str:
        name = _NAME.match(inner)
        if name is None:
            raise _Malformed(f"${{{inner[:20]}}} does not start with a variable's name")
        if name[0] not in self.names:
            self.names.append(name[0])
        rest = inner[name.end() :]
        operator = rest[:2] if rest[:2] in (":-", ":?") else rest[:1]
        if operator not in ("", ":-", "-", ":?", "?"):
            raise _Malformed(f"${{{name[0]}{rest[:2]}…}} is not a form of a variable")
        argument = rest[len(operator) :]
        found = None if self._env is None else self._env.get(name[0])
        if found is not None and not (found == "" and operator[:1] == ":"):
            if any("\ud800" <= c <= "\udfff" for c in found) or "\0" in found:
                raise _Malformed(f"the variable {name[0]} is not UTF-8 text")
            self.found[name[0]] = found
            return found
        if operator.endswith("-"):
            self.defaulted = True
            return self.expand(argument, depth + 1)
        raise _Unset(name[0], argument if operator.endswith("?") else None)


def _closing(text: str, at: int) -> int:
    depth = 1
    for index in range(at, len(text)):
        if text[index] == "{" and text[index - 1] == "$":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return index
    raise _Malformed("${ is not closed by }")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _has(tree: Any, path: KeyPath) -> bool:
    for part in path:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _set(tree: Any, path: KeyPath, value: object) -> None:
    for part in path[:-1]:
        tree = tree[part]
    tree[path[-1]] = value


def read_env_file(text: str) -> dict[str, str]:
    """Read ``NAME=value`` lines as shells and compose do: comments, ``export``, and quotes around a value."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        found = re.fullmatch(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*", line)
        if found is None:
            continue
        value = found[2]
        quoted = re.fullmatch(r"""(["'])(.*)\1""", value)
        values[found[1]] = quoted[2] if quoted else re.sub(r"\s+#.*$", "", value)
    return values
