"""The tier on disk: bytes only, off the loop, shared by processes, and never trusted."""

from __future__ import annotations

import asyncio
import itertools
import os
import pickle
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edgeinf.serve.cache.base import TierFailed
from edgeinf.serve.cache.disk import DiskTier
from tests.serve.cache.stored import key

A, B = key("a").find, key("b").find


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[DiskTier]:
    tier = DiskTier(tmp_path / "cache", max_size=50 * 2**20)
    yield tier
    await tier.aclose()


async def test_what_was_put_comes_back(disk: DiskTier) -> None:
    await disk.put([(A, b"one", 60.0), (B, b"\x00" * 200_000, float("inf"))])
    assert await disk.get(A) == b"one"
    assert await disk.get(B) == b"\x00" * 200_000
    assert sorted(await disk.scan()) == sorted([A, B])


async def test_what_was_never_put_is_absent(disk: DiskTier) -> None:
    assert await disk.get(A) is None
    await disk.open()
    assert await disk.get(A) is None


async def test_delete_and_clear_forget(disk: DiskTier) -> None:
    await disk.put([(A, b"one", 60.0), (B, b"two", 60.0)])
    await disk.delete(A)
    await disk.delete(A)
    assert await disk.get(A) is None
    assert await disk.clear() == 1
    assert await disk.get(B) is None


@pytest.mark.parametrize("sizes", list(itertools.permutations([10, 70_000, 200_000], 2)), ids=str)
async def test_what_is_put_again_replaces_what_was_there_and_its_file(
    disk: DiskTier, tmp_path: Path, sizes: tuple[int, int]
) -> None:
    for size in sizes:
        await disk.put([(A, b"x" * size, 60.0), (B, b"y", 60.0)])
    assert await disk.get(A) == b"x" * sizes[1]
    stats = await disk.stats()
    assert stats.entries == 2
    files = [path for path in (tmp_path / "cache").rglob("*.val") if path.is_file()]
    assert [path.stat().st_size for path in files] == [size for size in sizes[1:] if size >= 64 * 1024]


async def test_a_batch_is_as_large_as_it_is(disk: DiskTier) -> None:
    finds = [key(f"{number}").find for number in range(500)]
    await disk.put([(find, find * 9, 60.0) for find in finds])
    assert [await disk.get(find) for find in finds] == [find * 9 for find in finds]
    assert (await disk.stats()).entries == 500


async def test_it_stays_within_its_size_and_keeps_what_came_last(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path, max_size=2 * 2**20)
    finds = [key(f"{number}").find for number in range(2000)]
    for start in range(0, 2000, 50):
        await tier.put([(find, b"x" * 3000, 600.0) for find in finds[start : start + 50]])
    stats = await tier.stats()
    assert stats.size_bytes <= 2 * 2**20
    assert stats.entries > 300
    assert await tier.get(finds[-1]) == b"x" * 3000
    assert await tier.get(finds[0]) is None
    await tier.aclose()


async def test_what_has_expired_makes_room(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path, max_size=2**20)
    await tier.put([(A, b"one", 0.01)])
    await asyncio.sleep(0.05)
    await tier.put([(B, b"two", 60.0)])
    assert (await tier.stats()).entries == 1
    await tier.aclose()


async def test_it_survives_a_restart(tmp_path: Path) -> None:
    first = DiskTier(tmp_path, max_size=2**20)
    await first.put([(A, b"one", 60.0)])
    await first.aclose()
    second = DiskTier(tmp_path, max_size=2**20)
    assert await second.get(A) == b"one"
    await second.aclose()


async def test_a_lost_filter_is_made_anew(tmp_path: Path) -> None:
    first = DiskTier(tmp_path, max_size=2**20)
    await first.put([(A, b"one", 60.0)])
    await first.aclose()
    (tmp_path / "presence.bits").unlink()
    second = DiskTier(tmp_path, max_size=2**20)
    await second.open()
    assert await second.get(A) == b"one"
    await second.aclose()


async def test_two_on_one_directory_see_each_other(tmp_path: Path) -> None:
    first, second = DiskTier(tmp_path, max_size=2**20), DiskTier(tmp_path, max_size=2**20)
    await second.open()
    await first.put([(A, b"one", 60.0)])
    assert await second.get(A) == b"one"
    await first.aclose()
    await second.aclose()


async def test_the_directory_is_its_owners_only(disk: DiskTier, tmp_path: Path) -> None:
    await disk.open()
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/edgeinf-was-unpickled",)


async def test_a_pickled_row_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path, max_size=2**20)
    await tier.put([(A, b"one", 60.0)])
    await tier.aclose()
    mark = Path("/tmp/edgeinf-was-unpickled")
    mark.unlink(missing_ok=True)
    with sqlite3.connect(tmp_path / "cache.db") as rows:
        rows.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(_Bomb()),))
    rows.close()
    again = DiskTier(tmp_path, max_size=2**20)
    with pytest.raises(TierFailed, match="did not write"):
        await again.get(A)
    await again.aclose()
    assert not mark.exists()


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    tier = DiskTier(tmp_path / "file" / "cache", max_size=2**20)
    with pytest.raises(TierFailed, match="cannot be used"):
        await tier.get(A)
    await tier.aclose()


async def test_a_damaged_database_is_set_aside_and_a_new_one_begins(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    tier = DiskTier(folder, max_size=2**20)
    await tier.put([(A, b"one", 60.0)])
    await tier.aclose()
    (folder / "cache.db").write_bytes(b"this is no database" * 100)
    again = DiskTier(folder, max_size=2**20)
    with pytest.raises(TierFailed, match=r"damaged .* kept as .*cache\.damaged"):
        await again.get(A)
    assert await again.get(A) is None
    await again.put([(B, b"two", 60.0)])
    assert await again.get(B) == b"two"
    await again.aclose()
    assert (tmp_path / "cache.damaged" / "cache.db").exists()


async def test_the_size_is_bounded(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path, max_size=2 * 2**20)
    for number in range(60):
        await tier.put([(key(str(number)).find, os.urandom(100_000), 600.0)])
    assert (await tier.stats()).size_bytes < 3 * 2**20
    await tier.aclose()
