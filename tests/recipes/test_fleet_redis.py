from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.programs import need
from tests.recipes.running import origins_for, pointed_at, served

_KEY = {"Authorization": "Bearer APP_SHA256"}


@pytest.fixture
def redis_url(tmp_path: Path) -> Iterator[str]:
    program = need("redis-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _ask(url: str, content: str) -> httpx.Response:
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": content}]}
    return httpx.post(f"{url}/v1/chat/completions", json=body, headers=_KEY, timeout=30)


def test_what_one_node_has_answered_the_other_has(tmp_path: Path, redis_url: str) -> None:
    shared = {"CACHE_REDIS_URL": f"{redis_url}/0", "LIMITS_REDIS_URL": f"{redis_url}/1"}
    with origins_for("fleet-redis") as origins:
        env = {
            **pointed_at(origins),
            **shared,
            "EDGEINF_LIMITS__0__REQUESTS": "4/h",
            "EDGEINF_CACHE__SHARED__TIMEOUT": "5s",  # a Redis that is slow on a busy machine has not failed
            "EDGEINF_LIMITS_SHARED__TIMEOUT": "5s",
            "EVENTS_SECRET": "same-everywhere",
        }
        homes = [tmp_path / name for name in ("one", "two")]
        for home in homes:
            home.mkdir()
        with served("fleet-redis", homes[0], **env) as one, served("fleet-redis", homes[1], **env) as two:
            assert _ask(one, "hello").headers["x-edgeinf-cache"] == "miss"
            # What is on its way to Redis is waited for rather than asked for again.
            assert _ask(two, "hello").headers["x-edgeinf-cache"] in ("hit", "collapsed")
            statuses = [_ask(url, f"question {n}").status_code for n, url in enumerate((one, two, one, two))]
            assert statuses == [200, 200, 429, 429]


def test_a_redis_that_is_away_costs_a_miss_and_no_error(tmp_path: Path) -> None:
    away = {"CACHE_REDIS_URL": "redis://127.0.0.1:1/0", "LIMITS_REDIS_URL": "redis://127.0.0.1:1/1"}
    with origins_for("fleet-redis") as origins, served("fleet-redis", tmp_path, **pointed_at(origins), **away) as url:
        assert _ask(url, "hello").status_code == 200
