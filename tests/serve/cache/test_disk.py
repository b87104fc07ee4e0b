"""The tier on disk: bytes only, off the loop, shared by processes, and never trusted."""

from __future__ import annotations

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
