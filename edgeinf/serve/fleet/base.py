"""The other processes, as one of them sees them."""

from __future__ import annotations

from typing import Protocol

from edgeinf.serve.fleet.purge import Purge

__all__ = ["Alone", "Peers"]


class Peers(Protocol):
    """Asks and tells the other processes; what cannot be reached is left out."""

    async def snapshots(self, *, rows: bool, slots: bool) -> list[bytes]:
        """Return the encoded snapshot of each other process of this host."""
        ...

    async def purge(self, purge: Purge) -> int:
        """Have all others, on this host and elsewhere, forget answers; return how many they say they had."""
        ...


class Alone:
    """There is nobody else."""

    async def snapshots(self, *, rows: bool, slots: bool) -> list[bytes]:
        return []

    async def purge(self, purge: Purge) -> int:
        return 0
