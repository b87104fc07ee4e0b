"""``edgeinf top`` shows a running server's own figures, or says that there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edgeinf.mock import ThreadedOrigin
from tests.serve.spawning import config_file, spawned


def top(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "edgeinf", "top", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **env})


def test_it_shows_what_the_server_says(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    with spawned(config_file(tmp_path, origin_thread.url)) as server:
        for _ in range(3):
            server.ask("a")
        shown = top("--once", "--url", server.url)
        assert shown.returncode == 0, shown.stderr
        assert "miss: first seen" in shown.stdout
        assert "hit: memory" in shown.stdout
        assert "region" in shown.stdout
        said = json.loads(top("--json", "--url", server.url).stdout)
        assert said["schema_version"] == 1
        assert said["totals"]["requests"] == 3
        assert said["totals"]["hits"] == 2
        assert len(said["latest"]) == 3


def test_without_a_terminal_it_says_a_line_now_and_then(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    with spawned(config_file(tmp_path, origin_thread.url)) as server:
        server.ask("a")
        command = [sys.executable, "-m", "edgeinf", "top", "--url", server.url]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("1 requests, ")
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_no_server_is_said_with_its_own_exit_code() -> None:
    ended = top("--once", "--url", "http://127.0.0.1:9")
    assert ended.returncode == 5
    assert "no server answers" in ended.stderr


@pytest.mark.parametrize("word", ["edgeinf top", "edgeinf top --once"])
def test_help_starts_with_examples(word: str) -> None:
    assert word in top("--help").stdout
