from __future__ import annotations

import gc
from pathlib import Path

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.validate.check import Options, codes, full
from tests.validate.kit import codes as codes_of
from tests.validate.kit import examined


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("model_list: []\n", "litellm"),
        ("general_settings: {master_key: os.environ/K}\n", "litellm"),
        ("# comment\nlitellm_settings:\n  cache: true\n", "litellm"),
        ("regions: []\n", "edgeinf"),
        ("model_list: []\nregions: []\n", "edgeinf"),
        ("", "edgeinf"),
        ("a: [", "edgeinf"),
    ],
)
def test_the_kind_is_found_from_the_file(text: str, kind: str, tmp_path: Path) -> None:
    assert examined(text, tmp_path).kind == kind


def test_a_kind_that_is_asked_for_holds(tmp_path: Path) -> None:
    assert examined("model_list: []\n", tmp_path, kind="edgeinf").kind == "edgeinf"


def test_variables_are_listed_whether_set_or_not(tmp_path: Path) -> None:
    report = examined("listen: {host: '${HOST:-localhost}', port: '${PORT}'}\n", tmp_path, env=None)
    assert report.variables == ("HOST", "PORT")


def test_a_warning_about_a_value_with_an_error_is_left_out(tmp_path: Path) -> None:
    report = examined("regions: [{name: a, url: 'http://api.example.com/v1/chat/completions/'}]\n", tmp_path)
    assert codes_of(report) == ["E341"]


def test_warnings_are_added_to_a_faulty_config(tmp_path: Path) -> None:
    text = "regions: [{name: a, url: 'http://api.example.com'}]\nlisten: {port: x}\n"
    assert codes_of(examined(text, tmp_path)) == ["W311", "E101"]


def test_nothing_is_said_of_the_content_of_a_broken_file(tmp_path: Path) -> None:
    seen = full("a: [", "f", base=tmp_path, options=Options(env={}))
    assert [d.code for d in seen.diagnostics] == ["E002"]


def test_a_code_may_be_cut_short_and_must_exist() -> None:
    assert codes(["W3", "E104"]) == ["W3", "E104"]
    with pytest.raises(UsageError, match="W999"):
        codes(["W999"])


def test_the_collector_is_on_again_afterwards(tmp_path: Path) -> None:
    assert gc.isenabled()
    examined("version: 1\n", tmp_path)
    assert gc.isenabled()
