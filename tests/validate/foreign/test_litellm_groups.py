from __future__ import annotations

from typing import Any

import pytest

from edgeinf.validate.foreign.litellm_groups import fallback_links, group_faults


def _tree(*names: str, **router: Any) -> dict[str, Any]:
    models = [{"model_name": name, "litellm_params": {"model": f"openai/{name}"}} for name in names]
    return {"model_list": models, "router_settings": router}


@pytest.mark.parametrize(
    ("fallbacks", "codes"),
    [
        ([{"a": ["b"]}], []),
        ([{"a": ["b", "c"]}, {"b": ["c"]}], []),
        ([{"a": ["a"]}], ["L503"]),
        ([{"a": ["b"]}, {"b": ["a"]}], ["L504"]),
        ([{"a": ["b"]}, {"b": ["c"]}, {"c": ["a"]}], ["L504"]),
        ([{"a": ["z"]}], ["L502"]),
        ([{"z": ["a"]}], ["L502"]),
        ("a", ["L501"]),
        (["a"], ["L501"]),
        ([{"a": "b"}], ["L501"]),
    ],
)
def test_fallbacks(fallbacks: Any, codes: list[str]) -> None:
    assert [note.code for note in group_faults(_tree("a", "b", "c", fallbacks=fallbacks))] == codes


def test_a_wildcard_knows_every_name_it_matches() -> None:
    assert list(group_faults(_tree("a", "gpt-*", fallbacks=[{"a": ["gpt-4o"]}]))) == []


def test_names_that_cannot_be_known_silence_what_rests_on_them() -> None:
    tree = _tree("a", fallbacks=[{"a": ["b"]}])
    tree["model_list"].append({"model_nam": "b"})
    assert list(group_faults(tree)) == []


def test_links_are_read_from_both_sections() -> None:
    tree = {
        "litellm_settings": {"fallbacks": [{"a": ["b"]}]},
        "router_settings": {"context_window_fallbacks": [{"a": ["c"]}]},
    }
    assert [(source, target) for _, _, source, target in fallback_links(tree)] == [("a", "b"), ("a", "c")]


def test_one_deployment_twice() -> None:
    assert [note.code for note in group_faults(_tree("a", "a"))] == ["L506"]
