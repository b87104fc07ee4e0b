"""What did the call cost, and what did the cache save?"""

from __future__ import annotations

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.price_book import PriceBook

__all__ = ["billed", "price"]


def billed(x: Exchange) -> tuple[str | None, ...]:
    """Return the models by whose price a call is charged, the first that is known: a fallback model is its own."""
    flight, asked = x.flight, None if x.call is None else x.call.model
    if flight is None:
        return asked, x.answered_by
    return (flight.fallback,) if flight.fallback is not None else (asked, flight.model)


def price(x: Exchange, book: PriceBook, now: float) -> None:
    """Set USD spent and saved, where the answer's use and its price are known. A hit costs nothing."""
    if x.call is None or x.dialect is None:
        return
    usd = book.usd(billed(x), x.usage, now)
    if x.cache in ("hit", "collapsed", "stale"):
        x.usd, x.usd_saved = 0.0, usd
    else:
        x.usd = usd
        if x.parts is not None:
            saved = [book.usd(billed(x), hit.entry.usage, now) for hit in x.parts.found if hit is not None]
            x.usd_saved = sum(one for one in saved if one is not None) if saved else None
