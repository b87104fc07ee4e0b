"""LRU stack distances of a whole trace in one pass, exactly (Mattson et al. 1970): one run answers every capacity.

An access with previous access ``p`` of its key finds it in a cache of C entries if fewer than C other keys were used
since. Those are the accesses ``j`` in between whose own previous access lies before ``p``; counting them is counting
earlier smaller values, done here for all accesses at once, bit by bit of the value (as a wavelet matrix would).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeinf.analyze.dense import Ids

__all__ = ["FIRST", "previous", "stack_distances"]

Index = npt.NDArray[np.int32]
FIRST = -1


def previous(ids: Ids, order: Index | None = None) -> Index:
    """Return for each access the place of the one before it with the same id, or FIRST. ``order`` is that by id and
    then time, if it is known."""
    if order is None:
        order = np.argsort(ids, kind="stable").astype(np.int32)
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
    firsts_before = repeats - np.arange(len(repeats), dtype=np.int32)
    smaller = _earlier_smaller(values)
    distances[repeats] = firsts_before + smaller - values - 1
    return distances


def _earlier_smaller(values: Index) -> Index:
    """Return for each of distinct values how many earlier ones are smaller."""
    n = len(values)
    count = np.zeros(n, np.int32)
    order = np.arange(n, dtype=np.int32)  # grouped by the bits looked at so far, each group in order of time
    starts = np.zeros(1, np.int32)  # where each group begins
    for bit in range(int(values.max()).bit_length() - 1, -1, -1):
        ones = ((values[order] >> bit) & 1).astype(bool)
        zeros_before = np.cumsum(~ones, dtype=np.int32)
        lengths = np.append(starts[1:], np.int32(n)) - starts
        base = np.repeat(np.where(starts > 0, zeros_before[starts - 1], np.int32(0)), lengths)
        count[order[ones]] += zeros_before[ones] - base[ones]
        # A stable split of each group: its zeros first, then its ones.
        zeros_in_group = np.add.reduceat(~ones, starts, dtype=np.int32)
        # A zero goes to its group's start plus its rank among zeros; a one stays behind as many zeros as follow it.
        place = np.repeat(starts, lengths)
        place += zeros_before
        place -= base
        place -= 1
        np.copyto(
            place, np.arange(n, dtype=np.int32) + np.repeat(zeros_in_group, lengths) - (zeros_before - base), where=ones
        )
        moved = np.empty_like(order)
        moved[place] = order
        order = moved
        edges = np.column_stack((starts, starts + zeros_in_group)).ravel()  # in order; an empty part leaves two alike
        edges = edges[np.append(True, edges[1:] != edges[:-1])]
        starts = edges[: np.searchsorted(edges, n)]
    return count
