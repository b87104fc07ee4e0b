"""Prices as the request path may ask for them: the data of other people's prices loads on a thread, once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

from edgeinf.core.call import Usage
from edgeinf.core.pricing import Override, Price, Prices

__all__ = ["PriceBook"]

# A price may change with the hour; until then one look-up per model and tier is enough.
_KEEP_S = 3600.0
_MODELS = 4096
# Providers that charge more for long inputs do so from here on, at the earliest.
_TIER_STEP = 32_000


class PriceBook:
    """Prices by model. The config's own are known at once; the others as soon as they are loaded."""

    def __init__(self, overrides: Mapping[str, Override | None]) -> None:
        self._own = frozenset(overrides)
        self._prices = Prices(overrides)
        self._known: dict[tuple[str, int], tuple[float, Price | None]] = {}
        self._loading: threading.Thread | None = None
        self._loaded = threading.Event()

    def usd(self, models: tuple[str | None, ...], usage: Usage, now: float) -> float | None:
        """Return what a call cost by the first model whose price is known; None where none is, or not yet."""
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        for model in models:
            price = None if model is None else self._price(model, usage.input_tokens or 0, now)
            if price is not None:
                return price.usd(usage)
        return None

    async def ready(self, model: str) -> None:
        """Wait until the price of a model is known as well as it ever will be."""
        if model not in self._own and not self._loaded.is_set():
            self._load()
            await asyncio.to_thread(self._loaded.wait)

    def _price(self, model: str, input_tokens: int, now: float) -> Price | None:
        if model not in self._own and not self._loaded.is_set():
            self._load()
            return None
        name = model, input_tokens // _TIER_STEP
        known = self._known.get(name)
        if known is None or now - known[0] > _KEEP_S:
            if len(self._known) >= _MODELS:
                self._known.clear()
            known = now, self._prices.price(model, at=now, input_tokens=input_tokens)
            self._known[name] = known
        return known[1]

    def _load(self) -> None:
        if self._loading is None:
            self._loading = threading.Thread(target=self._warm, name="edgeinf-prices", daemon=True)
            self._loading.start()

    def _warm(self) -> None:
        try:
            self._prices.warm()
        finally:
            self._loaded.set()
