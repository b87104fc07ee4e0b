from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.rule import Rule
from edgeinf.core.config.rules import prompts
from tests.core.config.kit import codes, look


@pytest.mark.parametrize("rule", prompts.RULES, ids=lambda rule: rule.code)
def test_the_example_breaks_this_rule_alone(rule: Rule, tmp_path: Path) -> None:
    assert set(codes(look(rule.example, tmp_path))) == {rule.code}


@pytest.mark.parametrize("rule", prompts.RULES, ids=lambda rule: rule.code)
def test_what_to_write_instead_is_clean(rule: Rule, tmp_path: Path) -> None:
    seen = look(rule.instead, tmp_path)
    assert codes(seen) == []
    assert seen.config is not None


REGIONS = (
    "regions: [{name: a, url: https://a.example.com, serves: [anthropic]}, {name: b, url: https://b.example.com}]\n"
)
ALONE = "regions: [{name: a, url: https://a.example.com, serves: [anthropic]}]\n"

VECTORS = [
    pytest.param(REGIONS, "{model: e}", [], id="the-first-that-can"),
    pytest.param(REGIONS, "{model: e, region: b}", [], id="named"),
    pytest.param(REGIONS, "{model: e, region: null}", [], id="null"),
    pytest.param(REGIONS, "{model: e, region: a}", ["E363"], id="cannot"),
    pytest.param(REGIONS, "{model: e, region: c}", ["E363"], id="unknown"),
    pytest.param(ALONE, "{model: e}", ["E363"], id="none-can"),
    pytest.param(REGIONS, "{region: b}", ["E105"], id="no-model"),
]


@pytest.mark.parametrize(("regions", "vectors", "found"), VECTORS)
def test_a_region_must_make_the_vectors(regions: str, vectors: str, found: list[str], tmp_path: Path) -> None:
    text = f"{regions}prompt: [{{context: {{source: key.txt, vectors: {vectors}}}}}]"
    assert codes(look(text, tmp_path)) == found
