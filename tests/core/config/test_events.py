from __future__ import annotations

import pytest

from edgeinf.core.config.source import read_source


def test_an_alias_is_a_copy_and_its_values_have_places() -> None:
    read = read_source("a: &x {b: 1}\nc: *x\n", "f")
    assert read.tree["c"] == {"b": 1}
    assert read.sites[("c",)].value.line == 2
    assert read.sites[("c", "b")].value.line == 1
    read.tree["c"]["b"] = 2
    assert read.tree["a"]["b"] == 1


@pytest.mark.parametrize("merge", ["*x", "[*x]", "{b: 1, c: 1}"])
def test_a_merge_fills_in_what_is_not_written(merge: str) -> None:
    read = read_source(f"a: &x {{b: 1, c: 1}}\nd:\n  <<: {merge}\n  c: 3\n", "f")
    assert read.tree["d"] == {"b": 1, "c": 3}
    assert ("d", "b") in read.sites
    assert read.faults == ()


def test_the_first_of_several_merged_mappings_wins_and_what_is_written_beats_all() -> None:
    read = read_source("a: &a {k: 1, l: 1}\nb: &b {k: 2, m: 2}\nc: {<<: [*a, *b], l: 3}\n", "f")
    assert read.tree["c"] == {"l": 3, "k": 1, "m": 2}
    assert read.sites[("c", "k")].value.line == 1
    assert read.sites[("c", "m")].value.line == 2


@pytest.mark.parametrize("text", ["a: {<<: 5}", "a: {<<: [5]}", "a:\n  <<: text\n"])
def test_a_merge_of_something_else_is_a_fault(text: str) -> None:
    assert [fault.code for fault in read_source(text, "f").faults] == ["E006"]


def test_what_is_under_a_key_that_is_written_twice_is_dropped() -> None:
    read = read_source("a: {b: 1}\na: {c: 2}\n", "f")
    assert read.tree == {"a": {"b": 1}}


def test_a_key_may_be_an_alias() -> None:
    assert read_source("a: &k name\n*k : 1\n", "f").tree == {"a": "name", "name": 1}
