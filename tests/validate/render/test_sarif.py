from __future__ import annotations

import json
from pathlib import Path

from edgeinf.validate.render.sarif import render
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("sarif.json", render(report(tmp_path)))


def test_results_point_at_rules_and_columns_are_code_points(tmp_path: Path) -> None:
    run = json.loads(render(report(tmp_path)))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert run["columnKind"] == "unicodeCodePoints"
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none")
