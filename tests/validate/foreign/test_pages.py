from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.rule import Rule
from edgeinf.validate.foreign import pages
from tests.validate.kit import codes, examined

ENV = {"MASTER": "sk-test", "A_KEY": "x"}


@pytest.mark.parametrize("rule", pages.RULES, ids=lambda rule: rule.code)
def test_the_example_breaks_this_rule_alone(rule: Rule, tmp_path: Path) -> None:
    report = examined(rule.example, tmp_path, kind="litellm", env=ENV)
    assert set(codes(report)) == {rule.code}
    assert {d.severity for d in report.diagnostics} == {rule.severity}


@pytest.mark.parametrize("rule", pages.RULES, ids=lambda rule: rule.code)
def test_what_to_write_instead_is_clean(rule: Rule, tmp_path: Path) -> None:
    assert codes(examined(rule.instead, tmp_path, kind="litellm", env=ENV)) == []
