from __future__ import annotations

from edgeinf.core.config import schema, shape


def test_the_mapping_at_a_path_is_found_through_lists_and_unions() -> None:
    tree = {"regions": [{"location": {"lat": 1}}], "prices": {"m": {}}, "models": [{"upstream": {"a": "b"}}]}
    assert shape.section_at(tree, ()) is schema.Config
    assert shape.section_at(tree, ("regions", 0)) is schema.Region
    assert shape.section_at(tree, ("regions", 0, "location")) is schema.Place
    assert shape.section_at(tree, ("prices", "m")) is schema.Price
    assert shape.section_at(tree, ("models", 0, "upstream")) is None
    assert shape.section_at(tree, ("nothing", "here")) is None


def test_keys_are_those_of_files() -> None:
    assert "as" in shape.keys_of(schema.Context)


def test_a_key_at_the_wrong_level_is_sent_home() -> None:
    assert shape.belongs("ttl", ()) == "cache"
    assert shape.belongs("deny_cidr", ("guard",)) == "guard.clients"
    assert shape.belongs("regions", ("routing",)) == "the top level or models[]"
    assert shape.belongs("nonsense", ()) is None


def test_the_nearest_word_is_found_across_spellings_and_tools() -> None:
    keys = shape.keys_of(schema.Region)
    assert shape.nearest("api-key", keys) == "api_key"
    assert shape.nearest("nmae", keys) == "name"
    assert shape.nearest("base_url", keys) == "url"
    assert shape.nearest("zzz", keys) is None


def test_long_lists_are_cut() -> None:
    assert shape.listed([str(i) for i in range(10)]) == "0, 1, 2, 3, 4, 5, 6, 7 … and 2 more"
    assert shape.where(()) == "at the top level"
