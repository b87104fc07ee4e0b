"""What an answer says, whatever its shape: APIs write nothing in more than one way."""

from __future__ import annotations

from typing import Any

__all__ = ["said"]


def said(value: Any) -> Any:
    """Return a value without what is empty or absent in one shape of an answer only, and without event numbers."""
    if isinstance(value, dict):
        inner = {name: said(part) for name, part in value.items() if name != "sequence_number"}
        return {name: part for name, part in inner.items() if part not in (None, "", [], {})}
    return [said(part) for part in value] if isinstance(value, list) else value
