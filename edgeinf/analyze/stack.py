"""LRU stack distances of a whole trace in one pass, exactly (Mattson et al. 1970): one run answers every capacity.

An access with previous access ``p`` of its key finds it in a cache of C entries if fewer than C other keys were used
since. Those are the accesses ``j`` in between whose own previous access lies before ``p``; counting them is counting
earlier smaller values, done here for all accesses at once, bit by bit of the value (as a wavelet matrix would).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeinf.analyze.dense import Ids, order_of

__all__ = ["FIRST", "previous", "stack_distances"]

Index = npt.NDArray[np.int32]
FIRST = -1


def previous(ids: Ids, order: Index | None = None) -> Index:
    """Return for each access the place of the one before it with the same id, or FIRST. ``order`` is that by id and
    then time, if it is known."""
    if order is None:
        order = order_of(ids)
    again = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    before = np.full(len(ids), FIRST, np.int32)
    before[order[again + 1]] = order[again]
    return before


def stack_distances(before: Index) -> Index:
    """Return for each access how many other keys were used since its key was; FIRST for a key's first access."""
    distances = np.full(len(before), FIRST, np.int32)
    repeats = np.flatnonzero(before >= 0).astype(np.int32)
    if not len(repeats):
        return distances
    values = before[repeats]
    found = _earlier_smaller(values)
    found -= values
    del values
    found += repeats
    found -= np.arange(1, len(repeats) + 1, dtype=np.int32)  # those before it that are no first accesses, and its own
    distances[repeats] = found
    return distances


def _earlier_smaller(values: Index) -> Index:
    """Return for each of distinct values how many earlier ones are smaller.

    Those that agree in the bits looked at so far stand together, in order of time; ``start`` is where they begin. An
    element with a one is larger than those before it in its group with a zero. Then all zeros move before all ones.
    """
    n = len(values)
    start, count = np.zeros(n, np.int32), np.zeros(n, np.int32)
    order = np.arange(n, dtype=np.int32)
    zeros = np.zeros(n + 1, np.int32)  # before each place
    moved = np.empty(n, np.intp)
    for bit in range(int(values.max()).bit_length() - 1, -1, -1):
        ones = (values & np.int32(1 << bit)).astype(bool)
        none = ~ones
        np.cumsum(none, out=zeros[1:])
        outside = zeros[start]
        behind = zeros[:-1] - outside
        behind *= ones
        count += behind
        del behind
        start -= outside
        start += zeros[-1]
        np.copyto(start, outside, where=none)
        del outside
        moved[: zeros[-1]] = np.flatnonzero(none)
        moved[zeros[-1] :] = np.flatnonzero(ones)
        values = values[moved]  # one after the other, so that only one of them is there twice
        start = start[moved]
        count = count[moved]
        order = order[moved]
    found = np.empty(n, np.int32)
    found[order] = count
    return found
