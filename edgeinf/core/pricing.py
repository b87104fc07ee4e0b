"""What tokens cost, in USD per million, from the config or from the data of the ``genai-prices`` package.

The package's data is read from its installation; nothing is fetched. Importing it takes some 0.3 s, so it happens on
the first look-up that the config does not answer, or in :func:`Prices.warm`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from edgeinf.core.call import Usage

__all__ = ["Override", "Price", "Prices"]

_MILLION = 1_000_000


class Override(Protocol):
    """A price as the config gives it; ``None`` where it says nothing."""

    @property
    def input(self) -> float | None: ...
    @property
    def output(self) -> float | None: ...
    @property
    def cached_input(self) -> float | None: ...


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """USD per million tokens; ``None`` where unknown. ``source`` is config or genai-prices with its version."""

    input: float | None
    output: float | None
    cached: float | None = None
    cache_write: float | None = None
    source: str = ""

    def usd(self, usage: Usage) -> float | None:
        """Return what one call cost, or None where a count or a price that it needs is unknown.

        Input that came from the origin's cache, or went into it, costs its own price, else that of other input.
        """
        read, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = None if usage.input_tokens is None else max(0, usage.input_tokens - read - written)
        parts = (
            (plain, self.input),
            (read, self.input if self.cached is None else self.cached),
            (written, self.input if self.cache_write is None else self.cache_write),
            (0 if usage.output_tokens is None and not self.output else usage.output_tokens, self.output),
        )
        total = 0.0
        for tokens, price in parts:
            if tokens == 0:
                continue
            if tokens is None or price is None:
                return None
            total += tokens * price
        return total / _MILLION


class Prices:
    """Prices by model name. ``overrides`` are the config's: a model named there is never looked up elsewhere."""

    def __init__(self, overrides: Mapping[str, Override | None] | None = None) -> None:
        self._overrides = dict(overrides or {})
        self._found: dict[str, Any] = {}

    def price(self, model: str, *, at: float | None = None, input_tokens: int = 0) -> Price | None:
        """Return the price of a model at a time (seconds since the epoch; now if None), or None where unknown.

        Some providers charge more per token when the input is long; ``input_tokens`` picks the tier.
        """
        if model in self._overrides:
            own = self._overrides[model]
            if own is None:
                return None
            return Price(input=own.input, output=own.output, cached=own.cached_input, source="config")
        if model not in self._found:
            self._found[model] = _look_up(model)
        found = self._found[model]
        if found is None:
            return None
        when = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
        table = found.get_prices(when)

        def per_million(name: str) -> float | None:
            value = getattr(table, name, None)
            for tier in getattr(value, "tiers", ()):
                if input_tokens > tier.start:
                    value = tier.price
            value = getattr(value, "base", value)
            return None if value is None else float(value)

        return Price(
            input=per_million("input_mtok"),
            output=per_million("output_mtok"),
            cached=per_million("cache_read_mtok"),
            cache_write=per_million("cache_write_mtok"),
            source="genai-prices",
        )

    def usd(self, model: str, usage: Usage, *, at: float | None = None) -> float | None:
        """Return what a call of this model cost, or None where unknown."""
        found = self.price(model, at=at, input_tokens=usage.input_tokens or 0)
        return None if found is None else found.usd(usage)

    def warm(self) -> None:
        """Load the data; call it in a thread where a first look-up must not wait."""
        _look_up("gpt-4o")


def _look_up(model: str) -> Any:
    """Return the package's entry for a model, trying ``provider/model`` as it is and taken apart."""
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    provider, _, bare = model.rpartition("/")
    for name, provider_id in ((model, None), (bare, provider or None), (bare, None), (bare, "openai")):
        try:
            return snapshot.find_provider_model(name, None, provider_id, None)[1]
        except LookupError:
            continue
    return None
