from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.source import Source, read_source
from edgeinf.validate.check import Options, check
from tests.core.config.kit import TODAY
from tests.recipes.kit import ENV, NAMES, config_of
from tests.validate.planting import KINDS, Plant

_ENV = {**ENV, "HOME": "/nonexistent"}


def found(recipe: str, text: str) -> list[tuple[str, int, int]]:
    """Return (code, line, column) of all that is reported, but for what is only mentioned."""
    options = Options(env=_ENV, today=TODAY)
    report, _ = check(text, "edgeinf.yaml", base=config_of(recipe).parent, options=options)
    return [
        (d.code, d.span.line if d.span else 0, d.span.column if d.span else 0)
        for d in report.diagnostics
        if d.severity != "info"
    ]


@cache
def source_of(recipe: str) -> Source:
    return read_source(config_of(recipe).read_bytes(), "edgeinf.yaml")


@cache
def plants_of(kind: str) -> list[tuple[str, Plant]]:
    """Return every site of a kind over all recipes."""
    return [(recipe, plant) for recipe in NAMES for plant in KINDS[kind](source_of(recipe))]


@pytest.mark.parametrize("recipe", NAMES)
def test_a_clean_recipe_has_no_finding(recipe: str) -> None:
    assert found(recipe, source_of(recipe).text) == []


def test_there_are_forty_kinds_and_each_has_a_site() -> None:
    assert len(KINDS) >= 40
    assert [kind for kind in KINDS if not plants_of(kind)] == []


@given(kind=st.sampled_from(sorted(KINDS)), draw=st.data())
@settings(max_examples=400, deadline=None)
def test_a_planted_fault_is_reported_where_it_is_and_nothing_else(kind: str, draw: st.DataObject) -> None:
    recipe, plant = draw.draw(st.sampled_from(plants_of(kind)))
    assert found(recipe, plant.text) == [(plant.code, plant.line, plant.column)], plant.text
