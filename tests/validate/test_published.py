from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from edgeinf.core.config import schema as sections
from edgeinf.core.config.shape import keys_of
from edgeinf.validate.published import published, text
from tests.core.config.test_schema import EXAMPLE

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*/edgeinf.yaml"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    drawn = published()
    Draft202012Validator.check_schema(drawn)
    return Draft202012Validator(drawn)


def test_the_published_file_is_fresh() -> None:
    assert (ROOT / "edgeinf.schema.json").read_text(encoding="utf-8") == text(), "edgeinf schema > edgeinf.schema.json"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_every_recipe_fits_the_schema(recipe: Path, validator: Draft202012Validator) -> None:
    assert [error.message for error in validator.iter_errors(yaml.safe_load(recipe.read_text(encoding="utf-8")))] == []


def test_the_full_example_fits_the_schema(validator: Draft202012Validator) -> None:
    assert [error.message for error in validator.iter_errors(yaml.safe_load(EXAMPLE))] == []


@pytest.mark.parametrize(
    "text",
    [
        "listen: {prot: 1}",
        "listen: {port: '8787'}",
        "listen: {port: 70000}",
        "cache: {level: fast}",
        "cache: {ttl: 10}",
        "cache: {ttl: 10 parsecs}",
        "cache: {memory: {max_size: 5}}",
        "limits: [{name: a, requests: 60}]",
        "regions: [{name: a}]",
        "regions: [{name: a, url: ftp://h}]",
        "dashboard: {enabled: 1}",
        "version: 2",
        "models: [{name: a, upstream: [b]}]",
    ],
)
def test_editor_and_command_line_refuse_the_same(text: str, validator: Draft202012Validator, tmp_path: Path) -> None:
    from tests.core.config.kit import look

    assert list(validator.iter_errors(yaml.safe_load(text)))
    assert look(text, tmp_path).errors


@pytest.mark.parametrize("value", ["${PORT}", "${PORT:-8787}"])
def test_a_variable_may_stand_for_a_number(value: str, validator: Draft202012Validator) -> None:
    assert not list(validator.iter_errors({"listen": {"port": value}, "cache": {"ttl": value, "level": value}}))


def _properties(node: Any) -> int:
    if isinstance(node, dict):
        return len(node.get("properties", {})) + sum(_properties(child) for child in node.values())
    return sum(_properties(child) for child in node) if isinstance(node, list) else 0


def test_completion_knows_every_key_of_every_section() -> None:
    drawn = published()
    assert list(drawn["properties"]) == keys_of(sections.Config)
    assert _properties(drawn) == sum(len(keys_of(section)) for section in sections.SECTIONS)
    assert all("description" in definition for definition in drawn["$defs"].values())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_the_first_line_names_a_schema_that_an_editor_can_load(recipe: Path) -> None:
    first = recipe.read_text(encoding="utf-8").splitlines()[0]
    address = first.removeprefix("# yaml-language-server: $schema=")
    assert address != first
    if address.startswith("https://"):
        assert address == published()["$id"]
    else:
        assert json.loads((recipe.parent / address).read_text(encoding="utf-8"))["$id"] == published()["$id"]


def test_no_path_of_this_machine_is_published() -> None:
    assert str(Path.home()) not in text()
