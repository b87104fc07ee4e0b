"""How a scalar of the config is read: the contract between a type here and pydantic, which nothing here imports.

So a start without a config does not pay for pydantic. A reader gets the plain value from the file and either
returns the runtime value or raises :class:`Bad`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["STAND_IN", "Bad", "ByShape", "Scalar", "Secret"]

STAND_IN = "\ue000unset\ue000"
"""What takes the place of an unset variable where none is asked for: every reader accepts it."""


class Bad(ValueError):
    """A scalar that cannot be read: ``code`` is the diagnostic's, ``allowed`` the closed list if there is one."""

    def __init__(self, message: str, *, code: str = "E106", help: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.help = help


class Secret:
    """A credential that no ``repr`` shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """Return the credential itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class Scalar:
    """A reader in the shape that pydantic asks for."""

    def __init__(self, read: Callable[[Any, Path], Any], schema: dict[str, Any], stand_in: object) -> None:
        self._read = read
        self._schema = schema
        self._stand_in = stand_in

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(
            lambda value, info: self.read(value, (info.context or {}).get("base") or Path())
        )

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        return dict(self._schema)

    def read(self, value: Any, base: Path) -> Any:
        """Return the runtime value of ``value``; files are relative to ``base``. Raise Bad."""
        return self._stand_in if value == STAND_IN else self._read(value, base)


class ByShape:
    """Choose between a scalar and a mapping by what is written, so that faults keep exact paths."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        scalar, mapping = get_args(source)
        return core_schema.tagged_union_schema(
            {"<scalar>": handler.generate_schema(scalar), "<mapping>": handler.generate_schema(mapping)},
            discriminator=lambda value: "<mapping>" if isinstance(value, dict) else "<scalar>",
        )
