from __future__ import annotations

import pytest

from edgeinf.core.config.source import read_source


@pytest.mark.parametrize(
    ("text", "spot", "help"),
    [
        ("a:\n\tb: 1", (2, 1), "indent with spaces, not tabs"),
        ("a: {k: ${X}}", (1, 9), "put a variable in quotes"),
        ("a: b: c", (1, 5), "contains ': ' in quotes"),
        ("a: @b", (1, 4), "starts with @"),
        ("a: [1,\n b: 2", (2, 6), None),
    ],
)
def test_a_syntax_error_has_its_place_and_the_usual_remedy(text: str, spot: tuple[int, int], help: str | None) -> None:
    [fault] = read_source(text, "f").faults
    assert fault.code == "E002"
    assert fault.span is not None
    assert (fault.span.line, fault.span.column) == spot
    assert (help or "") in (fault.help or "")
    assert fault.message.startswith("not YAML: ")


def test_where_the_construct_began_is_related() -> None:
    [fault] = read_source("a:\n  - [1, 2\nb: 1\n", "f").faults
    assert [related.span.line for related in fault.related if related.span] == [2]


def test_a_large_file_is_not_read_twice() -> None:
    [fault] = read_source("# " + "x" * 300_000 + "\na: [\n", "f").faults
    assert fault.code == "E002"
