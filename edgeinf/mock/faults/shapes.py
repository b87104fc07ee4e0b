"""Faults of what is said: they edit the shape before the dialect renders it."""

from __future__ import annotations

from dataclasses import replace

from edgeinf.mock.script import Shape

__all__ = [
    *("empty_choices", "fat", "finish", "finish_first_only", "hidden_reasoning"),
    *("no_done", "no_finish", "no_role", "usage"),
]


def empty_choices(shape: Shape) -> Shape:
    """Answer 200 with an empty list of choices or content."""
    return replace(shape, choices=False)


def no_done(shape: Shape) -> Shape:
    """Leave out the end marker ([DONE], message_stop, the terminal event)."""
    return replace(shape, end_marker=False)


def no_finish(shape: Shape) -> Shape:
    """Leave out every finish reason, and still send the end marker."""
    return replace(shape, finish_only=())


def finish_first_only(shape: Shape) -> Shape:
    """Finish only the choice with index 0 of several."""
    return replace(shape, finish_only=(0,))


def finish(shape: Shape, *, reason: str = "content_filter") -> Shape:
    """Finish for the given reason."""
    return replace(shape, finish=reason)


def usage(shape: Shape, *, mode: str = "none") -> Shape:
    """State the usage nowhere (none), on the last choice chunk (last-choice) or on every chunk (every)."""
    return replace(shape, usage=mode)


def hidden_reasoning(shape: Shape, *, tokens: int = 50, fat: int = 8) -> Shape:
    """Think ``tokens`` tokens without streaming them, then send ``fat`` tokens at once."""
    return replace(shape, hidden_reasoning=tokens, first_piece=fat)


def fat(shape: Shape, *, tokens: int = 8) -> Shape:
    """Send several tokens in the first piece."""
    return replace(shape, first_piece=tokens)


def no_role(shape: Shape) -> Shape:
    """Leave out the opening event (role chunk, message_start)."""
    return replace(shape, role_chunk=False)
