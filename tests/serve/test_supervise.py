"""Several processes are one server: one limit, one fetch, one view; and no request is lost while they change."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edgeinf.core.events import decode
from edgeinf.mock import ThreadedOrigin
from tests.serve.spawning import Spawned, config_file, spawned, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


@pytest.fixture
def slow(origin_thread: ThreadedOrigin) -> Iterator[ThreadedOrigin]:
    origin_thread.use({"ttft": "300ms", "answer": {"tokens": 4}})
    yield origin_thread
    origin_thread.use(None)


def together(server: Spawned, contents: list[str], **fields: object) -> list[tuple[int, str]]:
    """Ask everything at once, each over a connection of its own, so that every worker gets some."""
    with ThreadPoolExecutor(len(contents)) as pool:
        answers = list(pool.map(lambda content: server.ask(content, **fields), contents))
    return [(answer.status_code, answer.headers["x-edgeinf-cache"]) for answer in answers]


def children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_four_workers_hold_one_limit_on_calls_at_once(slow: ThreadedOrigin, tmp_path: Path) -> None:
    limits = [{"name": "five", "per": "key", "concurrency": 5}]
    with spawned(config_file(tmp_path, slow.url, limits=limits), "--workers", "4") as server:
        statuses = Counter(status for status, _ in together(server, [f"q{n}" for n in range(50)]))
        assert slow.peak == 5
        assert set(statuses) == {200, 429}
        assert statuses[200] == slow.count
        assert server.ask("afterwards").status_code == 200


def test_four_workers_hold_one_limit_on_tokens(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    """Twenty calls of a fifth of the limit each race: never do six get through."""
    origin_thread.use({"answer": {"tokens": 100, "input_tokens": 100}, "ttft": "200ms"})
    limits = [{"name": "thousand", "per": "key", "tokens": "1000/h"}]
    with spawned(config_file(tmp_path, origin_thread.url, limits=limits), "--workers", "4") as server:
        padding = "word " * 80
        answers = together(server, [f"{n} {padding}" for n in range(20)], max_tokens=100)
        passed = sum(status == 200 for status, _ in answers)
        assert 1 <= passed <= 5
        assert origin_thread.count == passed


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_equal_calls_to_different_workers_are_one_fetch(slow: ThreadedOrigin, tmp_path: Path, stream: bool) -> None:
    with spawned(config_file(tmp_path, slow.url), "--workers", "4") as server, ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: server.ask("the same", stream=stream), range(24)))
        assert slow.count == 1
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.text for answer in answers}) == 1
        assert Counter(answer.headers["x-edgeinf-cache"] for answer in answers)["miss"] == 1


def test_a_stream_is_followed_live_from_another_worker(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    import httpx

    origin_thread.use({"answer": {"tokens": 40}, "tpot": "50ms"})
    body = {"model": "mock-small", "messages": [{"role": "user", "content": "live"}], "stream": True}

    def first_bytes(server: Spawned) -> tuple[float, float]:
        started = time.monotonic()
        with httpx.stream(
            "POST", f"{server.url}/v1/chat/completions", json=body, timeout=30, trust_env=False
        ) as answer:
            pieces = [time.monotonic() - started for _ in answer.iter_raw()]
        return pieces[0], pieces[-1]

    with spawned(config_file(tmp_path, origin_thread.url), "--workers", "4") as server, ThreadPoolExecutor(12) as pool:
        times = list(pool.map(lambda _: first_bytes(server), range(12)))
        assert origin_thread.count == 1
        assert all(last - first > 1.0 for first, last in times)


def test_the_followers_of_an_answer_that_fails_ask_for_themselves(
    origin_thread: ThreadedOrigin, tmp_path: Path
) -> None:
    origin_thread.use({"rules": [{"when": {"nth": "1"}, "fault": "503"}], "ttft": "200ms"})
    routing = {"failover": {"attempts": 1}}
    with spawned(config_file(tmp_path, origin_thread.url, routing=routing), "--workers", "4") as server:
        statuses = Counter(status for status, _ in together(server, ["the same"] * 12))
        assert statuses[200] >= 11
        assert statuses[503] <= 1


def test_figures_and_requests_are_those_of_all_workers(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    with spawned(config_file(tmp_path, origin_thread.url), "--workers", "4") as server:
        together(server, [f"q{n}" for n in range(40)])
        views = [server.stats() for _ in range(12)]
        assert {view["totals"]["requests"] for view in views} == {40}
        assert {view["workers"] for view in views} == {4}
        events = server.get("/_edgeinf/api/events").json()["events"]
        assert len({event["id"] for event in events}) == 40
        metrics = server.get("/metrics").text
        assert metrics.count("edgeinf_worker_start_time_seconds{") == 4
        assert len(children(server.process.pid)) == 4
    lines = (tmp_path / "events.jsonl").read_bytes().splitlines()
    assert len({decode(line).id for line in lines}) == len(lines) == 40


def test_a_purge_reaches_every_worker(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    import httpx

    with spawned(config_file(tmp_path, origin_thread.url), "--workers", "4") as server:
        together(server, ["the same"] * 40)
        httpx.post(f"{server.url}/_edgeinf/api/purge", json={"all": True}, trust_env=False).raise_for_status()
        before = origin_thread.count
        assert server.ask("the same").headers["x-edgeinf-cache"] == "miss"
        assert "miss" not in {cache for _, cache in together(server, ["the same"] * 12)}
        assert origin_thread.count == before + 1


def test_a_worker_that_dies_is_replaced_and_gives_its_slots_back(slow: ThreadedOrigin, tmp_path: Path) -> None:
    slow.use({"ttft": "5s"})
    limits = [{"name": "four", "per": "key", "concurrency": 4}]
    with spawned(config_file(tmp_path, slow.url, limits=limits), "--workers", "2") as server:
        with ThreadPoolExecutor(4) as pool:
            waiting = [pool.submit(server.ask, f"long {n}") for n in range(4)]
            slow.until(lambda: slow.active == 4)
            assert server.ask("one too many").status_code == 429
            victims = children(server.process.pid)
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
            for each in waiting:
                assert each.exception(20) is not None
        slow.use(None)
        wait_until(lambda: len(set(children(server.process.pid)) - set(victims)) == 2)
        wait_until(lambda: _answers(server))


def _answers(server: Spawned) -> bool:
    import httpx

    try:
        return server.ask("again").status_code == 200
    except httpx.TransportError:
        return False


def test_workers_that_cannot_start_end_the_server_with_the_reason(tmp_path: Path) -> None:
    import subprocess
    import sys

    (tmp_path / "key").write_bytes(b"\xff\xfe")
    regions = [{"name": "r", "url": "http://127.0.0.1:9", "api_key_file": str(tmp_path / "key")}]
    config = config_file(tmp_path, regions=regions)
    command = [sys.executable, "-m", "edgeinf", "serve", "--config", str(config), "--port", "0", "--workers", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "api_key_file" in ended.stderr or "credential" in ended.stderr


def test_a_parent_that_is_killed_takes_its_workers_along(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    with spawned(config_file(tmp_path, origin_thread.url), "--workers", "2") as server:
        workers = children(server.process.pid)
        server.process.kill()
        server.process.wait(10)
        wait_until(lambda: not any(_alive(pid) for pid in workers))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_code_says_which_signal_ended_it_and_the_drain_lets_answers_finish(
    slow: ThreadedOrigin, tmp_path: Path
) -> None:
    slow.use({"ttft": "1s"})
    with spawned(config_file(tmp_path, slow.url), "--workers", "3") as server, ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(server.ask, f"q{n}") for n in range(8)]
        slow.until(lambda: slow.active == 8)
        server.signal(signal.SIGTERM)
        assert {each.result(20).status_code for each in waiting} == {200}
        assert server.process.wait(20) == 143
