from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.config.interpolate import interpolate, read_env_file
from edgeinf.core.config.scalar import STAND_IN
from edgeinf.core.config.source import read_source


def value(text: str, env: dict[str, str] | None) -> Any:
    return interpolate(read_source(f"a: {text}\n", "f"), env).tree["a"]


def codes(text: str, env: dict[str, str] | None) -> list[str]:
    return [fault.code for fault in interpolate(read_source(f"a: {text}\n", "f"), env).faults]


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("${P}", {"P": "8787"}, 8787),
        ('"${P}"', {"P": "8787"}, "8787"),
        ("${P:-8787}", {}, 8787),
        ("${P:-8787}", {"P": ""}, 8787),
        ("${P-8787}", {}, 8787),
        ("x-${P}-y", {"P": "1"}, "x-1-y"),
        ("${A:-${B:-c}}", {}, "c"),
        ("${A:-${B:-c}}", {"B": "b"}, "b"),
        ("${P:?say why}", {"P": "1"}, 1),
        ("${P:-}", {}, None),
        ('"${P:-}"', {}, ""),
        ("${P}", {"P": ""}, ""),
        ("$${P}", {"P": "1"}, "${P}"),
        ("'^a$|b$$'", {}, "^a$|b$$"),
        ("$P", {"P": "1"}, "$P"),
        ("${P}", {"P": "[1, {b: 2}]"}, "[1, {b: 2}]"),
        ("${P}", {"P": "x: y\nz: 1"}, "x: y\nz: 1"),
        ("${P}", {"P": "true"}, True),
    ],
)
def test_variables_become_values_and_never_structure(text: str, env: dict[str, str], expected: object) -> None:
    assert value(text, env) == expected
    assert codes(text, env) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${P}", "E201"),
        ("${P:?say why}", "E201"),
        ('"${P:?say why}"', "E201"),
        ("${P", "E203"),
        ("${1}", "E203"),
        ("${}", "E203"),
        ("${P=1}", "E203"),
        ("${A:-" * 20 + "}" * 20, "E203"),
    ],
)
def test_what_cannot_be_filled_in_is_an_error(text: str, code: str) -> None:
    assert codes(text, {}) == [code]
    assert value(text, {}) == STAND_IN


def test_an_unset_variable_is_named_with_the_one_that_is_meant() -> None:
    made = interpolate(read_source("a: ${OPENAI_KEY}", "f"), {"OPENAI_KEYS": "sk-secret"})
    assert made.faults[0].message == "the variable OPENAI_KEY is not set"
    assert made.faults[0].help == "did you mean OPENAI_KEYS?"


def test_the_message_of_the_file_is_shown() -> None:
    made = interpolate(read_source("a: ${K:?ask the platform team}", "f"), {})
    assert "ask the platform team" in made.faults[0].message


def test_without_an_environment_nothing_is_asked_for() -> None:
    assert value("${P}", None) == STAND_IN
    assert codes("${P}", None) == []
    assert value("${P:-5}", None) == 5


def test_a_variable_that_is_not_text_is_refused() -> None:
    assert codes("${P}", {"P": "a\udcff"}) == ["E203"]


def test_values_in_lists_and_copies_are_filled_in() -> None:
    made = interpolate(read_source("a: &x [{b: '${P}'}]\nc: *x", "f"), {"P": "1"})
    assert made.tree == {"a": [{"b": "1"}], "c": [{"b": "1"}]}


def test_an_env_file_is_read_as_shells_do() -> None:
    text = "# comment\nA=1\nexport B='two words'\nC=\"x # y\"\nD = 4 # four\nnot a line\nE=\n"
    assert read_env_file(text) == {"A": "1", "B": "two words", "C": "x # y", "D": "4", "E": ""}
