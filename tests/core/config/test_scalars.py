from __future__ import annotations

import math

import pytest

from edgeinf.core.config.scalars import is_null, resolve, trap


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("on", "on"),
        ("12", 12),
        ("-3", -3),
        ("017", 17),
        ("0o17", 15),
        ("0xff", 255),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("12:30:45", "12:30:45"),
        ("2027-12-31", "2027-12-31"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_plain_scalars_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    got = resolve(text)
    assert got == value
    assert type(got) is type(value)


def test_the_special_floats_are_floats() -> None:
    assert resolve(".inf") == math.inf
    assert resolve("-.Inf") == -math.inf
    assert math.isnan(resolve(".nan"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("yes", "true"),
        ("Off", "false"),
        ("017", "octal"),
        ("1_000", "1000"),
        ("12:30:45", "base of 60"),
        ("10s", None),
        ("089", None),
        ("true", None),
    ],
)
def test_traps_name_the_other_reading(text: str, says: str | None) -> None:
    found = trap(text)
    assert (says is None) == (found is None)
    assert (says or "") in (found or "")


def test_empty_is_null() -> None:
    assert is_null("")
    assert not is_null("0")
