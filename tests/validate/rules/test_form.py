from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.rule import Rule
from edgeinf.validate.rules import form
from tests.validate.kit import codes, examined

_WITHOUT_TEXT = ("E109", "E204")  # found only with a table entry or an override


@pytest.mark.parametrize("rule", [r for r in form.RULES if r.code not in _WITHOUT_TEXT], ids=lambda rule: rule.code)
def test_the_example_is_found_by_the_loader(rule: Rule, tmp_path: Path) -> None:
    assert set(codes(examined(rule.example, tmp_path))) == {rule.code}


@pytest.mark.parametrize("rule", form.RULES, ids=lambda rule: rule.code)
def test_what_to_write_instead_is_clean(rule: Rule, tmp_path: Path) -> None:
    assert codes(examined(rule.instead, tmp_path)) == []


def test_the_loader_has_no_code_without_a_page() -> None:
    import re

    from edgeinf.core.config import check, events, interpolate, load, source, syntax, types
    from edgeinf.validate.rules.registry import ALL

    used: set[str] = set()
    for module in (check, events, interpolate, load, source, syntax, types):
        used |= set(re.findall(r'"([EW]\d{3})"', Path(module.__file__).read_text()))
    assert used <= set(ALL)
