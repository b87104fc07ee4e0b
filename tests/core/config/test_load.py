from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.load import find, load
from edgeinf.core.config.schema import Config
from edgeinf.core.errors import ConfigError, UsageError
from tests.core.config.kit import codes, look, spots


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "edgeinf.yaml").write_text("listen: {port: 1, drain: 1s}\n")
    (tmp_path / "other.yaml").write_text("listen: {port: 2, drain: 2s}\n")
    user = tmp_path / "home" / ".config" / "edgeinf"
    user.mkdir(parents=True)
    (user / "edgeinf.yaml").write_text("listen: {port: 3}\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_flag_beats_environment_beats_file_beats_default(here: Path) -> None:
    env = {"EDGEINF_LISTEN__PORT": "10", "EDGEINF_LISTEN__HOST": "localhost"}
    config = load(None, env=env, flags={"listen.port": 20, "listen.host": None}, cwd=here)
    assert (config.listen.port, config.listen.host, config.listen.drain) == (20, "localhost", 1.0)
    assert config.listen.header_timeout == 10.0


def test_the_file_named_beats_the_variable_beats_the_directory_beats_the_user(here: Path) -> None:
    home = {"HOME": str(here / "home")}
    named = {"EDGEINF_CONFIG": "other.yaml", **home}
    assert load("edgeinf.yaml", env=named, cwd=here).listen.port == 1
    assert load(None, env=named, cwd=here).listen.port == 2
    assert load(None, env=home, cwd=here).listen.port == 1
    assert load(None, env=home, cwd=here / "empty").listen.port == 3
    assert load(None, env={"HOME": "/nonexistent"}, cwd=here / "empty") == Config()


def test_a_missing_file_is_wrong_usage_with_the_near_one_named(here: Path) -> None:
    with pytest.raises(UsageError) as refused:
        find("edgeinf.yml", {}, here)
    assert refused.value.hint is not None
    assert "edgeinf.yaml" in refused.value.hint


def test_a_directory_is_no_config(here: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        find("empty", {}, here)


def test_a_refusal_carries_every_diagnostic_and_names_places(here: Path) -> None:
    (here / "edgeinf.yaml").write_text("listen: {prot: 1}\ncache: {ttl: 1}\n")
    with pytest.raises(ConfigError) as refused:
        load(None, env={}, cwd=here)
    assert len(refused.value.diagnostics) == 2
    assert "edgeinf.yaml:1:10: " in refused.value.message
    assert "edgeinf.yaml:2:14: " in refused.value.message


def test_a_bad_override_is_named_by_its_variable(here: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(None, env={"EDGEINF_LISTEN__PROT": "1", "EDGEINF_REGIONS__3__URL": "x"}, cwd=here)
    assert "EDGEINF_LISTEN__PROT: " in refused.value.message
    assert "EDGEINF_REGIONS__3__URL" in refused.value.message


def test_an_override_repairs_what_the_file_has_wrong(tmp_path: Path) -> None:
    assert codes(look("listen: {port: x}", tmp_path, env={"EDGEINF_LISTEN__PORT": "5"})) == []


def test_files_are_relative_to_the_config(here: Path) -> None:
    (here / "k.txt").write_text("k")
    (here / "c.yaml").write_text("regions: [{name: a, url: https://h.example, api_key_file: k.txt}]")
    assert load(here / "c.yaml", env={}, cwd=here / "empty").regions[0].api_key_file == here / "k.txt"


def test_beyond_loopback_without_auth_only_by_request(tmp_path: Path) -> None:
    flags = {"listen.host": "0.0.0.0"}
    with pytest.raises(ConfigError, match="without auth"):
        load(None, env={}, flags=flags, cwd=tmp_path)
    assert load(None, env={}, flags=flags, cwd=tmp_path, insecure=True).listen.host == "0.0.0.0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ["W001"]), ("# x\n", ["W001"]), ("auth:\n", ["W005"]), ("auth: null\n", []), ("cache: {disk: ~}\n", [])],
)
def test_what_is_silently_off_is_said(text: str, expected: list[str], tmp_path: Path) -> None:
    seen = look(text, tmp_path)
    assert codes(seen) == expected
    assert seen.config is not None


def test_a_fault_under_an_anchor_is_one_fault_however_often_it_is_used(tmp_path: Path) -> None:
    text = "regions:\n- {name: a, url: https://a.example, timeouts: &t {totl: 5s}}\n"
    text += "- {name: b, url: https://b.example, timeouts: *t}\n- {name: c, url: https://c.example, timeouts: *t}\n"
    assert spots(look(text, tmp_path)) == [("E104", 2, 51)]


def test_two_keys_that_are_missing_are_two_faults(tmp_path: Path) -> None:
    assert spots(look("regions:\n- {serves: [openai]}\n", tmp_path)) == [("E105", 2, 3), ("E105", 2, 3)]


def test_a_second_key_of_one_name_without_a_value_is_one_fault(tmp_path: Path) -> None:
    assert spots(look("auth: null\nauth:\n", tmp_path)) == [("E003", 2, 1)]


def test_an_error_hides_the_warning_about_the_same_value(tmp_path: Path) -> None:
    assert codes(look("dashboard: {enabled: yes}", tmp_path)) == ["E101"]


def test_without_an_environment_types_are_still_checked(tmp_path: Path) -> None:
    text = "regions:\n  - {name: a, url: '${U}', api_key: '${K}', api-key: '${K}',\n"
    text += "     timeouts: {connect: '${T}', totl: 5s}}\n"
    text += "listen: {port: '${P}'}\n"
    assert codes(look(text, tmp_path, env=None)) == ["E104", "E104"]
