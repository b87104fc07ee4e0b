"""Give equal numbers equal small numbers, without the memory that a sort of everything would take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Hashes", "Ids", "densify", "mixed", "order_of"]

Ids = npt.NDArray[np.uint32]
Hashes = npt.NDArray[np.uint64]

_BUCKET_BITS = 4
_AT_ONCE = 1 << 16


def densify(hashes: Hashes) -> tuple[Ids, Hashes]:
    """Return (a small number per value, the distinct values in order): ``distinct[ids] == hashes``."""
    ids = np.empty(len(hashes), np.uint32)
    found: list[Any] = [hashes[:0]]
    base = 0
    for where in _ranges(hashes):
        order = _order(hashes[where])
        where = where[order]
        values = hashes[where]
        first = np.ones(len(values), bool)
        np.not_equal(values[1:], values[:-1], out=first[1:])
        number = np.cumsum(first, dtype=np.uint32)
        number += np.uint32(base)
        number -= np.uint32(1)
        ids[where] = number
        found.append(values[first])
        base += len(found[-1])
    return ids, np.concatenate(found)


def order_of(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return the places of unsigned numbers by value and then place."""
    order = np.empty(len(numbers), np.int32)
    done = 0
    for where in _ranges(numbers):
        order[done : done + len(where)] = where[_order(numbers[where])]
        done += len(where)
    return order


def _ranges(numbers: npt.NDArray[Any]) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the places of the values in each of sixteen ranges, so that what a sort needs is never there for all."""
    if len(numbers) < _AT_ONCE:
        if len(numbers):
            yield np.arange(len(numbers), dtype=np.int32)
        return
    shift = max(0, int(numbers.max()).bit_length() - _BUCKET_BITS)
    top = (numbers >> numbers.dtype.type(shift)).astype(np.uint8)
    for bucket in range(1 << _BUCKET_BITS):
        where = np.flatnonzero(top == bucket).astype(np.int32)
        if len(where):
            yield where


def _order(numbers: npt.NDArray[Any]) -> Any:
    """Return the places of some numbers by value and then place: of sixteen bits after the other, which is a sort that
    compares nothing."""
    digits = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).view("<u2")
    digits = digits.reshape(len(numbers), numbers.itemsize // 2)
    order: Any = None
    for digit in digits.T:
        if order is None:
            order = np.argsort(digit, kind="stable")
        elif bool(digit.any()):
            order = order[np.argsort(digit[order], kind="stable")]
    return order


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
