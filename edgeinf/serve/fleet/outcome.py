"""How an answer ended that another process fetched: what those who follow it must be told."""

from __future__ import annotations

import msgspec

from edgeinf.core.call import Usage
from edgeinf.core.errors import CallError
from edgeinf.serve.flight import Flight

__all__ = ["Outcome"]


class Outcome(msgspec.Struct, array_like=True, frozen=True):
    """The end of a flight. ``failure`` is message, status and code."""

    unfit: str | None
    stored: bool
    region: str | None = None
    model: str | None = None
    usage: Usage = Usage()
    failure: tuple[str, int, str] | None = None

    @classmethod
    def of(cls, flight: Flight) -> Outcome:
        """Return how a flight ended."""
        failure = flight.failure
        return cls(
            unfit=flight.unfit,
            stored=flight.stored,
            region=flight.region,
            model=flight.model,
            usage=flight.usage,
            failure=None if failure is None else (failure.message, failure.status, failure.code),
        )

    def end(self, flight: Flight) -> None:
        """End a flight that followed in the same way."""
        flight.region, flight.model, flight.usage = self.region, self.model, self.usage
        flight.unfit, flight.stored = self.unfit, self.stored
        if self.failure is None:
            flight.finish()
        else:
            message, status, code = self.failure
            flight.fail(CallError(message, status=status, code=code))
