from __future__ import annotations

import json
from pathlib import Path

from edgeinf.validate.render.json import render
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("json.json", render(report(tmp_path)))


def test_the_document_has_what_the_contract_names(tmp_path: Path) -> None:
    document = json.loads(render(report(tmp_path)))
    assert document["schema_version"] == 1
    assert [file["path"] for file in document["files"]] == ["conf/edgeinf, a.yaml", "fine.yaml"]
    assert document["summary"]["errors"] == 5
    keys = {
        "code",
        "severity",
        "message",
        "line",
        "column",
        "end_line",
        "end_column",
        "path",
        "help",
        "related",
        "docs",
    }
    for found in document["files"][0]["diagnostics"]:
        assert keys <= set(found)
