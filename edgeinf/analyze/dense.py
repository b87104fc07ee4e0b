"""Give equal numbers equal small numbers, without the memory that a sort of everything would take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Hashes", "Ids", "densify", "mixed"]

Ids = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]

_BUCKETS = 16


def densify(hashes: Hashes) -> tuple[Ids, Hashes]:
    """Return (a small number per value, the distinct values): ``distinct[ids] == hashes``.

    Works through sixteen ranges of values in turn, so the temporary arrays are a sixteenth of the whole.
    """
    ids = np.empty(len(hashes), np.uint32)
    if len(hashes) < 1 << 16:
        distinct, inverse = np.unique(hashes, return_inverse=True)
        ids[:] = inverse
        return ids, distinct
    top = (hashes >> np.uint64(60)).astype(np.uint8)
    found: list[Any] = []
    base = 0
    for bucket in range(_BUCKETS):
        where = np.flatnonzero(top == bucket).astype(np.uint32)
        distinct, inverse = np.unique(hashes[where], return_inverse=True)
        ids[where] = inverse.astype(np.uint32) + np.uint32(base)
        base += len(distinct)
        found.append(distinct)
    return ids, np.concatenate(found)


def mixed(numbers: npt.NDArray[Any]) -> Hashes:
    """Return each number scattered over 64 bits (splitmix64, Steele et al. 2014), to be xor-ed into a hash."""
    x = numbers.astype(np.uint64)
    x += np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
