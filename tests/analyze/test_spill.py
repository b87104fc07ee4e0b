"""A column on disk is the column that was put there."""

from __future__ import annotations

import gc
import os
import sys

import numpy as np
import numpy.typing as npt
import pytest

from edgeinf.analyze import spill
from edgeinf.analyze.spill import Spill, rest, shelved

WORDS = np.array([1, 2**64 - 1, 3], np.uint64)
LARGE = np.arange(100_000, dtype=np.uint32)


def test_a_column_grows_and_is_replaced() -> None:
    keys = Spill()
    keys.append("safe", WORDS.tobytes())
    assert keys["safe"].tolist() == WORDS.tolist()
    keys.append("safe", WORDS[:1].tobytes())
    assert keys["safe"].tolist() == [*WORDS.tolist(), 1]
    keys["safe"] = keys["safe"][::-1]
    assert keys["safe"].tolist() == [1, *WORDS[::-1].tolist()]
    keys["safe"] = WORDS[:0]
    assert keys["safe"].tolist() == []


def test_a_column_keeps_its_kind() -> None:
    columns = Spill()
    columns.append("at", np.array([0.5, 1.5]).tobytes(), "d")
    columns["flags"] = np.array([True, False])
    assert (columns["at"].tolist(), columns["flags"].tolist()) == ([0.5, 1.5], [True, False])


def test_what_is_taken_is_a_copy() -> None:
    keys = Spill()
    keys["safe"] = WORDS
    keys["safe"][0] = 9
    assert keys["safe"].tolist() == WORDS.tolist()


def test_names_are_those_of_a_mapping() -> None:
    keys = Spill()
    keys["exact"], keys["safe"] = WORDS, WORDS[:1]
    del keys["exact"]
    assert ("exact" in keys, list(keys), len(keys)) == (False, ["safe"], 1)
    with pytest.raises(KeyError):
        keys["exact"]


def test_files_are_closed_with_the_last_who_knows_of_them() -> None:
    keys = Spill()
    keys["safe"] = WORDS
    files = list(keys._files.values())
    del keys
    gc.collect()
    assert all(file.closed for file in files)


def test_what_is_taken_for_good_is_gone_from_the_names() -> None:
    columns = Spill()
    columns["few"], columns["many"] = WORDS, LARGE
    assert columns.take("none") is None
    assert columns.take("few").tolist() == WORDS.tolist()  # type: ignore[union-attr]
    assert np.array_equal(columns.take("many"), LARGE)  # type: ignore[arg-type]
    assert list(columns) == []


@pytest.mark.parametrize("column", [LARGE, LARGE > 5, LARGE[::2], LARGE[:3]], ids=["ints", "bools", "steps", "few"])
def test_a_shelved_column_is_the_column(column: npt.NDArray[np.generic]) -> None:
    found = shelved(column)
    rest()
    assert found.dtype == column.dtype
    assert np.array_equal(found, column)


def test_a_shelved_column_is_for_reading_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        shelved(LARGE)[0] = 1


def test_what_rests_is_not_in_memory_until_it_is_looked_at() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is looked up as linux shows it")
    found = shelved(np.arange(10_000_000, dtype=np.uint64))
    looked_at = int(found.sum())
    before = _resident()
    rest()
    assert before - _resident() > 70_000_000
    assert int(found.sum()) == looked_at


def test_a_shelf_knows_no_column_that_nobody_holds() -> None:
    found = shelved(LARGE + 1)
    known = len(spill._maps)
    del found
    gc.collect()
    assert len(spill._maps) < known


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
