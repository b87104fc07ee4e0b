from __future__ import annotations

from pathlib import Path

from edgeinf.validate.rules import form, registry


def test_codes_are_unique_and_every_family_is_registered() -> None:
    assert len({rule.code for rule in registry.WARNINGS}) == len(registry.WARNINGS)
    families = {path.stem for path in Path(registry.__file__).parent.glob("*.py")} - {
        "__init__",
        "registry",
        "form",
        "asking",
    }
    assert families == {rule.check.__module__.rsplit(".", 1)[1] for rule in registry.WARNINGS if rule.check}


def test_errors_are_refused_by_serve_and_warnings_are_not() -> None:
    assert all(rule.severity in ("warning", "info") for rule in registry.WARNINGS)
    assert all(rule.check is None for rule in form.RULES)


def test_there_are_more_than_thirty_rules_and_each_is_documented() -> None:
    assert sum(rule.check is not None for rule in registry.ALL.values()) >= 30
    for rule in registry.ALL.values():
        assert rule.title
        assert rule.why
        assert rule.title == rule.title.strip(" .")
