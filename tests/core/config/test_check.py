from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.check import check
from tests.core.config.kit import look, spots

MANY = """\
cache:
  disk:
    max_szie: 100MB
  ttl: 10
  scope: keey
  memory: {max_size: 1GB, max_entries: 0}
upstreams: 3
regions:
- nmae: a
  url: https://x.example/v1
- {name: b, url: "ftp://h"}
- {name: c, url: "https://api.x.com/v1", max_size: 3, location: {lat: 1}}
- 5
listen: {port: "80", drain: }
dashboard: {enabled: yes}
"""


def test_all_faults_are_found_at_once_each_in_its_place(tmp_path: Path) -> None:
    assert spots(look(MANY, tmp_path)) == [
        ("E104", 3, 5),
        ("E106", 4, 8),
        ("E102", 5, 10),
        ("E103", 6, 40),
        ("E104", 7, 1),
        ("E104", 9, 3),
        ("E107", 11, 18),
        ("E104", 12, 42),
        ("E105", 12, 55),
        ("E101", 13, 3),
        ("E101", 14, 16),
        ("E101", 14, 22),
        ("E101", 15, 22),
    ]


@pytest.mark.parametrize(
    ("text", "message", "label"),
    [
        ("cache: {max_szie: 1}", 'unknown key "max_szie" in cache', None),
        ("cache: {memory: {max_szie: 1}}", 'unknown key "max_szie" in cache.memory', 'did you mean "max_size"?'),
        ("ttl: 5m", 'unknown key "ttl" at the top level', "ttl belongs under cache"),
        ("cache: {level: saef}", 'cache.level cannot be "saef"', 'did you mean "safe"?'),
        ("version: 2", "version cannot be 2", None),
        ("cache:\n", "cache is empty", None),
        ("cache: []", "cache must be a mapping of keys, not a list", None),
        ("regions: x", 'regions must be a list, not "x"', None),
        ("limits: [{name: a, requests: 5}]", "limits[0].requests: 5 has no unit", None),
        ("dashboard: {enabled: 'true'}", 'dashboard.enabled must be true or false, not "true"', None),
    ],
)
def test_messages_name_the_value_and_the_rule(text: str, message: str, label: str | None, tmp_path: Path) -> None:
    found = look(text, tmp_path).errors
    assert [(d.message, d.label) for d in found] == [(message, label)]


def test_what_a_variable_holds_is_never_shown(tmp_path: Path) -> None:
    text = "listen: {host: a, port: '${P}', drain: '${Q}'}\ncache: {level: '${P}'}\nauth: {admin: {sha256: '${P}'}}\n"
    seen = look(text, tmp_path, env={"P": "hunter2", "Q": "correct horse"})
    assert len(seen.errors) >= 4
    assert "hunter2" not in repr(seen.diagnostics)
    assert "correct" not in repr(seen.diagnostics)


def test_a_number_from_a_variable_is_text_where_text_is_wanted(tmp_path: Path) -> None:
    text = "regions: [{name: a, url: https://x.example}]\nevents:\n  key_secret: ${S}\nlisten:\n  port: ${P}\n"
    seen = look(text, tmp_path, env={"S": "12345", "P": "81"})
    assert seen.config is not None
    assert seen.config.events.key_secret is not None
    assert seen.config.events.key_secret.get_secret_value() == "12345"
    assert seen.config.listen.port == 81


def test_an_empty_secret_counts_as_unset(tmp_path: Path) -> None:
    text = "regions:\n  - {name: a, url: https://x.example, api_key: '${K}'}\n"
    assert [(d.code, d.message) for d in look(text, tmp_path, env={"K": ""}).errors] == [
        ("E202", "regions[0].api_key is empty, as the variable K is")
    ]
    seen = look(text.replace("${K}", "${K:-}"), tmp_path, env={})
    assert seen.config is not None
    assert seen.config.regions[0].api_key is None


def test_what_is_left_out_is_named_and_the_rest_is_still_a_config() -> None:
    tree = {"regions": [5, {"name": "b", "url": "https://x.example"}], "listen": {"port": "x", "host": "h"}}
    done = check(tree, base=Path())
    assert done.config is not None
    assert done.config.listen.host == "h"
    assert [r.name for r in done.config.regions] == ["b"]
    assert done.removed == {("regions", 0), ("listen", "port")}
    assert done.indices == {("regions",): [1]}


_KEYS = st.sampled_from(
    [
        "listen",
        "port",
        "regions",
        "name",
        "url",
        "cache",
        "ttl",
        "memory",
        "models",
        "prices",
        "x",
        "upstream",
        "location",
    ]
)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["5s", "", "a", "http://h", "\ue000unset\ue000"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_values_give_a_config_or_faults(tree: dict[str, object]) -> None:
    before = json.dumps(tree)
    done = check(tree, base=Path())
    assert done.config is not None
    assert bool(done.faults) == bool(done.removed)
    assert json.dumps(tree) == before
