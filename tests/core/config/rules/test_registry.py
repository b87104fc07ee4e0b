from __future__ import annotations

from pathlib import Path

from edgeinf.core.config.rules import registry


def test_codes_are_unique_and_in_order() -> None:
    found = [rule.code for rule in registry.ERRORS]
    assert found == sorted(set(found))


def test_every_family_is_registered() -> None:
    folder = Path(registry.__file__).parent
    families = {path.stem for path in folder.glob("*.py")} - {"__init__", "registry"}
    assert families == {rule.check.__module__.rsplit(".", 1)[1] for rule in registry.ERRORS if rule.check}
