from __future__ import annotations

from pathlib import Path

import pytest

from tests.validate.kit import codes, examined

HTTP = "regions:\n  - name: a\n    url: http://api.example.com/v1/{comment}\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (HTTP.format(comment=""), ["W311", "W341"]),
        (HTTP.format(comment="  # edgeinf: ignore[W311]"), ["W341"]),
        (HTTP.format(comment="  # edgeinf: ignore[W311, W341]"), []),
        (HTTP.format(comment="  # edgeinf: ignore"), []),
        (HTTP.format(comment="  # edgeinf: ignore[W999]"), ["W311", "W341"]),
        (HTTP.format(comment="").replace("    url", "    # edgeinf: ignore[W311]\n    url"), ["W341"]),
        (HTTP.format(comment="").replace("regions:", "regions:  # edgeinf: ignore"), ["W311", "W341"]),
        ("listen: {prot: 1}  # edgeinf: ignore[E104]\n", ["E104"]),
        ("listen: {prot: 1}  # edgeinf: ignore\n", ["E104"]),
    ],
)
def test_a_comment_silences_warnings_where_it_is_and_never_an_error(text: str, left: list[str], tmp_path: Path) -> None:
    assert codes(examined(text, tmp_path)) == left


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"ignored": ["W311"]}, ["W341"]),
        ({"ignored": ["W3"]}, []),
        ({"only": ["W341"]}, ["W341"]),
        ({"only": ["W4"]}, []),
        ({"only": ["W3"], "ignored": ["W341"]}, ["W311"]),
    ],
)
def test_flags_choose_warnings(options: dict[str, list[str]], left: list[str], tmp_path: Path) -> None:
    assert codes(examined(HTTP.format(comment=""), tmp_path, **options)) == left


def test_flags_hide_no_error(tmp_path: Path) -> None:
    assert codes(examined("listen: {prot: 1}\n", tmp_path, only=["W301"], ignored=["E104"])) == ["E104"]
