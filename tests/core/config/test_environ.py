from __future__ import annotations

from typing import Any

from edgeinf.core.config.environ import overrides, place


def test_names_become_paths_and_values_what_they_look_like() -> None:
    env = {
        "EDGEINF_LISTEN__PORT": "9000",
        "EDGEINF_REGIONS__0__URL": "http://h",
        "EDGEINF_CACHE__MASK": "[uuids]",
        "EDGEINF_CONFIG": "x",
        "EDGEINF_PORT_8787_TCP": "x",
        "OTHER__PORT": "1",
    }
    assert list(overrides(env)) == [
        ("EDGEINF_CACHE__MASK", ("cache", "mask"), ["uuids"]),
        ("EDGEINF_LISTEN__PORT", ("listen", "port"), 9000),
        ("EDGEINF_REGIONS__0__URL", ("regions", 0, "url"), "http://h"),
    ]


def test_a_bracket_that_is_not_a_list_stays_text() -> None:
    assert next(overrides({"EDGEINF_A__B": "[x"}))[2] == "[x"


def test_mappings_are_made_and_lists_are_not() -> None:
    tree: dict[str, Any] = {"regions": [{"url": "a"}]}
    assert place(tree, ("listen", "tls", "key"), "k")
    assert place(tree, ("regions", 0, "url"), "b")
    assert not place(tree, ("regions", 1, "url"), "b")
    assert not place(tree, ("regions", "url"), "b")
    assert tree == {"regions": [{"url": "b"}], "listen": {"tls": {"key": "k"}}}
