"""What no dialect claims: 404, in the OpenAI family's form."""

from __future__ import annotations

from edgeinf.mock.dialects.base import Memory, openai_error
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Refuse an unknown path."""
    message = f"unknown request URL: {ask.method} {ask.path}"
    return Plan(pieces=(Piece(Kind.WHOLE, error(404, message, "invalid_request_error")),), status=404)
