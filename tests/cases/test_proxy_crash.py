"""Killed, out of disk, with damaged files: never a wrong answer, and the process lives on (P44)."""

from __future__ import annotations

import asyncio
import random
import resource
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Disk
from edgeinf.mock import MockOrigin, ThreadedOrigin
from tests.serve.proxying import chat, proxying, region
from tests.serve.spawning import config_file, spawned

CHAT = "/v1/chat/completions"
SCRIPT: dict[str, Any] = {"fixed_ids": True, "answer": {"tokens": 12}}


def _body(number: int) -> dict[str, Any]:
    return chat(f"question {number}", stream=number % 2 == 0)


def test_killed_in_the_middle_of_two_hundred_fills(origin_thread: ThreadedOrigin, tmp_path: Path) -> None:
    """What is on the disk afterwards is whole and right, or is not served."""
    origin_thread.use({**SCRIPT, "tpot": "10ms", "jitter": "90%"})
    config = config_file(tmp_path, origin_thread.url, cache={"disk": {"path": str(tmp_path / "cache")}})
    bodies = [_body(number) for number in range(200)]
    limits = httpx.Limits(max_connections=100)
    with spawned(config) as server, httpx.Client(limits=limits, timeout=20, trust_env=False) as crowd:

        def ask(body: dict[str, Any]) -> None:
            try:
                crowd.post(server.url + CHAT, json=body)
            except httpx.HTTPError:
                pass

        with ThreadPoolExecutor(100) as pool:
            running = [pool.submit(ask, body) for body in bodies]
            origin_thread.until_calls(120, within_s=30)
            server.signal(signal.SIGKILL)
            server.process.wait(20)
            for task in running:
                task.result(timeout=30)
    origin_thread.use(SCRIPT)
    with httpx.Client(base_url=origin_thread.url, trust_env=False) as client:
        right = [client.post(CHAT, json=body).content for body in bodies]
    with spawned(config) as server, httpx.Client(base_url=server.url, trust_env=False, timeout=20) as client:
        kinds = set()
        for body, expected in zip(bodies, right, strict=True):
            answer = client.post(CHAT, json=body)
            kinds.add(answer.headers["x-edgeinf-cache"])
            assert (answer.status_code, answer.content) == (200, expected)
            again = client.post(CHAT, json=body)
            assert (again.headers["x-edgeinf-cache"], again.content) == ("hit", expected)
        assert "miss" in kinds


@pytest.mark.parametrize("what", ["nothing", "database", "values", "everything", "cut short", "emptied"])
async def test_damaged_files_are_a_miss(what: str, origin: MockOrigin, tmp_path: Path) -> None:
    origin.use(SCRIPT)
    folder = tmp_path / "cache"
    kept = Cache(memory=None, disk=Disk(path=folder))
    bodies = [_body(number) for number in range(20)]
    large = [chat(f"large {number}", stream=True, mock={"answer": {"tokens": 3_000}}) for number in range(3)]
    right = {}
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        for body in [*bodies, *large]:
            right[str(body)] = (await proxy.post(CHAT, body)).content
        await proxy.runtime.tiers.flush()
    assert list(folder.rglob("*.val")), "large answers have files of their own"
    rng = random.Random(what)
    for path in [path for path in folder.rglob("*") if path.is_file() and what != "nothing"]:
        if (what == "values" and path.suffix != ".val") or (what == "database" and path.suffix == ".val"):
            continue
        _damage(path, what, rng)
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        kinds = []
        for body in [*bodies, *large] * 2:
            answer = await proxy.post(CHAT, body)
            assert (answer.status_code, answer.content) == (200, right[str(body)])
            kinds.append(answer.headers["x-edgeinf-cache"])
        assert ("miss" in kinds) is (what != "nothing")
        assert (await proxy.client.get("/healthz")).status_code == 200


