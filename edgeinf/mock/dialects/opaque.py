"""What no dialect claims: an echo under ``/echo``, 404 in the OpenAI family's form elsewhere."""

from __future__ import annotations

from edgeinf.mock.dialects.base import Memory, openai_error
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Send the body back, or refuse the path."""
    if "/echo" in ask.path:
        kind = ask.header(b"content-type") or "application/octet-stream"
        return Plan(pieces=(Piece(Kind.WHOLE, ask.body),), content_type=kind)
    message = f"unknown request URL: {ask.method} {ask.path}"
    return Plan(pieces=(Piece(Kind.WHOLE, error(404, message, "invalid_request_error")),), status=404)
