from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.rule import Rule
from edgeinf.validate.rules import limits
from tests.validate.kit import codes, examined


@pytest.mark.parametrize("rule", limits.RULES, ids=lambda rule: rule.code)
def test_the_example_breaks_this_rule_alone(rule: Rule, tmp_path: Path) -> None:
    assert set(codes(examined(rule.example, tmp_path))) == {rule.code}


@pytest.mark.parametrize("rule", limits.RULES, ids=lambda rule: rule.code)
def test_what_to_write_instead_is_clean(rule: Rule, tmp_path: Path) -> None:
    assert codes(examined(rule.instead, tmp_path)) == []
