"""Every rule and page by its code."""

from __future__ import annotations

from edgeinf.core.config.rule import Rule
from edgeinf.core.config.rules.registry import ERRORS
from edgeinf.validate.foreign import pages
from edgeinf.validate.rules import (
    access,
    asking,
    caching,
    form,
    guarding,
    limits,
    models,
    prices,
    routing,
    secrets,
    timing,
    urls,
)

__all__ = ["ALL", "WARNINGS"]

WARNINGS: tuple[Rule, ...] = (
    *secrets.RULES,
    *access.RULES,
    *timing.RULES,
    *limits.RULES,
    *urls.RULES,
    *models.RULES,
    *caching.RULES,
    *guarding.RULES,
    *prices.RULES,
    *routing.RULES,
)
"""What ``validate`` adds to the errors that ``serve`` knows."""

ALL: dict[str, Rule] = {rule.code: rule for rule in (*form.RULES, *ERRORS, *WARNINGS, *asking.RULES, *pages.RULES)}
