"""Moderations: one verdict per input; a text with the word ``forbidden`` is flagged."""

from __future__ import annotations

from typing import Any

from edgeinf.mock.dialects.base import Memory, dump, openai_error, whole_plan
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Plan

__all__ = ["answer", "error"]

error = openai_error

_CATEGORIES = ("harassment", "hate", "illicit", "self-harm", "sexual", "violence")


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Judge each input."""
    given = ask.field("input", "")
    inputs = given if isinstance(given, list) and given and isinstance(given[0], str) else [given]
    results = [_verdict(item) for item in inputs] if shape.choices else []
    return whole_plan({"id": f"modr-{ask.identity}", "model": ask.model or "omni-moderation", "results": results})


def _verdict(item: Any) -> dict[str, Any]:
    flagged = "forbidden" in (item if isinstance(item, str) else dump(item).decode())
    return {
        "flagged": flagged,
        "categories": {name: flagged and name == "illicit" for name in _CATEGORIES},
        "category_scores": {name: 0.97 if flagged and name == "illicit" else 0.01 for name in _CATEGORIES},
    }
