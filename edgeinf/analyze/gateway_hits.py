"""What other tools' keys would have hit on the same log."""

from __future__ import annotations

import msgspec
import numpy as np

from edgeinf.analyze.columns import FAILED
from edgeinf.analyze.dense import densify
from edgeinf.analyze.gateways import by_name
from edgeinf.analyze.gateways.base import Gateway
from edgeinf.analyze.log import Log
from edgeinf.analyze.scopes import callers
from edgeinf.analyze.simulate import grouped, simulate

__all__ = ["GatewayHits", "gateway_hits"]


class GatewayHits(msgspec.Struct, frozen=True):
    """One tool's hits under its approximate key, with the same time to live as everything else."""

    gateway: Gateway
    hits: int
    hit_rate: float


def gateway_hits(log: Log, ttl_s: float) -> list[GatewayHits]:
    """Return the hits of every gateway whose keys were asked for."""
    found = []
    for name, keys in log.gates.items():
        gateway = by_name(name)
        rows = np.flatnonzero(keys)
        chosen = keys[rows]
        if gateway.scope == "key":
            chosen = chosen ^ callers(log)[rows]
        ids, _ = densify(chosen)
        storable = ~log.has(FAILED)[rows]
        at = None if log.at is None else log.at[rows]
        running = None if log.latency is None or at is None else np.nan_to_num(log.latency[rows]) / np.float32(1000)
        hits = int(simulate(grouped(ids, storable, at, running), ttl_s).hit.sum())
        found.append(GatewayHits(gateway, hits, hits / log.rows))
    return found
