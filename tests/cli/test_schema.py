from __future__ import annotations

import json

import pytest

from edgeinf.cli.app import run
from edgeinf.validate.published import published


def test_the_schema_is_printed_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == published()
    assert said.err == ""


def test_the_help_begins_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run(["schema", "--help"])
    assert "edgeinf schema > edgeinf.schema.json" in capsys.readouterr().out
