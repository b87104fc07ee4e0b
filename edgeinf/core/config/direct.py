"""Make the config of a start without a file from a few flags, with the same readers but no validation library.

``check`` would give the same values in ten times the time; a test holds the two together. Whatever is not plain
sailing here (an unknown key, a bad value, a rule that objects) is left to ``check``, which has the words for it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgeinf.core.config.rules.access import is_loopback
from edgeinf.core.config.scalar import Bad, Scalar
from edgeinf.core.config.schema import Config

__all__ = ["build"]


class _Elsewhere(Exception):
    """This is not for the short way."""


def build(flags: Mapping[str, Any], *, base: Path, insecure: bool) -> Config | None:
    """Return the config with ``flags`` over the defaults, or None if the long way must decide."""
    config = Config()
    try:
        for key, value in flags.items():
            config = _set(config, key.split("."), value, base)
    except (_Elsewhere, Bad):
        return None
    safe = set(flags) <= {"listen.host", "listen.port"} and (insecure or is_loopback(config.listen.host))
    return config if safe or _harmless(config, insecure) else None


def _harmless(config: Config, insecure: bool) -> bool:
    """Return whether no error rule objects; the rules need no validation library either."""
    from edgeinf.core.config.rule import Facts, run
    from edgeinf.core.config.rules.registry import ERRORS

    return next(iter(run(ERRORS, Facts(config=config, insecure=insecure))), None) is None


def _set(at: Any, path: list[str], value: Any, base: Path) -> Any:
    if not any(field.name == path[0] for field in dataclasses.fields(at)):
        raise _Elsewhere
    if len(path) > 1:
        inner = getattr(at, path[0])
        if not dataclasses.is_dataclass(inner):
            raise _Elsewhere
        return dataclasses.replace(at, **{path[0]: _set(inner, path[1:], value, base)})
    hint = typing.get_type_hints(type(at), include_extras=True)[path[0]]
    return dataclasses.replace(at, **{path[0]: _made(hint, value, base)})


def _made(hint: Any, value: Any, base: Path) -> Any:
    """Return ``value`` as the schema has it: scalars, booleans, literals, lists of them and of mappings."""
    if (
        typing.get_origin(hint) in (typing.Union, types.UnionType)
        and len(typing.get_args(hint)) == 2
        and value is not None
    ):
        hint = typing.get_args(hint)[0]  # T | None
    if typing.get_origin(hint) is typing.Annotated:
        readers = [m for m in hint.__metadata__ if isinstance(m, Scalar)]
        if not readers:
            raise _Elsewhere
        return readers[0].read(value, base)
    if hint is bool and isinstance(value, bool):
        return value
    if typing.get_origin(hint) is typing.Literal and value in typing.get_args(hint):
        return value
    if typing.get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_made(typing.get_args(hint)[0], item, base) for item in value)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, dict):
        hints = typing.get_type_hints(hint, include_extras=True)
        if not set(value) <= set(hints):
            raise _Elsewhere
        try:
            return hint(**{key: _made(hints[key], item, base) for key, item in value.items()})
        except TypeError:  # a key that is needed is missing
            raise _Elsewhere from None
    raise _Elsewhere
