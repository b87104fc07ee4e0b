"""Print the page of a rule: what, why, an example and what to write instead."""

from __future__ import annotations

from typing import Any

from edgeinf.core.config.diagnostic import DOCS
from edgeinf.core.config.rule import Rule
from edgeinf.validate.check import codes
from edgeinf.validate.rules.registry import ALL

__all__ = ["document", "explain", "page"]


def explain(code: str) -> str:
    """Return the page of ``code``, or with ``all`` the list of titles. Raise UsageError for an unknown one."""
    if code == "all":
        return "".join(f"{rule.code}  {rule.severity:<7}  {rule.title}\n" for rule in ALL.values())
    return "\n".join(page(rule) for rule in _meant(code))


def document(code: str) -> dict[str, Any]:
    """Return the same as a document. Raise UsageError for an unknown code."""
    fields = ("code", "severity", "title", "why", "example", "instead")
    rules = ALL.values() if code == "all" else _meant(code)
    return {
        "codes": [{**{f: getattr(rule, f) or None for f in fields}, "docs": f"{DOCS}{rule.code}"} for rule in rules]
    }


def _meant(code: str) -> list[Rule]:
    wanted = code.upper()
    codes([wanted])
    return [rule for found, rule in ALL.items() if found.startswith(wanted)]


def page(rule: Rule) -> str:
    """Return one page as plain text."""
    parts = [f"{rule.code} ({rule.severity}): {rule.title}", "", rule.why]
    if rule.example:
        parts += ["", "for example", _indented(rule.example)]
    if rule.instead:
        parts += ["", "instead", _indented(rule.instead)]
    if rule.severity != "error":
        parts += ["", f"silence it where it is with  # edgeinf: ignore[{rule.code}]"]
    parts += ["", f"docs: {DOCS}{rule.code}", ""]
    return "\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
