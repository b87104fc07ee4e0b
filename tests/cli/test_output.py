"""Results to stdout, everything else to stderr; colour and bars only where a person looks."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from edgeinf.cli import output
from edgeinf.core.errors import UsageError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def loud(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(output, "_quiet", False)


@pytest.mark.parametrize(
    ("arguments", "left", "quiet", "plain"),
    [
        (["a", "--quiet", "b"], ["a", "b"], True, False),
        (["--no-color", "a"], ["a"], False, True),
        (["a", "--", "--quiet", "--no-color"], ["a", "--", "--quiet", "--no-color"], False, False),
        (["--quiet", "a", "--", "--quiet"], ["a", "--", "--quiet"], True, False),
        ([], [], False, False),
    ],
)
def test_flags_for_every_command_are_taken_wherever_they_stand(
    arguments: list[str], left: list[str], quiet: bool, plain: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output.take_global_flags(arguments) == left
    output.note("a word")
    assert capsys.readouterr().err == ("" if quiet else "a word\n")
    assert ("NO_COLOR" in os.environ) == plain
    os.environ.pop("NO_COLOR", None)


def test_a_document_has_its_version_and_what_is_said_goes_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("a word")
    output.print_json({"a": [1, None, "é"]})
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"schema_version": 1, "a": [1, None, "é"]}
    assert captured.out.endswith("}\n")
    assert captured.err == "a word\n"


@pytest.mark.parametrize("secret", ["sk-abcdefghijklmnopqrstuvwx", "Bearer abcdefghijklmnopqrstuvwxyz123456"])
def test_secrets_are_masked_in_whatever_is_said(secret: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.note(f"the key is {secret}")
    output.print_error(f"bad key {secret}", f"not {secret}")
    assert secret.split()[-1] not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stream", "env", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
    ids=["terminal", "no-color", "dumb", "file"],
)
def test_colour_is_for_terminals(
    stream: io.StringIO, env: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert output.colour_wanted(stream) is wanted


def _progress(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, total: int) -> str:
    now = [0.0]
    monkeypatch.setattr("edgeinf.cli.output.time.monotonic", lambda: now[0])
    bar = output.Progress("reading", total, stream=stream)
    for step in range(1, 101):
        now[0] = step * 0.5
        bar.update(step)
    bar.close()
    return stream.getvalue()


def test_on_a_terminal_there_is_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = _progress(Terminal(), monkeypatch, 100)
    assert drawn.count("\r") == 101
    assert f"[{'#' * 15:<30}]  50 %" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_elsewhere_there_is_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _progress(io.StringIO(), monkeypatch, 100).splitlines() == [
        "reading:  20 % after 10 s",
        "reading:  40 % after 20 s",
        "reading:  60 % after 30 s",
        "reading:  80 % after 40 s",
        "reading: 100 % after 50 s",
    ]
    assert "reading: 20 after 10 s" in _progress(io.StringIO(), monkeypatch, 0)


def test_who_wants_quiet_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_quiet", True)
    assert _progress(Terminal(), monkeypatch, 100) == ""


def test_what_is_told_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("it serves \x1b[2J")
    output.print_error("it serves \x1b[2J", "one of: \x9b2J")
    assert not {"\x1b", "\x9b"} & set(capsys.readouterr().err)


def test_what_can_be_written_is_let_through(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    output.check_writable(None, tmp_path / "new", tmp_path / "there", Path("/dev/null"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent/file", "no such file or directory"),
        (".", "is a directory"),
        ("there/file", "no such file or directory"),
    ],
    ids=["no folder", "a folder", "a file for a folder"],
)
def test_what_cannot_be_written_is_refused_beforehand(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    with pytest.raises(UsageError, match=f"cannot write .*: {said}"):
        output.check_writable(tmp_path / name)
