"""One finding about a config: what is wrong, exactly where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from edgeinf.core.printable import printable
from edgeinf.core.redact import redact

__all__ = ["DOCS", "Diagnostic", "KeyPath", "Related", "Severity", "Site", "Span", "dotted", "value_at"]

DOCS = "https://edgeinf.dev/docs/rules/"

Severity = Literal["error", "warning", "info", "unknown"]
KeyPath = tuple[str | int, ...]


class Span(NamedTuple):
    """A stretch of a file: 1-based lines, columns in code points, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Site(NamedTuple):
    """Where one value stands: its key (the item itself in a list) and the value."""

    key: Span
    value: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A second place that explains the finding."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding. ``span`` is None where the value came from elsewhere, which ``origin`` then names."""

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    path: KeyPath = ()
    label: str | None = None
    """What stands beside the caret."""
    help: str | None = None
    related: tuple[Related, ...] = ()
    origin: str | None = None

    def __post_init__(self) -> None:
        for name in ("message", "label", "help"):
            text = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, printable(redact(text)))

    @property
    def docs(self) -> str:
        """The address of the page on this code."""
        return DOCS + self.code

    @property
    def order(self) -> tuple[int, int, str]:
        """The sort key: by position, what has none first."""
        return (self.span.line, self.span.column, self.code) if self.span else (0, 0, self.code)


def dotted(path: KeyPath) -> str:
    """Write a path as people do: ``regions[0].timeouts.ttft``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def value_at(tree: Any, path: KeyPath) -> Any:
    """Return what stands at a path of plain values, or None."""
    for part in path:
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return None
    return tree
