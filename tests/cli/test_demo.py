"""``edgeinf demo``: what was predicted is what is measured, without a key or a network."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from edgeinf.cli.app import run
from edgeinf.cli.demo import demo_config
from edgeinf.core.config.schema import Config
from tests.cli.commands import command
from tests.cli.examples import examples


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_what_analyze_predicts_is_what_the_proxy_measures(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert run(["demo", "--requests", "40", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert (found["schema_version"], found["requests"], found["errors"]) == (1, 40, {})
    assert found["hits"] == found["predicted_hits"] > 0
    assert found["dashboard"].startswith("http://127.0.0.1:")
    assert "40 requests" in captured.err
    assert [path for path in here.rglob("*") if path.is_file()] == []  # nothing is left of it
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_person_reads_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--quiet", "demo", "--requests", "20"]) == 0
    captured = capsys.readouterr()
    assert "the same" in captured.out
    assert "not the same" not in captured.out
    assert captured.err == ""


def test_it_can_stay_and_shows_its_dashboard(here: Path) -> None:
    with subprocess.Popen(
        command("demo", "--requests", "20", "--stay", "--json"), stdout=subprocess.PIPE, text=True, cwd=here
    ) as process:
        assert process.stdout is not None
        text = ""
        while not text.rstrip().endswith("\n}"):
            text += process.stdout.readline()
        dashboard = json.loads(text)["dashboard"]
        page = httpx.get(dashboard, timeout=20, trust_env=False)
        stats = httpx.get(f"{dashboard}api/stats", timeout=20, trust_env=False)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert (page.status_code, stats.status_code) == (200, 200)
    assert "<html" in page.text


def test_its_help_begins_with_two_examples() -> None:
    found = examples("demo")
    assert found == [["demo"], ["demo", "--requests", "100", "--json"]]


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(examples("demo")[1]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 100


def test_the_demo_config_keeps_nothing_and_asks_nobody_else() -> None:
    with ExitStack() as stack:
        config = demo_config(Config(), stack)
        assert config.cache.disk is None
        assert config.events.file is None
        assert {region.url.split("//")[1].split(":")[0] for region in config.regions} == {"127.0.0.1"}
        assert all(httpx.get(f"{r.url}/v1/models", trust_env=False).status_code == 200 for r in config.regions)
    for region in config.regions:
        with pytest.raises(httpx.ConnectError):
            httpx.get(region.url, trust_env=False)
