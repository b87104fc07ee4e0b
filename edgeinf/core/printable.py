"""Foreign text on its way to a terminal: what a log or a server says must not steer it."""

from __future__ import annotations

__all__ = ["printable"]

_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\ufffd")
_CONTROLS |= {ord("\n"): "\n", ord("\t"): "\t", ord("\r"): ""}


def printable(text: str) -> str:
    """Return a text with a mark in the place of each control character; lines and tabs are kept."""
    return text if text.isprintable() else text.translate(_CONTROLS)
