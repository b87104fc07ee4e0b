"""The other processes, as one of them sees them."""

from __future__ import annotations

from typing import Protocol

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.fleet.purge import Purge
from edgeinf.serve.flight import Flight

__all__ = ["Alone", "Peers", "SharedFlights"]


class Peers(Protocol):
    """Asks and tells the other processes; what cannot be reached is left out."""

    async def snapshots(self, *, rows: bool, slots: bool) -> list[bytes]:
        """Return the encoded snapshot of each other process of this host."""
        ...

    async def purge(self, purge: Purge) -> int:
        """Have all others, on this host and elsewhere, forget answers; return how many they say they had."""
        ...

    def issued(self, digests: list[bytes], region: str, account: str) -> None:
        """Tell the other processes of this host who issued the names with these digests; returns at once."""
        ...


class SharedFlights(Protocol):
    """One fetch for equal questions, over processes."""

    async def board(self, x: Exchange, flight: Flight, find: bytes) -> bool:
        """Return True where the flight was filled by what another process fetched or stored; False to fetch it here.

        A False is a lead: ``land`` must follow.
        """
        ...

    def land(self, flight: Flight, find: bytes) -> None:
        """Say that this process has fetched; returns at once."""
        ...


class Alone:
    """There is nobody else."""

    async def snapshots(self, *, rows: bool, slots: bool) -> list[bytes]:
        return []

    async def purge(self, purge: Purge) -> int:
        return 0

    def issued(self, digests: list[bytes], region: str, account: str) -> None: ...
