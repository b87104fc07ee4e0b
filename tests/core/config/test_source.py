from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.source import MAX_BYTES, MAX_DEPTH, read_source


def faults(text: str | bytes) -> list[tuple[str, int, int]]:
    return [(f.code, f.span.line, f.span.column) for f in read_source(text, "f").faults if f.span]


def test_each_value_has_the_place_of_its_key_and_of_itself() -> None:
    read = read_source("a:\n  bé: {c: 'x', d: [1, 22]}\n", "f")
    assert read.tree == {"a": {"bé": {"c": "x", "d": [1, 22]}}}
    site = read.sites[("a", "bé", "c")]
    assert (site.key.line, site.key.column, site.key.end_column) == (2, 8, 9)
    assert (site.value.line, site.value.column, site.value.end_column) == (2, 11, 14)
    assert read.sites[("a", "bé", "d", 1)].value.column == 23


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"\xff", [("E001", 1, 1)], id="not utf-8"),
        pytest.param(b"a: 1\nb: \xc3\x28", [("E001", 2, 4)], id="not utf-8, later"),
        pytest.param("a: \x01", [("E001", 1, 4)], id="control character"),
        pytest.param("a: é\x7f", [("E001", 1, 5)], id="delete"),
        pytest.param("a: \ud800", [("E001", 1, 4)], id="half of a character"),
        pytest.param("a: \ufffe\x01", [("E001", 1, 4)], id="no character, before a control character"),
        pytest.param("a: é\n\x9f: \uffff", [("E001", 2, 1)], id="control character before no character"),
        pytest.param("a: '\x85\xa0\ue000\ufffd\U00010000'", [], id="all that is allowed at the edges"),
        pytest.param("a: [1,\n b: 2", [("E002", 2, 6)], id="unclosed"),
        pytest.param("a:\n\tb: 1", [("E002", 2, 1)], id="tab"),
        pytest.param("a: {k: ${X}}", [("E002", 1, 9)], id="variable in braces"),
        pytest.param("a: 1\nb: 2\na: 3", [("E003", 3, 1)], id="duplicate key"),
        pytest.param("a: {x: 1, x: 2}", [("E003", 1, 11)], id="duplicate key in braces"),
        pytest.param("a: yes", [("W004", 1, 4)], id="old boolean"),
        pytest.param("a: 017", [("W004", 1, 4)], id="old octal"),
        pytest.param("a: 12:30:45", [("W004", 1, 4)], id="sexagesimal"),
        pytest.param("a: 'yes'", [], id="quoted boolean"),
        pytest.param("a: !!python/object:os.system x", [("E005", 1, 4)], id="python tag"),
        pytest.param("a: !secret {}", [("E005", 1, 4)], id="custom tag"),
        pytest.param("a: !!str 5", [], id="core tag"),
        pytest.param("a: &x [*x]", [("E006", 1, 8)], id="alias inside itself"),
        pytest.param("a: *x", [("E006", 1, 4)], id="alias of nothing"),
        pytest.param("a: 1\n---\nb: 1", [("E007", 2, 1)], id="second document"),
        pytest.param("- a", [("E008", 1, 1)], id="list on top"),
        pytest.param("5", [("E008", 1, 1)], id="scalar on top"),
        pytest.param("? [a]\n: 1", [("E009", 1, 3)], id="list as key"),
        pytest.param("a: " + "[" * 80 + "]" * 80, [("E010", 1, 3 + MAX_DEPTH)], id="deep"),
    ],
)
def test_what_yaml_readers_pass_over_is_a_diagnostic(text: str | bytes, expected: list[tuple[str, int, int]]) -> None:
    assert faults(text) == expected


def test_an_empty_file_is_an_empty_mapping() -> None:
    for text in ("", "# only a comment\n", "---\n", "null"):
        read = read_source(text, "f")
        assert (read.tree, read.broken) == ({}, False)


def test_a_byte_order_mark_moves_no_column() -> None:
    assert read_source(b"\xef\xbb\xbfa: 1", "f").sites[("a",)].key.column == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="brackets"),
        pytest.param('{"a":' * 50_000, id="braces"),
        pytest.param("- " * 100_000, id="dashes"),
        pytest.param("? " * 20_000, id="question marks"),
        pytest.param(
            "a: &a [x]\n"
            + "".join(f"b{i}: &b{i} [{', '.join(['*a' if i == 0 else f'*b{i - 1}'] * 10)}]\n" for i in range(9)),
            id="aliases of aliases",
        ),
        pytest.param("&a " * 20_000, id="anchors"),
        pytest.param(
            "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} {'[' * 9}*a{n - 1}{']' * 9}\n" for n in range(1, 300)),
            id="aliases in depth",
        ),
        pytest.param("a: '" + "x" * 2_000_000, id="open quote"),
        pytest.param("'" * 200_000, id="quotes"),
        pytest.param(
            "a: &a {"
            + ", ".join(f"k{n}: 1" for n in range(50_000))
            + "}\n"
            + "".join(f"b{n}: {{<<: *a}}\n" for n in range(50)),
            id="merges",
        ),
    ],
)
def test_hostile_input_ends_in_a_fault_within_seconds(text: str) -> None:
    started = time.monotonic()
    read = read_source(text, "f")
    assert read.broken
    assert read.faults
    assert time.monotonic() - started < 20


def test_a_huge_file_is_refused_unread() -> None:
    assert faults(b"#" * (MAX_BYTES + 1)) == [("E001", 1, 1)]


def test_json_is_read_as_it_is() -> None:
    document = {"a": ["x", 1, 1.5, True, None, {"ü": "\U0001f600 \\ / \t"}], "b": {}}
    for indent in (None, 2, "\t"):
        read = read_source(json.dumps(document, indent=indent), "f.json")
        assert read.tree == document
        assert read.faults == ()


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcü ", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), _JSON, max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_json_object_survives(document: dict[str, Any]) -> None:
    read = read_source(json.dumps(document), "f.json")
    assert read.tree == document
    assert read.faults == ()


@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@`?#, \n\t<~0\\$é\u2028", max_size=60) | st.text(max_size=40))
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_reader_raise_and_every_place_is_in_the_text(text: str) -> None:
    read = read_source(text, "f")
    lines = read.lines()
    for fault in read.faults:
        assert fault.span is not None
        assert 1 <= fault.span.line <= len(lines) + 1
    for site in read.sites.values():
        assert 1 <= site.value.line <= len(lines) + 1
