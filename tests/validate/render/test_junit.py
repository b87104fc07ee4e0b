from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from edgeinf.validate.render.junit import render
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("junit.xml", render(report(tmp_path)))


def test_the_document_parses_and_counts(tmp_path: Path) -> None:
    root = ElementTree.fromstring(render(report(tmp_path)))
    assert root.get("failures") == str(len(root.findall(".//failure"))) == "5"
    assert int(root.get("tests") or 0) == len(root.findall(".//testcase"))
    assert [case.get("name") for case in root.findall("./testsuite[@name='fine.yaml']/testcase")] == ["valid"]
