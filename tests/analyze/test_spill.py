"""A column on disk is the column that was put there."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from edgeinf.analyze.spill import Spill

WORDS = np.array([1, 2**64 - 1, 3], np.uint64)


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
