"""What the server writes, the analysis reads: the same requests, and the very hits that were seen."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from edgeinf.mock import ThreadedOrigin
from tests.serve.spawning import config_file, spawned


@pytest.mark.parametrize("workers", [1, 3], ids=["one", "three"])
def test_the_analysis_of_events_finds_the_hits_that_were_seen(
    origin_thread: ThreadedOrigin, tmp_path: Path, workers: int
) -> None:
    rng = random.Random(11)
    hits = 0
    with spawned(config_file(tmp_path, origin_thread.url), "--workers", str(workers)) as server:
        for _ in range(120):
            answer = server.ask(f"question {rng.randrange(40)}", stream=rng.random() < 0.5)
            hits += answer.headers["x-edgeinf-cache"] == "hit"
    command = [sys.executable, "-m", "edgeinf", "analyze", str(tmp_path / "events.jsonl"), "--json"]
    read = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    levels = {level["level"]: level for level in json.loads(read.stdout)["levels"]}
    assert hits > 50
    assert levels["safe"]["requests"] == 120
    assert levels["safe"]["hits"] == hits
