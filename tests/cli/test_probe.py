"""``edgeinf probe`` as a program: outputs, exit codes, what is printed where."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeinf.mock import ThreadedOrigin


def _probe(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "edgeinf", "probe", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )


@pytest.fixture(scope="module")
def origin() -> Iterator[ThreadedOrigin]:
    with ThreadedOrigin({"ttft": "5ms", "tpot": "1ms", "models": ["m"]}) as mock:
        yield mock


def test_json_goes_to_stdout_and_everything_else_to_stderr(origin):
    done = _probe(origin.url, "--rounds", "5", "--json", "--slo", "ttft_ms.p50 < 5s")
    document = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert document["schema_version"] == 1
    assert document["gates"][0]["outcome"] == "pass"
    assert document["targets"][0]["warm"]["ttft_ms"]["n"] == 5
    assert "completions, at most" in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--slo", "ttft_ms.p50 < 5s"], 0),
        (["--slo", "ttft_ms.p50 < 1ms"], 1),
        (["--slo", "ttft_ms.p95 < 5s"], 4),
        (["--slo", "ttft_ms.p95 < 5s", "--strict"], 1),
        (["--slo", "ttft_ms < 5"], 2),
        (["--cold", "--ping"], 2),
        (["--family", "5"], 2),
        (["--json", "--csv"], 2),
        (["--json", "--best"], 2),
        (["--best", "--emit-config"], 2),
        (["--slo", "elsewhere:ttft_ms.p50 < 5s"], 2),
        (["--rate", "5", "--watch"], 2),
        (["--rate", "nan"], 2),
        (["--rate", "inf"], 2),
        (["--idle", "inf"], 2),
        (["--timeout", "inf"], 2),
        (["--dialect", "grpc"], 2),
    ],
    ids=[
        *("pass", "fail", "inconclusive", "strict", "wrong gate", "two modes", "wrong family", "two forms"),
        *("a name is no document", "a name is no config", "a gate on nobody", "a load is not watched"),
        *("no rate", "endless rate", "endless silence", "endless patience"),
        "wrong dialect",
    ],
)
def test_the_exit_code_is_the_contracts(origin, options, code):
    done = _probe(origin.url, "--rounds", "6", *options)
    assert done.returncode == code, done.stderr
    if code == 2:
        assert done.stderr.startswith("error: ")


def test_a_gate_says_beforehand_how_many_rounds_it_needs(origin):
    assert "needs 59 rounds" in _probe(origin.url, "--rounds", "5", "--slo", "ttft_ms.p95 < 5s").stderr


def test_nothing_reachable_is_five_and_says_why():
    done = _probe("http://127.0.0.1:9", "--model", "m", "--rounds", "2")
    assert done.returncode == 5
    assert "no target answered (connect)" in done.stderr
    assert "refused" in done.stdout


def test_a_proxy_that_was_not_asked_for_is_pointed_at():
    done = _probe("http://127.0.0.1:9", "--model", "m", "--rounds", "2", HTTPS_PROXY="http://127.0.0.1:1")
    assert "HTTPS_PROXY is set and was not used: --proxy env uses it" in done.stderr


def test_nothing_to_measure_is_wrong_usage(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "edgeinf", "probe"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.returncode == 2
    assert "nothing to measure" in done.stderr


def test_other_forms(origin, tmp_path: Path):
    lines = _probe(origin.url, "--rounds", "5", "--jsonl").stdout.splitlines()
    assert {json.loads(line)["phase"] for line in lines} == {"preflight", "cold", "warm"}
    rows = list(csv.DictReader(io.StringIO(_probe(origin.url, "--rounds", "5", "--csv").stdout)))
    assert {r["figure"] for r in rows} > {"ttft_ms", "tpot_ms"}
    assert "edgeinf_probe_ttft_seconds{" in _probe(origin.url, "--rounds", "5", "--prometheus").stdout
    page = tmp_path / "page.html"
    _probe(origin.url, "--rounds", "5", "--html", str(page))
    assert page.read_text().startswith("<!doctype html>")


def test_the_best_is_one_name_and_its_config_starts_the_server(origin, tmp_path: Path):
    from edgeinf.core.config.load import load

    best = _probe(f"here={origin.url}", "--rounds", "5", "--best")
    assert best.stdout == "here\n"
    file = tmp_path / "edgeinf.yaml"
    file.write_text(_probe(f"here={origin.url}", "--rounds", "5", "--emit-config").stdout)
    assert [r.name for r in load(file, env={}).regions] == ["here"]


@pytest.mark.parametrize("flag", ["--save", "--html"])
def test_a_file_that_cannot_be_written_is_known_before_anything_is_asked(flag, tmp_path: Path):
    with ThreadedOrigin({"models": ["m"]}) as mock:
        done = _probe(mock.url, "--rounds", "2", flag, str(tmp_path / "absent" / "file"))
        assert mock.count == 0
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def test_two_runs_are_compared(tmp_path: Path):
    before, after = str(tmp_path / "before.json"), str(tmp_path / "after.json")
    with ThreadedOrigin({"ttft": "5ms"}) as mock:
        options = (f"a={mock.url}", "--model", "m", "--rounds", "9")
        assert _probe(*options, "--save", before).returncode == 0
        mock.use({"ttft": "80ms"})
        worse = _probe(*options, "--save", after, "--baseline", before)
    assert worse.returncode == 1
    assert "worse: a" in worse.stderr
    compared = _probe("diff", before, after, "--json")
    assert compared.returncode == 1
    assert any(c["changed"] for c in json.loads(compared.stdout)["changes"] if c["figure"] == "ttft_ms")
    assert _probe("diff", before, before).returncode == 0
    other = _probe("other=http://127.0.0.1:9", "--model", "m", "--baseline", before)
    assert other.returncode == 2
    assert "no target to compare" in other.stderr
    assert _probe("diff", before).returncode == 2


def test_regions_of_a_config_are_measured_with_their_own_key(origin, tmp_path: Path):
    file = tmp_path / "edgeinf.yaml"
    file.write_text(f"version: 1\nregions: [{{name: own, url: '{origin.url}/v1', api_key: '${{OWN_KEY}}'}}]\n")
    origin.reset()
    done = _probe("--config", str(file), "--model", "m", "--rounds", "5", "--emit-config", OWN_KEY="sk-own1234567890")
    assert done.returncode == 0, done.stderr
    assert {c.headers["authorization"] for c in origin.calls} == {"Bearer sk-own1234567890"}
    assert "api_key: ${OWN_KEY}" in done.stdout
    assert "sk-own" not in done.stdout + done.stderr


def test_a_budget_without_a_known_price_is_refused():
    done = _probe("http://model.invalid/v1", "--model", "nobody-knows-this", "--budget-usd", "1")
    assert done.returncode == 2
    assert "price of nobody-knows-this is not known" in done.stderr


def test_the_open_loop_says_what_it_did(origin):
    document = json.loads(_probe(origin.url, "--rate", "50", "--rounds", "20", "--json").stdout)
    assert document["load"][0]["sent"] == 20
    assert document["targets"][0]["load"]["lag_ms"]["n"] == 20


def test_watching_without_a_terminal_prints_lines(origin):
    done = _probe(origin.url, "--watch", "--rounds", "3")
    assert re.search(r"ttft_ms: \S+ .* ms \(\d of \d\)", done.stderr)


def test_an_interrupt_ends_watching_with_a_report_and_its_own_code(origin):
    origin.reset()
    command = [sys.executable, "-m", "edgeinf", "probe", origin.url, "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        origin.until_calls(20, within_s=30)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "warm connections" in out
    assert "Traceback" not in err


def test_silence_between_attempts_shows_what_it_costs():
    with ThreadedOrigin({"ttft": "5ms", "fault": "close"}) as mock:
        done = _probe(mock.url, "--model", "m", "--idle", "50ms", "--rounds", "5", "--json")
    cost = json.loads(done.stdout)["targets"][0]["idle"]["cost"]
    assert cost["connection_lost"] == 5
    assert cost["connection_ms"] > 0


def test_every_formula_is_explained_without_a_target():
    assert "first_token - request_start" in _probe("--explain").stdout
    assert "ttft_ms" in json.loads(_probe("--explain", "--json").stdout)["definitions"]


def test_the_examples_of_the_help_run(origin):
    shown = _probe("--help").stdout
    examples = re.findall(r"^\s+edgeinf probe (.+)$", shown, re.MULTILINE)[:2]
    assert len(examples) == 2
    model = examples[1].replace("http://127.0.0.1:8787/v1", origin.url)
    done = _probe(*[word.strip("'") for word in re.findall(r"'[^']+'|\S+", model)])
    assert json.loads(done.stdout)["gates"]
    assert "--ping aws:eu-*" in examples[0]  # needs the internet, so here only its list is looked up
    from edgeinf.probe.catalogue import expand

    assert len(expand("aws:eu-*")) > 5
