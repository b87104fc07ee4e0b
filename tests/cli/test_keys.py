"""Virtual keys from the command line."""

from __future__ import annotations

import hashlib
import io
import json

import pytest

from edgeinf.cli.app import run
from edgeinf.core.redact import looks_like_secret
from tests.cli.examples import examples


@pytest.mark.parametrize("arguments", examples("keys"), ids=str)
def test_the_examples_of_the_help_run(arguments: list[str]) -> None:
    assert run(arguments) == 0


def test_a_new_key_is_a_secret_and_only_its_hash_is_for_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "new", "--id", "acme-web", "--team", "acme", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["sha256"] == hashlib.sha256(made["key"].encode()).hexdigest()
    assert (made["id"], made["team"], made["schema_version"]) == ("acme-web", "acme", 1)
    assert looks_like_secret(made["key"])
    assert len(made["key"]) > 40


def test_the_lines_for_the_config_do_not_hold_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys", "new", "--id", "a: b"]) == 0
    out, err = capsys.readouterr()
    key = out.split()[1]
    assert key.startswith("ek-")
    assert key not in err
    import yaml

    config = yaml.safe_load(err[err.index("auth:") :])
    assert config["auth"]["keys"][0]["id"] == "a: b"
    assert config["auth"]["keys"][0]["sha256"] == hashlib.sha256(key.encode()).hexdigest()


@pytest.mark.parametrize("given", ["ek-0123456789abcdef", "ek-0123456789abcdef\n"], ids=["bare", "with-line-end"])
def test_the_hash_of_a_key_is_that_of_the_key_alone(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    assert run(["keys", "hash"]) == 0
    assert capsys.readouterr().out.strip() == hashlib.sha256(b"ek-0123456789abcdef").hexdigest()


def test_without_standard_input_no_key_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert run(["keys", "hash"]) == 2
    assert capsys.readouterr().err.startswith("error: no key was given")


@pytest.mark.parametrize("given", ["", " \n", "two words here at once"], ids=["nothing", "blank", "words"])
def test_what_is_no_key_is_refused_without_being_shown(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    assert run(["keys", "hash"]) == 2
    assert "words" not in capsys.readouterr().err
