"""All error rules, in the order of their codes."""

from __future__ import annotations

from edgeinf.core.config.rule import Rule
from edgeinf.core.config.rules import access, files, limits, names, prompts, routing, timing, urls

__all__ = ["ERRORS"]

ERRORS: tuple[Rule, ...] = (
    *names.RULES,
    *access.RULES,
    *timing.RULES,
    *limits.RULES,
    *urls.RULES,
    *files.RULES,
    *prompts.RULES,
    *routing.RULES,
)
