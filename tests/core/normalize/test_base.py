from __future__ import annotations

from edgeinf.core.normalize.levels import LEVELS


def test_rules_have_names_of_their_own_and_only_those_of_loose_may_change_meaning() -> None:
    passages = [passage for level in LEVELS.values() for passage in (level.user, level.system)]
    rules = {rule.name: rule for p in passages for rule in (*p.text, *p.opening, *p.ending)}
    assert len(rules) == len(set(rules.values()))
    assert not any(rule.changes_meaning for rule in LEVELS["safe"].user.text)
    assert {rule.name for rule in rules.values() if not rule.changes_meaning} == {"line-ends", "unicode-nfc"}
