"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

__all__ = ["Rule"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A named text rule; ``apply`` is pure and idempotent and sees only text outside code fences."""

    name: str
    apply: Callable[[str], str]
    changes_meaning: bool
