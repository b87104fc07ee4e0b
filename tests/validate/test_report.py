from __future__ import annotations

import pytest

from edgeinf.core.config.diagnostic import Diagnostic
from edgeinf.core.config.source import read_source
from edgeinf.validate.report import FileReport, Report, safe_lines


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("api_key: hunter2", "api_key: *******"),
        ("api_key: x", "api_key: *"),
        ("api_key: 'two words'", "api_key: **** ******"),
        ("api_key: ${US_KEY}", "api_key: ${US_KEY}"),
        ('api_key: "${US_KEY}"', 'api_key: "${US_KEY}"'),
        ("api_key: ${US_KEY:-hunter2}", "api_key: ******************"),
        ("api_key: os.environ/US_KEY", "api_key: os.environ/US_KEY"),
        ("key_secret: a", "key_secret: *"),
        ("headers: {Authorization: abc}", "headers: {Authorization: ***}"),
        ("note: sk-abcdefghijklmnop", "note: *******************"),
        ("url: redis://me:pw123@h", "url: redis://me:*****@h"),
        ("name: api", "name: api"),
    ],
)
def test_credentials_are_overwritten_in_place(line: str, shown: str) -> None:
    safe = safe_lines(read_source(line, "f"), {1})
    assert safe == {1: shown}
    assert len(safe[1]) == len(line)


def test_a_credential_over_several_lines_is_overwritten_in_all() -> None:
    read = read_source("a:\n  api_key: |\n    first\n    second\n  b: 1\n", "f")
    assert safe_lines(read, {2, 3, 4, 5}) == {2: "  api_key: *", 3: "    *****", 4: "    ******", 5: "  b: 1"}


def test_a_line_keeps_its_columns_and_steers_no_terminal() -> None:
    assert safe_lines(read_source("# \x1b[2J a: 1\n", "x"), {1}) == {1: "# \ufffd[2J a: 1"}


def test_findings_are_counted_by_severity() -> None:
    found = tuple(Diagnostic(code="X", severity=s, message="") for s in ("error", "warning", "warning"))  # type: ignore[arg-type]
    report = Report(files=(FileReport(name="a", diagnostics=found), FileReport(name="b", diagnostics=found)))
    assert (report.count("error"), report.count("warning"), report.count("info")) == (2, 4, 0)
