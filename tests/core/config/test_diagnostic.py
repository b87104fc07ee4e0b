from __future__ import annotations

import pytest

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Span, dotted, value_at


def test_no_text_of_a_diagnostic_shows_a_secret() -> None:
    made = Diagnostic(
        code="E000",
        severity="error",
        message="'sk-abcdefghijklmnop' is bad",
        label="sk-abcdefghijklmnop",
        help="not sk-abcdefghijklmnop",
    )
    assert "abcdefgh" not in repr(made)


def test_no_text_of_a_diagnostic_steers_a_terminal() -> None:
    found = Diagnostic(code="E104", severity="error", message="a\x1b[2J", label="b\x9b", help="c\x07")
    assert (found.message, found.label, found.help) == ("a\ufffd[2J", "b\ufffd", "c\ufffd")


def test_diagnostics_sort_by_position() -> None:
    later = Diagnostic(code="A", severity="error", message="", span=Span(2, 1, 2, 2))
    sooner = Diagnostic(code="B", severity="error", message="", span=Span(1, 9, 1, 10))
    nowhere = Diagnostic(code="C", severity="error", message="")
    assert sorted([later, sooner, nowhere], key=lambda d: d.order) == [nowhere, sooner, later]


def test_a_path_reads_as_people_write_it() -> None:
    assert dotted(("regions", 0, "timeouts", "ttft")) == "regions[0].timeouts.ttft"


def test_the_docs_address_ends_in_the_code() -> None:
    assert Diagnostic(code="E104", severity="error", message="").docs.endswith("/E104")


@pytest.mark.parametrize(
    ("path", "value"),
    [((), {"a": [1]}), (("a", 0), 1), (("a", 1), None), (("a", 0, "b"), None), (("b",), None)],
    ids=["the whole", "in a list", "beyond a list", "below a number", "no such key"],
)
def test_a_value_is_found_by_its_path(path: KeyPath, value: object) -> None:
    assert value_at({"a": [1]}, path) == value
