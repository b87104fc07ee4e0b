"""``edgeinf analyze`` as a person or a script meets it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edgeinf.analyze.synthetic import Cause, LogPlan, Template, write_log
from edgeinf.cli.app import run

PLAN = LogPlan(
    requests=1500,
    templates=(Template(name="faq"), Template(name="app", cause=Cause(kind="clock"), weight=2.0)),
    damage=0.01,
    intents=80,
)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        write_log(PLAN, file)
    return path


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["analyze", *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_document_has_the_names_that_scripts_rely_on(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, str(log), "--gateway", "all")
    assert found["schema_version"] == 1
    promised = {
        "input": {"files", "format", "records", "skipped", "skipped_reasons", "first_at", "last_at", "has_answers",
                  "has_times"},
        "eligible": {"share", "reasons"},
        "repeats": {"same_session", "same_user", "same_tenant", "across_tenants", "consecutive", "top10_share"},
        "curves": {"capacity", "ttl", "ttl_capacity", "warmup"},
        "segments": {"model", "route", "tenant", "hour"},
        "whatif": {"before", "after", "agent_loop", "identity", "break_even_hit_rate", "assumptions"},
    }  # fmt: skip
    for name, fields in promised.items():
        assert fields <= set(found[name]), name  # type: ignore[call-overload]
    level = found["levels"][1]  # type: ignore[index]
    promised_of_levels = (
        "level requests cacheable hits hit_rate unique coalescable rates added_hits risk "
        "input_tokens_saved output_tokens_saved usd_saved seconds_saved"
    )
    assert set(promised_of_levels.split()) <= set(level)
    assert set(level["rates"]) == {"requests", "tokens", "usd", "seconds"}
    assert {"compared", "conflicts", "rate", "baseline", "low", "high", "examples"} <= set(level["risk"])
    assert set(found["misses"][0]) == {"cause", "where", "requests", "gain", "advice", "example"}  # type: ignore[index]
    assert {"name", "rules_dated", "hits", "hit_rate"} <= set(found["gateways"][0])  # type: ignore[index]
    for rate in re.findall(r'"[a-z_]*rate": ([-0-9.e]+)', json.dumps(found)):
        assert 0 <= float(rate) <= 1


def test_what_is_null_has_a_reason(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, str(log))
    absent = found["absent"]
    assert found["prefix"] is None
    assert "prefix" in absent  # type: ignore[operator]


def test_the_first_screen_says_whether_it_is_worth_it_and_what_to_change(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", str(log)]) == 0
    screen = capsys.readouterr().out.splitlines()[:24]
    assert any("% of 1,500 requests repeat" in line for line in screen)
    assert any(line.startswith("+") and "a clock or date in the system prompt" in line for line in screen)
    assert any("masked" in line for line in screen)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nothere.jsonl"], 2, "there is no file"),
        (["log.jsonl", "--format", "helicon"], 2, "did you mean 'helicone'"),
        (["log.jsonl", "--level", "lose"], 2, "did you mean 'loose'"),
        (["log.jsonl", "--scope", "all"], 2, "--scope"),
        (["log.jsonl", "--ttl", "5"], 2, "--ttl"),
        (["log.jsonl", "--capacity", "0"], 2, "--capacity"),
        (["log.jsonl", "--map", "at"], 2, "--map"),
        (["log.jsonl", "--map", "att=ts"], 2, "there is no field 'att'"),
        (["log.jsonl", "--probe", "nothere.json"], 2, "nothere.json"),
        (["log.jsonl", "--config", "nothere.yaml"], 2, "nothere.yaml"),
        (["log.jsonl", "--gateway", "litelm"], 2, "did you mean 'litellm'"),
        (["log.jsonl", "--html", "no/such/dir.html"], 2, "cannot write"),
        (["empty.jsonl"], 2, "empty.jsonl"),
        (["noise.bin"], 2, "cannot tell the format"),
        (["log.jsonl", "--fail-under", "99"], 1, "under the 99 %"),
        (["log.jsonl", "--fail-under", "nan"], 2, "--fail-under"),
        (["log.jsonl", "--fail-under", "101"], 2, "--fail-under"),
        (["log.jsonl", "--requests-per-month", "inf"], 2, "--requests-per-month"),
        (["log.jsonl", "--markdown", "--json"], 2, "only one of --json, --markdown"),
        (["log.jsonl", "--watch", "--fail-under", "5", "--html", "x.html"], 2, "without --html, --fail-under"),
        (["log.jsonl", "--fail-under", "1"], 0, ""),
    ],
)
def test_exit_codes_and_words(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    log.with_name("empty.jsonl").write_bytes(b"")
    log.with_name("noise.bin").write_bytes(os.urandom(2000))
    assert run(["analyze", *arguments]) == code
    assert words in capsys.readouterr().err


def test_the_config_decides_level_scope_expiry_and_size(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.with_name("edgeinf.yaml").write_text(
        "version: 1\n"
        "cache: {level: masked, ttl: 10m, ttl_jitter: 0%, disk: null, memory: {max_entries: 50, max_size: 1MiB}}\n"
    )
    found = _json(capsys, str(log))
    default = found["default"]
    assert (default["level"], default["ttl_s"]) == ("masked", 600)  # type: ignore[index]
    assert any("50 entries" in a for a in found["whatif"]["assumptions"])  # type: ignore[index]


def test_a_field_map_reads_any_access_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
    rows = [{"when": 1793527200 + n, "took": 5, "payload": {"body": body}} for n in range(4)]
    path = tmp_path / "own.log"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = _json(capsys, str(path), "--map", "at=when,latency_ms=took,request=payload.body")
    assert found["levels"][0]["hits"] == 3  # type: ignore[index]
    assert found["whatif"]["before"]["p50_ms"] == 5  # type: ignore[index]


def test_several_files_and_packings_make_one_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    import zstandard

    lines = log.read_bytes().splitlines(keepends=True)
    whole = _json(capsys, str(log))
    log.with_name("a.part.gz").write_bytes(gzip.compress(b"".join(lines[:500])))
    log.with_name("b.part").write_bytes(b"".join(lines[500:900]))
    log.with_name("c.part").write_bytes(zstandard.compress(b"".join(lines[900:])))
    parts = _json(capsys, str(log.with_name("*.part*")))
    assert parts["levels"] == whole["levels"]


def test_markdown_and_redacted_log_are_written(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    markdown, shared = log.with_name("report.md"), log.with_name("shared.jsonl")
    assert run(["analyze", str(log), f"--markdown={markdown}", "--redact", str(shared)]) == 0
    assert markdown.read_text().startswith("# What a cache would bring")
    assert capsys.readouterr().out == ""
    first = _json(capsys, str(log))["levels"][3]["hits"]  # type: ignore[index]
    assert _json(capsys, str(shared))["levels"][3]["hits"] == first  # type: ignore[index]


@pytest.mark.parametrize("arguments", [["log.jsonl", "--markdown"], ["--markdown", "log.jsonl"]], ids=["last", "first"])
def test_markdown_without_a_file_is_the_result(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    before = log.read_bytes()
    assert run(["analyze", *arguments]) == 0
    assert capsys.readouterr().out.startswith("# What a cache would bring: log.jsonl\n")
    assert log.read_bytes() == before


def test_one_time_to_live_or_capacity_holds_for_the_rate_that_leads(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, short, small = (_json(capsys, "log.jsonl", *given) for given in ([], ["--ttl", "1s"], ["--capacity", "9"]))
    rates = [found["default"]["hit_rate"] for found in (whole, short, small)]  # type: ignore[index]
    assert short["default"]["ttl_s"] == 1  # type: ignore[index]
    assert rates[1] < rates[0]
    assert rates[2] < rates[0]
    assert any(said.startswith("9 entries are kept") for said in small["whatif"]["assumptions"])  # type: ignore[index]
    assert _json(capsys, "log.jsonl", "--ttl", "1s,2s", "--capacity", "9,10")["default"] == whole["default"]


def test_an_empty_first_file_does_not_hide_the_format_of_the_rest(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.with_name("empty.jsonl").write_bytes(b"")
    assert _json(capsys, "empty.jsonl", "log.jsonl")["levels"] == _json(capsys, "log.jsonl")["levels"]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "terminate"])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    log = tmp_path / "log.jsonl"
    with log.open("wb") as file:
        write_log(LogPlan(requests=25_000), file)
    command = [sys.executable, "-m", "edgeinf", "analyze", "-", "--json"]
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    with (
        log.open("rb") as stdin,
        subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, start_new_session=True
        ) as process,
    ):
        deadline = time.monotonic() + 60
        while not list((tmp_path / "tmp").iterdir()) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, sent)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, b""), err
    assert b"Traceback" not in err
    assert b"leaked" not in err
    assert list((tmp_path / "tmp").iterdir()) == []


def test_help_starts_with_two_examples_that_work(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["analyze", "--help"])
    examples = re.findall(r"^\s*edgeinf (analyze .*)$", capsys.readouterr().out, re.MULTILINE)
    assert len(examples) == 2
    log.with_name("logs").mkdir()
    log.with_name("events.jsonl").write_bytes(log.read_bytes())
    import gzip

    (log.with_name("logs") / "a.jsonl.gz").write_bytes(gzip.compress(log.read_bytes()))
    import shlex

    assert [run(shlex.split(example)) for example in examples] == [0, 0]
