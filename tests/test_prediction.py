"""What ``analyze`` prints is what ``serve`` delivers: the same log, counted and sent, gives the same hits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from edgeinf.analyze.synthetic import CAUSES, Cause, LogPlan, Planted, Template, write_log

REQUESTS = 2_100
LEVELS = ("exact", "safe", "loose", "masked")
EDGEINF = (sys.executable, "-m", "edgeinf")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted]:
    """A log with key-order noise, repeats, clocks and ids in system prompts, shuffled tools, tenants and damage."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    kinds = tuple(
        Template(name=f"app-{kind}", cause=Cause(kind=kind), tools=3 if kind == "tools" else 0)  # type: ignore[arg-type]
        for kind in CAUSES
    )
    with path.open("wb") as file:
        return path, write_log(
            LogPlan(requests=REQUESTS, templates=(Template(name="faq", weight=3), *kinds), damage=0.01), file
        )


def _run(*arguments: str) -> dict[str, object]:
    done = subprocess.run([*EDGEINF, *arguments], capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, object] = json.loads(done.stdout)
    return found


@contextmanager
def _running(*arguments: str) -> Iterator[str]:
    """Run a command that says when it is ready; yield its URL and end it."""
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*EDGEINF, *arguments, "--port", "0", "--json"], stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        try:
            yield str(json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with _running("mock", "--tokens", "8") as url:
        yield url


def _analyzed(log: Path, level: str) -> dict[str, object]:
    found = _run("analyze", str(log), "--json")
    return next(row for row in found["levels"] if row["level"] == level)  # type: ignore[attr-defined]


@pytest.mark.parametrize("level", LEVELS)
def test_a_replayed_log_hits_exactly_as_often_as_analyze_says_and_as_was_planted(
    planted: tuple[Path, Planted], origin: str, tmp_path: Path, level: str
) -> None:
    log, counts = planted
    config = tmp_path / "edgeinf.yaml"
    config.write_text(
        "version: 1\n"
        f"regions: [{{name: origin, url: {origin}, passthrough: true}}]\n"
        f"cache: {{level: {level}, ttl: 24h, disk: null}}\n"
        "events: {file: null}\n"
    )
    with _running("serve", "--config", str(config)) as url:
        sent = _run("replay", str(log), "--to", url, "--json")
    assert (sent["requests"], sent["errors"]) == (REQUESTS, {})
    assert sent["hits"] == _analyzed(log, level)["hits"] == counts.hits[level]