def _damage(path: Path, what: str, rng: random.Random) -> None:
    raw = bytearray(path.read_bytes())
    if what == "cut short":
        raw = raw[: len(raw) * 2 // 3]
    elif what == "emptied":
        raw = bytearray()
    else:
        for _ in range(max(20, len(raw) // 500)):
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)


@pytest.mark.parametrize("seed", range(8))
async def test_a_value_with_any_bit_turned_is_a_miss(seed: int, origin: MockOrigin, tmp_path: Path) -> None:
    """One bit of an entry, where SQLite itself cannot notice."""
    import sqlite3

    origin.use(SCRIPT)
    folder = tmp_path / "cache"
    kept = Cache(memory=None, disk=Disk(path=folder))
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        right = (await proxy.post(CHAT, _body(1))).content
    database = sqlite3.connect(folder / "cache.db")
    rng = random.Random(seed)
    for row, value in database.execute("select rowid, value from Cache").fetchall():
        raw = bytearray(value)
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        database.execute("update Cache set value = ? where rowid = ?", (bytes(raw), row))
    database.commit()
    database.close()
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        answer = await proxy.post(CHAT, _body(1))
        assert (answer.headers["x-edgeinf-cache"], answer.content) == ("miss", right)
        await proxy.runtime.tiers.flush()
        assert (await proxy.post(CHAT, _body(1))).headers["x-edgeinf-cache"] == "hit"


async def test_an_entry_under_another_key_is_not_served(origin: MockOrigin, tmp_path: Path) -> None:
    """Entries that were exchanged, as a crafted collision would: a miss, not somebody else's answer."""
    import sqlite3

    origin.use(SCRIPT)
    folder = tmp_path / "cache"
    kept = Cache(memory=None, disk=Disk(path=folder))
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        right = [(await proxy.post(CHAT, _body(number))).content for number in (1, 3)]
    database = sqlite3.connect(folder / "cache.db")
    (one, first), (two, second) = database.execute("select rowid, value from Cache").fetchall()
    database.execute("update Cache set value = ? where rowid = ?", (second, one))
    database.execute("update Cache set value = ? where rowid = ?", (first, two))
    database.commit()
    database.close()
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        for number, expected in zip((1, 3), right, strict=True):
            answer = await proxy.post(CHAT, _body(number))
            assert (answer.headers["x-edgeinf-cache"], answer.content) == ("miss", expected)


@contextmanager
def _no_file_larger_than(size: int) -> Iterator[None]:
    """Let writes beyond a size fail as on a full disk, for this process and what it starts."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


async def test_a_full_disk_costs_hits_and_nothing_else(origin: MockOrigin, tmp_path: Path) -> None:
    origin.use(SCRIPT)
    kept = Cache(memory=None, disk=Disk(path=tmp_path / "cache"))
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        early = (await proxy.post(CHAT, _body(0))).content
        await proxy.runtime.tiers.flush()
        with _no_file_larger_than(4096):
            answers = [await proxy.post(CHAT, _body(number)) for number in range(1, 40)]
            await proxy.runtime.tiers.flush()
            assert {answer.status_code for answer in answers} == {200}
            assert "disk" in proxy.runtime.tiers.failures
            assert (await proxy.client.get("/healthz")).status_code == 200
        async with httpx.AsyncClient(base_url=origin.url) as client:
            for number, answer in enumerate(answers, 1):
                assert answer.content == (await client.post(CHAT, json=_body(number))).content
    async with proxying(region(origin, "r"), cache=kept) as proxy:
        for number, answer in enumerate(answers, 1):
            assert (await proxy.post(CHAT, _body(number))).content == answer.content
        assert (await proxy.post(CHAT, _body(0))).content == early


async def test_a_folder_that_cannot_be_had_is_left_out(origin: MockOrigin, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("where a folder is wanted")
    async with proxying(
        region(origin, "r"), cache=Cache(memory=None, disk=Disk(path=tmp_path / "file" / "c"))
    ) as proxy:
        assert (await proxy.post(CHAT, chat())).status_code == 200
        assert "disk" in proxy.runtime.tiers.failures


async def test_two_processes_on_one_folder_see_each_others_answers(origin: MockOrigin, tmp_path: Path) -> None:
    origin.use(SCRIPT)
    kept = Cache(memory=None, disk=Disk(path=tmp_path / "cache"))
    async with (
        proxying(region(origin, "r"), cache=kept) as one,
        proxying(region(origin, "r"), cache=kept) as two,
    ):
        two.runtime.seed = one.runtime.seed
        first = await one.post(CHAT, chat())
        await one.runtime.tiers.flush()
        again = await two.post(CHAT, chat())
        assert (again.headers["x-edgeinf-cache"], again.content) == ("hit", first.content)
        bodies = [_body(number) for number in range(30)]
        await asyncio.gather(*(proxy.post(CHAT, body) for body in bodies for proxy in (one, two)))
        await one.runtime.tiers.flush()
        await two.runtime.tiers.flush()
        assert one.runtime.tiers.failures == two.runtime.tiers.failures == {}
