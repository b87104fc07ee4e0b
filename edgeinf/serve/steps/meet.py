"""Where does the client come from? Before anything else is known of it."""

from __future__ import annotations

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.generation import Generation
from edgeinf.serve.guard.clients import address_of

__all__ = ["meet"]


def meet(x: Exchange, generation: Generation) -> None:
    """Set the client's address and turn away clients that are not served. Raise CallError 403."""
    if generation.trusted_proxies:
        x.address = address_of(x, generation.trusted_proxies)
    if generation.clients:
        generation.clients.admit(x)
