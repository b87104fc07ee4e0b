"""What did the call cost, and what did the cache save?"""

from __future__ import annotations

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.price_book import PriceBook

__all__ = ["price"]


def price(x: Exchange, book: PriceBook, now: float) -> None:
    """Set USD spent and saved, where the answer's use and its price are known. A hit costs nothing."""
    if x.call is None or x.dialect is None:
        return
    usd = book.usd((x.call.model, x.answered_by), x.usage, now)
    if x.cache in ("hit", "collapsed", "stale"):
        x.usd, x.usd_saved = 0.0, usd
    else:
        x.usd = usd
        if x.parts is not None:
            models = (x.call.model, x.answered_by)
            saved = [book.usd(models, hit.entry.usage, now) for hit in x.parts.found if hit is not None]
            x.usd_saved = sum(one for one in saved if one is not None) if saved else None
